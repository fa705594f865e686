/** Numbers of the probe load, which a run keeps beside its log (`--probe-request-rate`). */
import type { JsonObject } from "../../core/json.ts";
import type { Manifest } from "../../record/manifest.ts";

const KEYS = [
  "probe_completed",
  "probe_failed",
  "probe_median_e2el_ms",
  "probe_p99_e2el_ms",
  "probe_max_e2el_ms",
] as const;

/** Empty where the run had no probes, or none was answered. */
export function probeFacts({ end }: Manifest): Record<string, number> {
  const engine = end?.engine;
  if (engine === null || engine === undefined || typeof engine !== "object" || Array.isArray(engine))
    return {};
  const facts = engine as JsonObject;
  const told = KEYS.map((key) => [key, facts[key]] as const);
  if (!told.every((entry): entry is readonly [(typeof KEYS)[number], number] => typeof entry[1] === "number"))
    return {};
  return Object.fromEntries(told) as Record<string, number>;
}
