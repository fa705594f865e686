/** What the manifest says of a replay's plan beyond the plan itself. */
import { resolve } from "node:path";
import type { PlanFacts } from "../record/manifest.ts";
import { recordedPromptTokens } from "../trace/trace-request.ts";
import type { Provenance } from "../trace/trace.ts";
import type { PlanOwn } from "./execute.ts";
import type { ReplayGiven } from "./options/replay-options.ts";
import type { TraceWorkload } from "./read-workload.ts";
import type { Target } from "./target.ts";

export function planFacts(
  { trace, sha256 }: TraceWorkload,
  tracePath: string,
  given: ReplayGiven,
  target: Target,
): Omit<PlanFacts, PlanOwn> {
  let promptTokens: number | null = null;
  for (const request of trace.requests) {
    const tokens = recordedPromptTokens(request);
    if (tokens !== null) promptTokens = (promptTokens ?? 0) + tokens;
  }
  const told = target.server?.["gpus"];
  return {
    trace: tracePath === "-" ? "-" : resolve(tracePath),
    trace_sha256: sha256,
    format: trace.format,
    speed: given.speed ?? 1,
    think_scale: given.think_scale ?? 1,
    duration_ms: given.duration ?? null,
    warmup_ms: given.warmup ?? 0,
    prompt_tokens: promptTokens,
    provenance: replayProvenance(trace.provenance, given),
    gpus: given.gpus ?? (typeof told === "number" ? told : null),
  };
}

/** What is replayed as recorded, inferred or made up. `missing` in a trace is made up here, where something must be sent. */
function replayProvenance(provenance: Provenance, given: ReplayGiven): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [property, origin] of Object.entries(provenance)) {
    const madeUp = property === "prompt_text" || property === "prompt_length" || property === "arrivals";
    out[property] = origin === "missing" && madeUp ? "made up" : origin;
  }
  if (given.pacing === "closed") out["arrivals"] = "replaced";
  else if (given.arrival_type !== undefined && given.arrival_type !== "trace") out["arrivals"] = "made up";
  if (given.input_length !== undefined) out["prompt_length"] = out["prompt_text"] = "made up";
  if (given.output_length !== undefined) out["output_length"] = "made up";
  if (given.output === "free") out["output_length"] = "left free";
  return out;
}
