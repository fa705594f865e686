/** What the manifest says of a replay's plan beyond the plan itself. */
import { resolve } from "node:path";
import type { Plan } from "../plan/plan.ts";
import { scheduleAt, turnsAt } from "../plan/planned-requests.ts";
import type { PlanFacts } from "../record/manifest.ts";
import type { Provenance } from "../trace/trace.ts";
import type { PlanOwn } from "./execute.ts";
import type { ReplayGiven } from "./options/replay-options.ts";
import type { TraceWorkload } from "./read-workload.ts";

/** All of them but what only the target tells. */
export type TraceFacts = Omit<PlanFacts, PlanOwn | "gpus">;

export function planFacts(
  { trace, jobs, sha256 }: TraceWorkload,
  plan: Plan,
  tracePath: string,
  given: ReplayGiven,
): TraceFacts {
  let promptTokens: number | null = null;
  const { requests } = jobs.columns;
  for (let row = 0; row < requests.length; row++) {
    const tokens = requests.recordedPromptTokens(row);
    if (!Number.isNaN(tokens)) promptTokens = (promptTokens ?? 0) + tokens;
  }
  return {
    trace: tracePath === "-" ? "-" : resolve(tracePath),
    trace_sha256: sha256,
    format: trace.format,
    speed: given.speed ?? 1,
    think_scale: given.think_scale ?? 1,
    duration_ms: given.duration ?? null,
    warmup_ms: given.warmup ?? 0,
    prompt_tokens: promptTokens,
    provenance: replayProvenance(trace.provenance, given, plan),
  };
}

/**
 * What is replayed as recorded, inferred or made up, option by option. `missing` in a trace is made up here where something
 * must be sent or waited for.
 */
function replayProvenance(provenance: Provenance, given: ReplayGiven, plan: Plan): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [property, origin] of Object.entries(provenance)) {
    // Unknown think times are 0, sampling is greedy.
    const madeUp = property !== "output_length" && property !== "order" && property !== "prefix_sharing";
    out[property] = origin === "missing" && madeUp ? "made up" : origin;
  }
  const waits = anyWaits(plan);
  if (!waits) out["think_time"] = plan.pacing === "recorded" && hasTurns(plan) ? "by arrival" : "none";
  else if (given.think_scale !== undefined && given.think_scale !== 1)
    out["think_time"] = `${out["think_time"]}, scaled`;
  if (waits && plan.gaps_capped > 0) out["think_time"] = `${out["think_time"]}, capped`;
  const { arrival_type: type = "trace", arrival_rate: rate, speed = 1 } = given;
  if (plan.pacing === "closed") out["arrivals"] = "replaced";
  else if (type !== "trace") out["arrivals"] = "made up";
  else if (rate !== undefined || speed !== 1) out["arrivals"] = `${out["arrivals"]}, scaled`;
  if (given.spread === true) out["arrivals"] = `${out["arrivals"]}, spread`;
  if (given.input_length !== undefined)
    out["prompt_length"] = out["prompt_text"] = out["prefix_sharing"] = "made up";
  if (given.history === "live")
    out["prompt_text"] = out["prefix_sharing"] = `${out["prompt_text"]}, answers live`;
  if (given.output_length !== undefined) out["output_length"] = "made up";
  if (given.output === "free" || out["output_length"] === "missing") out["output_length"] = "left free";
  return out;
}

function anyWaits({ requests }: Plan): boolean {
  for (let index = 0; index < requests.length; index++)
    if (scheduleAt(requests, index).release.kind === "after") return true;
  return false;
}

function hasTurns({ jobs }: Plan): boolean {
  for (let index = 0; index < jobs.length; index++) if (turnsAt(jobs, index) > 1) return true;
  return false;
}
