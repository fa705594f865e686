/** From the options and a dataset to a plan: request ids, arrivals, adapters, fields of the body. */
import type { JsonObject } from "../core/json.ts";
import { type LoadRequest, planLoad } from "../plan/plan-load.ts";
import type { Plan } from "../plan/plan.ts";
import { UserError } from "../core/failure.ts";
import { rampOf } from "./bench-checks.ts";
import type { BenchDataset } from "./bench-dataset.ts";
import type { BenchGiven } from "./options/bench-options.ts";

export const DEFAULT_REQUEST_ID_PREFIX = "benchmark-serving";

/** `fields` override what a row says of itself. */
export function planBench(dataset: BenchDataset, given: BenchGiven, fields: JsonObject, seed: number): Plan {
  const prefix = given.request_id_prefix ?? DEFAULT_REQUEST_ID_PREFIX;
  const shared = Object.keys(fields).length === 0 ? null : fields;
  const items = dataset.turns.map((turn, i): LoadRequest => {
    const { request } = turn;
    const params =
      request.params === null ? shared : shared === null ? request.params : { ...request.params, ...shared };
    return { request_id: `${prefix}${i}`, ...turn, request: { ...request, params } };
  });
  const rate = given.request_rate ?? Infinity;
  const ramp = rampOf(given);
  if (given.self_timed === true && !dataset.timed)
    throw new UserError("--self-timed: the dataset tells no arrival times");
  const timed =
    dataset.timed && given.self_timed !== false && given.request_rate === undefined && ramp === null;
  const { lora_modules: modules } = given;
  return planLoad(items, {
    arrivals: timed ? "given" : "rate",
    rate,
    burstiness: given.burstiness ?? 1,
    normalize: given.normalize ?? true,
    ramp,
    max_concurrency: given.max_concurrency ?? null,
    seed,
    lora: modules === undefined ? null : { modules, assignment: given.lora_assignment ?? "random" },
  });
}
