/**
 * A run while it goes, record by record: counts, rates, sketches of percentiles (0.1 % wide), jobs under way. For live views only; the
 * numbers of the reports come from the log.
 */
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import type { Ms } from "../core/units.ts";
import type { EndedRequest } from "./ended-request.ts";

export interface LivePercentiles {
  readonly n: number;
  readonly p50: Ms;
  readonly p95: Ms;
  readonly p99: Ms;
}

export interface LiveJob {
  readonly job_id: string;
  readonly start_ms: Ms;
  /** Turns that have ended, of those planned (`null` = not known). */
  readonly ended: number;
  readonly planned: number | null;
}

export interface LiveNumbers {
  readonly ok: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly jobs_ok: number;
  readonly jobs_failed: number;
  readonly jobs_over_budget: number | null;
  /** Jobs that have a record and are not over. */
  readonly jobs_under_way: number;
  /** End of the last record, ms from t0. */
  readonly last_ms: Ms;
  readonly ttft: LivePercentiles | null;
  readonly tpot: LivePercentiles | null;
  readonly job_e2e: LivePercentiles | null;
  readonly lateness: LivePercentiles | null;
  /** Over the last ten seconds. */
  readonly requests_per_s: number;
  readonly output_tokens_per_s: number;
}

export interface LiveSeries {
  readonly step_ms: Ms;
  readonly requests_per_s: readonly number[];
  readonly output_tokens_per_s: readonly number[];
}

interface PlannedLive {
  readonly turns: number;
  readonly budget_ms: Ms | null;
}

interface JobState {
  start: Ms;
  end: Ms;
  ended: number;
  failed: boolean;
}

const SECOND = 1000;
/** Seconds that a rate looks back over. */
const RATE_OVER = 10;
const MOST_POINTS = 240;

export class LiveTally {
  readonly #planned: (jobId: string) => PlannedLive | null;
  readonly #jobs = new Map<string, JobState>();
  readonly #failures = new Map<string, number>();
  readonly #counts = { ok: 0, failed: 0, cancelled: 0, skipped: 0 };
  readonly #ttft = new Sketch();
  readonly #tpot = new Sketch();
  readonly #jobTime = new Sketch();
  readonly #lateness = new Sketch();
  /** By second of the end. */
  readonly #requests: number[] = [];
  readonly #tokens: number[] = [];
  #jobsOk = 0;
  #jobsFailed = 0;
  #over: number | null = null;
  #last: Ms = 0;

  /** `planned` tells what is known of a job; `null` = nothing (its end is then not seen). */
  constructor(planned: (jobId: string) => PlannedLive | null) {
    this.#planned = planned;
  }

  add(record: EndedRequest): void {
    this.#counts[record.status]++;
    if (record.failure !== null && record.status === "failed")
      this.#failures.set(record.failure.code, (this.#failures.get(record.failure.code) ?? 0) + 1);
    const { sent_ms: sent, end_ms: end, first_token_ms: first, last_token_ms: last } = record;
    if (end !== null && end > this.#last) this.#last = end;
    if (sent !== null) {
      const due = Math.max(record.intended_ms ?? sent, record.slot_ms ?? -Infinity);
      this.#lateness.add(sent - record.connect_ms - due);
    }
    if (record.status === "ok" && end !== null) {
      bump(this.#requests, end, 1);
      bump(this.#tokens, end, record.output_tokens ?? record.chunks);
      if (first !== null && sent !== null) this.#ttft.add(first - sent);
      const tokens = record.output_tokens ?? 0;
      if (first !== null && last !== null && tokens > 1) this.#tpot.add((last - first) / (tokens - 1));
    }
    this.#addToJob(record);
  }

  #addToJob(record: EndedRequest): void {
    const planned = this.#planned(record.job_id);
    let job = this.#jobs.get(record.job_id);
    if (job === undefined) {
      job = { start: Infinity, end: -Infinity, ended: 0, failed: false };
      this.#jobs.set(record.job_id, job);
    }
    job.ended++;
    job.failed ||= record.status !== "ok";
    if (record.intended_ms !== null) job.start = Math.min(job.start, record.intended_ms);
    if (record.end_ms !== null) job.end = Math.max(job.end, record.end_ms);
    if (planned === null || job.ended < planned.turns) return;
    this.#jobs.delete(record.job_id);
    const time = job.end - job.start;
    const over = planned.budget_ms !== null && (job.failed || time > planned.budget_ms);
    if (planned.budget_ms !== null) this.#over = (this.#over ?? 0) + (over ? 1 : 0);
    if (job.failed) this.#jobsFailed++;
    else {
      this.#jobsOk++;
      if (Number.isFinite(time)) this.#jobTime.add(time);
    }
  }

  /** `now`: ms from t0; a server that stands still has a rate of 0, not that of its last busy seconds. */
  numbers(now: Ms = this.#last): LiveNumbers {
    return {
      ...this.#counts,
      failures: Object.fromEntries(this.#failures),
      jobs_ok: this.#jobsOk,
      jobs_failed: this.#jobsFailed,
      jobs_over_budget: this.#over,
      jobs_under_way: this.#jobs.size,
      last_ms: this.#last,
      ttft: this.#ttft.percentiles(),
      tpot: this.#tpot.percentiles(),
      job_e2e: this.#jobTime.percentiles(),
      lateness: this.#lateness.percentiles(),
      requests_per_s: this.#rate(this.#requests, now),
      output_tokens_per_s: this.#rate(this.#tokens, now),
    };
  }

  /** Jobs under way, the oldest first. */
  jobs(most: number): LiveJob[] {
    return [...this.#jobs]
      .sort((a, b) => a[1].start - b[1].start)
      .slice(0, most)
      .map(([job_id, { start, ended }]) => ({
        job_id,
        start_ms: Number.isFinite(start) ? start : 0,
        ended,
        planned: this.#planned(job_id)?.turns ?? null,
      }));
  }

  series(): LiveSeries {
    const seconds = Math.max(this.#requests.length, 1);
    const width = Math.ceil(seconds / MOST_POINTS);
    const joined = (values: readonly number[]): number[] =>
      Array.from({ length: Math.ceil(seconds / width) }, (_unused, i) => {
        let sum = 0;
        for (let at = i * width; at < (i + 1) * width; at++) sum += values[at] ?? 0;
        return sum / width;
      });
    return {
      step_ms: width * SECOND,
      requests_per_s: joined(this.#requests),
      output_tokens_per_s: joined(this.#tokens),
    };
  }

  #rate(values: readonly number[], now: Ms): number {
    const until = Math.floor(Math.max(now, this.#last) / SECOND);
    const over = Math.min(RATE_OVER, Math.max(1, until));
    let sum = 0;
    // The second under way is not over yet.
    for (let at = until - over; at < until; at++) sum += values[at] ?? 0;
    return sum / over;
  }
}

/** A year of seconds: a damaged end does not make an array of its own size. */
const MOST_SECONDS = 31_536_000;

function bump(values: number[], at: Ms, by: number): void {
  const second = Math.floor(at / SECOND);
  if (second < 0 || second > MOST_SECONDS) return;
  while (values.length <= second) values.push(0);
  values[second] = (values[second] as number) + by;
}

/** Histograms take whole numbers above 0: microseconds. */
class Sketch {
  readonly #histogram: RecordableHistogram = createHistogram();

  add(ms: Ms): void {
    if (Number.isFinite(ms)) this.#histogram.record(Math.max(1, Math.round(ms * 1000)));
  }

  percentiles(): LivePercentiles | null {
    const n = this.#histogram.count;
    if (n === 0) return null;
    const at = (p: number): Ms => this.#histogram.percentile(p) / 1000;
    return { n, p50: at(50), p95: at(95), p99: at(99) };
  }
}
