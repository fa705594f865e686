/** Arrival processes that are made up (`trace` keeps the recorded ones). One a file; one line here. */
import type { Rng } from "../../core/random.ts";
import type { Ms, PerSecond } from "../../core/units.ts";
import type { ArrivalType } from "../plan-options.ts";
import { spanAtRate } from "../workload.ts";
import { gammaArrivals } from "./gamma.ts";
import { randomArrivals } from "./random.ts";
import { uniformArrivals } from "./uniform.ts";

export interface ArrivalRequest {
  readonly n: number;
  readonly rate: PerSecond;
  /** (n−1)/rate, or the recorded span. */
  readonly span_ms: Ms;
  readonly burstiness: number;
  readonly normalize: boolean;
  readonly rng: Rng;
}

type MadeUp = Exclude<ArrivalType, "trace">;

const PROCESSES: Record<MadeUp, (request: ArrivalRequest) => Float64Array> = {
  uniform: ({ n, span_ms }) => uniformArrivals(n, span_ms),
  random: ({ n, span_ms, rng }) => randomArrivals(n, span_ms, rng),
  poisson: ({ n, rate, normalize, rng }) => gammaArrivals(n, rate, 1, normalize, rng),
  gamma: ({ n, rate, burstiness, normalize, rng }) => gammaArrivals(n, rate, burstiness, normalize, rng),
};

/** Ascending offsets, the first 0. An infinite rate (span 0) puts all at 0. */
export function makeArrivals(type: MadeUp, request: Omit<ArrivalRequest, "rate">): Float64Array {
  const { n, span_ms } = request;
  if (span_ms === 0 || n < 2) return new Float64Array(n);
  return PROCESSES[type]({ ...request, rate: ((n - 1) / span_ms) * 1000 });
}

/** The span that `rate` asks for, else the recorded one. */
export function arrivalSpan(n: number, rate: PerSecond | null, recorded: Ms | null): Ms | null {
  return rate === null ? recorded : spanAtRate(n, rate);
}
