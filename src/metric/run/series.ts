/** The run over time, by equal buckets from t0: what a chart shows. Rates per second, concurrency as the mean over a bucket. */
import type { Ms } from "../../core/units.ts";
import type { JobTable } from "../job/job-table.ts";
import { FAILED, OK, type RequestTable } from "../request-table.ts";

export interface RunSeries {
  readonly start_ms: Ms;
  readonly step_ms: Ms;
  readonly requests_per_s: readonly number[];
  readonly failed_per_s: readonly number[];
  readonly output_tokens_per_s: readonly number[];
  /** Mean requests between `sent` and `end`. */
  readonly in_flight: readonly number[];
  /** Mean requests that were due and not yet sent. */
  readonly waiting_to_send: readonly number[];
  /** Mean jobs between start and end. */
  readonly jobs_running: readonly number[];
}

const MOST_BUCKETS = 240;
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];

/** `null` where nothing has ended. */
export function run_series(table: RequestTable, jobs: JobTable): RunSeries | null {
  const { intended, sent, end } = table.columns;
  let last = 0;
  for (const at of end) if (at > last) last = at;
  if (last <= 0) return null;
  const step = stepOf(last);
  const n = Math.max(1, Math.ceil(last / step));
  const bucket = (at: Ms): number => Math.min(n - 1, Math.max(0, Math.floor(at / step)));
  const ok = new Float64Array(n);
  const failed = new Float64Array(n);
  const flight = new Overlap(n, step);
  const waiting = new Overlap(n, step);
  const running = new Overlap(n, step);
  for (let row = 0; row < table.n; row++) {
    const ended = end[row] as number;
    const begun = sent[row] as number;
    const counts = table.status[row] === OK ? ok : table.status[row] === FAILED ? failed : null;
    if (counts !== null && !Number.isNaN(ended))
      counts[bucket(ended)] = (counts[bucket(ended)] as number) + 1;
    flight.add(begun, ended);
    waiting.add(intended[row] as number, begun);
  }
  for (let job = 0; job < jobs.n; job++) running.add(jobs.start[job] as number, jobs.end[job] as number);
  const perSecond = (counts: Float64Array): number[] => Array.from(counts, (count) => (count * 1000) / step);
  return {
    start_ms: 0,
    step_ms: step,
    requests_per_s: perSecond(ok),
    failed_per_s: perSecond(failed),
    output_tokens_per_s: perSecond(tokens(table, n, step)),
    in_flight: flight.mean(),
    waiting_to_send: waiting.mean(),
    jobs_running: running.mean(),
  };
}

function stepOf(length: Ms): Ms {
  const wanted = length / 1000 / MOST_BUCKETS;
  return 1000 * (STEPS_S.find((step) => step >= wanted) ?? Math.ceil(wanted / 3600) * 3600);
}

/** The token clock counts by second; a bucket is whole seconds. */
function tokens(table: RequestTable, n: number, step: Ms): Float64Array {
  const { origin_ms, bucket_ms, tokens: counts } = table.tokens.series();
  const sums = new Float64Array(n);
  for (let i = 0; i < counts.length; i++) {
    const at = Math.min(n - 1, Math.max(0, Math.floor((origin_ms + i * bucket_ms) / step)));
    sums[at] = (sums[at] as number) + (counts[i] as number);
  }
  return sums;
}

/** Σ of intervals by bucket in time linear in intervals + buckets, however long the intervals are. */
class Overlap {
  /** Part of the first and last bucket of each interval. */
  readonly #edges: Float64Array;
  /** Steps of the number of intervals that cover a whole bucket. */
  readonly #steps: Float64Array;
  readonly #step: Ms;

  constructor(n: number, step: Ms) {
    this.#edges = new Float64Array(n);
    this.#steps = new Float64Array(n + 1);
    this.#step = step;
  }

  /** NaN at either side: no interval. */
  add(from: Ms, to: Ms): void {
    const start = Math.max(0, from);
    if (!(to > start)) return;
    const n = this.#edges.length;
    const first = Math.min(n - 1, Math.floor(start / this.#step));
    const last = Math.min(n - 1, Math.floor(to / this.#step));
    if (first === last) {
      this.#edges[first] = (this.#edges[first] as number) + (to - start);
      return;
    }
    this.#edges[first] = (this.#edges[first] as number) + ((first + 1) * this.#step - start);
    this.#edges[last] = (this.#edges[last] as number) + (to - last * this.#step);
    this.#steps[first + 1] = (this.#steps[first + 1] as number) + 1;
    this.#steps[last] = (this.#steps[last] as number) - 1;
  }

  mean(): number[] {
    let whole = 0;
    return Array.from(this.#edges, (part, i) => {
      whole += this.#steps[i] as number;
      return whole + part / this.#step;
    });
  }
}
