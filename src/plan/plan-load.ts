/** Load without a trace's dependencies (`bench`): requests at a rate, on a ramp, at given times, or slot by slot. */
import { UserError } from "../core/failure.ts";
import { createRng, type Rng } from "../core/random.ts";
import type { Ms, PerSecond, Tokens } from "../core/units.ts";
import { gammaArrivals } from "./arrivals/gamma.ts";
import { checkRamp, type Ramp, rampArrivals } from "./arrivals/ramp.ts";
import { checkBurstiness, positive, wholePositive } from "./plan-options.ts";
import type { Plan, PlannedRequest, PlannedTurn, Release } from "./plan.ts";

export const LORA_ASSIGNMENTS = ["random", "round-robin"] as const;

export interface LoadRequest {
  readonly request_id: string;
  readonly request: PlannedTurn;
  readonly planned_prompt_tokens: Tokens | null;
  readonly planned_output_tokens: Tokens | null;
  /** For `arrivals: "given"`. */
  readonly offset_ms?: Ms;
}

export interface LoadOptions {
  /** `given`: each request's own `offset_ms` (timed_trace); the first becomes 0. */
  readonly arrivals: "rate" | "given";
  /** Infinity: all at once, or, with a cap, whenever a slot is free. */
  readonly rate: PerSecond;
  readonly burstiness: number;
  readonly normalize: boolean;
  readonly ramp: Ramp | null;
  readonly max_concurrency: number | null;
  readonly seed: number;
  readonly lora: {
    readonly modules: readonly string[];
    readonly assignment: (typeof LORA_ASSIGNMENTS)[number];
  } | null;
}

export const DEFAULT_LOAD_OPTIONS: LoadOptions = {
  arrivals: "rate",
  rate: Infinity,
  burstiness: 1,
  normalize: true,
  ramp: null,
  max_concurrency: null,
  seed: 0,
  lora: null,
};

/** Each request is a job of its own, in the order given. */
export function planLoad(items: readonly LoadRequest[], given: Partial<LoadOptions> = {}): Plan {
  const options: LoadOptions = { ...DEFAULT_LOAD_OPTIONS, ...given };
  checkLoadOptions(options);
  if (items.length === 0) throw new UserError("there is no request to send");
  const rng = createRng(options.seed);
  const notes: string[] = [];
  const bySlot = usesSlots(options);
  const offsets = bySlot ? null : loadOffsets(items, options, rng.fork("arrivals"));
  const order = offsets === null ? items.map((_, i) => i) : byTime(offsets);
  const pickModel = loraPicker(options, rng.fork("lora"));
  const requests = order.map((from, index): PlannedRequest => {
    const item = items[from] as LoadRequest;
    const release: Release =
      offsets === null ? { kind: "slot", delay_ms: 0 } : { kind: "at", offset_ms: offsets[from] as number };
    return {
      index,
      request_id: item.request_id,
      job: index,
      turn: 0,
      agent: null,
      release,
      request: pickModel === null ? item.request : { ...item.request, model: pickModel(index) },
      planned_prompt_tokens: item.planned_prompt_tokens,
      planned_output_tokens: item.planned_output_tokens,
    };
  });
  if (bySlot) notes.push(`${options.max_concurrency} requests at a time, each sent when a slot is free`);
  return {
    requests,
    jobs: requests.map((request, index) => ({
      index,
      job_id: request.request_id,
      requests: [index],
      budget_ms: null,
      recorded_ms: null,
      optimal_hit_rate: null,
    })),
    pacing: "load",
    max_concurrency: options.max_concurrency,
    max_concurrent_jobs: null,
    span_ms: offsets === null ? null : (offsets[order.at(-1) as number] as number),
    optimal_hit_rate: null,
    optimal_cached_tokens: null,
    notes,
    gaps_capped: 0,
  };
}

function checkLoadOptions(options: LoadOptions): void {
  positive("--request-rate", options.rate, true);
  checkBurstiness(options.burstiness);
  wholePositive("--max-concurrency", options.max_concurrency);
  if (options.ramp !== null) {
    checkRamp(options.ramp);
    if (options.rate !== Infinity) {
      throw new UserError("--ramp-up-strategy and --request-rate contradict each other", {
        hint: "the ramp sets the rate: leave --request-rate out",
      });
    }
  }
  if (options.arrivals === "given" && (options.ramp !== null || options.rate !== Infinity)) {
    throw new UserError("this dataset has its own arrival times: --request-rate and ramps contradict them");
  }
  if (options.lora !== null && options.lora.modules.length === 0)
    throw new UserError("--lora-modules needs at least one name");
}

/** An infinite rate with a cap: `slot` releases, so that intended is the instant a slot is free (METRICS). */
function usesSlots({ arrivals, rate, ramp, max_concurrency }: LoadOptions): boolean {
  return arrivals === "rate" && rate === Infinity && ramp === null && max_concurrency !== null;
}

function loadOffsets(items: readonly LoadRequest[], options: LoadOptions, rng: Rng): Float64Array {
  const n = items.length;
  if (options.arrivals === "given") return givenOffsets(items);
  if (options.ramp !== null) return rampArrivals(n, options.ramp, options.burstiness, rng);
  if (options.rate === Infinity) return new Float64Array(n);
  return gammaArrivals(n, options.rate, options.burstiness, options.normalize, rng);
}

function givenOffsets(items: readonly LoadRequest[]): Float64Array {
  const offsets = new Float64Array(items.length);
  let first = Infinity;
  items.forEach((item, i) => {
    if (item.offset_ms === undefined || !Number.isFinite(item.offset_ms))
      throw new UserError(`request ${i + 1} of the dataset has no arrival time`);
    offsets[i] = item.offset_ms;
    first = Math.min(first, item.offset_ms);
  });
  return offsets.map((offset) => offset - first);
}

function byTime(offsets: Float64Array): number[] {
  const order = Array.from(offsets, (_, i) => i);
  return order.sort((a, b) => (offsets[a] as number) - (offsets[b] as number));
}

function loraPicker({ lora }: LoadOptions, rng: Rng): ((index: number) => string) | null {
  if (lora === null) return null;
  const { modules, assignment } = lora;
  return assignment === "random"
    ? () => rng.pick(modules)
    : (index) => modules[index % modules.length] as string;
}
