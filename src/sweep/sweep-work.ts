/** What makes the results of a sweep comparable: work that differs in any of it cannot go on in the same folder. */
import { createHash } from "node:crypto";
import type { JsonObject } from "../core/json.ts";
import { secrets } from "../core/secret.ts";
import type { SweepRequest } from "./run-sweep.ts";

/** Not the grid: cells may be added later. No secret is in it. */
export function sweepWork({ sections, options, flags, trace_sha256 }: SweepRequest): JsonObject {
  const { header: _secret, ...plain } = options;
  const { engine, cache } = sections;
  return {
    options: plain,
    flags: flags ?? {},
    engine: engine === null ? null : ({ ...engine, env: fingerprints(engine.env) } as unknown as JsonObject),
    cache,
    trace_sha256: trace_sha256 ?? null,
  };
}

/**
 * Enough to see that a setting changed, too little to tell it: a text may be a secret that nobody marked as one. Those that
 * are marked may change (a key is no setting).
 */
function fingerprints(env: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.entries(env).map(([name, text]) => [
      name,
      secrets.redact(text) === text ? createHash("sha256").update(text).digest("hex").slice(0, 8) : "secret",
    ]),
  );
}
