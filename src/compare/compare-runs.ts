/** Compares runs of the same work, job by job. */
import { UserError } from "../core/failure.ts";
import { createRng } from "../core/random.ts";
import { drawResamples, estimateRatio, type RatioEstimate, type Resamples } from "./bootstrap.ts";
import { findConcerns, optionChanges, serverChanges, type Change, type Concern } from "./comparability.ts";
import type { JobStatus, RunIdentity, RunSamples } from "./run-samples.ts";
import { makeStatistic, sortedValues, type SortedValues, type Statistic } from "./statistic.ts";

export interface StatisticRow extends RatioEstimate {
  readonly statistic: Statistic;
  /** `better` and `worse` only where the interval excludes "no change". */
  readonly verdict: "better" | "worse" | "unclear";
  /** Values on each side: requests or jobs. */
  readonly n: { readonly a: number; readonly b: number };
  /** A percentile from fewer values than it needs: nearly the largest (or smallest) of them. */
  readonly low_sample: boolean;
  /** Largest ratio among repeats of the same configuration (≥ 1); `null` without repeats. */
  readonly noise: number | null;
}

export interface StatusChange {
  readonly job_id: string;
  readonly a: JobStatus | "absent";
  readonly b: JobStatus | "absent";
}

export interface Tally {
  readonly ok: number;
  readonly failed: number;
  readonly unfinished: number;
  /** `null` without a budget. */
  readonly over_budget: number | null;
}

export interface Comparison {
  readonly a: RunIdentity;
  readonly b: RunIdentity;
  readonly concerns: readonly Concern[];
  /** Jobs ok in both: what the rows stand on. */
  readonly paired_jobs: number;
  /** Runs on each side: more than one where repeats of it are compared together. */
  readonly runs: { readonly a: number; readonly b: number };
  /** Over the jobs that both runs have; sums where a side has several runs. */
  readonly jobs: { readonly a: Tally; readonly b: Tally };
  readonly failed_requests: { readonly a: number; readonly b: number };
  readonly status_changes: readonly StatusChange[];
  readonly rows: readonly StatisticRow[];
  readonly option_changes: readonly Change[];
  readonly server_changes: readonly Change[];
  /** The same draws for every statistic; for gates. */
  readonly pairing: Pairing;
}

export interface CompareOptions {
  readonly statistics?: readonly Statistic[];
  readonly seed?: number;
  /** Further runs of each side's configuration: they are compared together, with the runs as the unit. */
  readonly more?: { readonly a: readonly RunSamples[]; readonly b: readonly RunSamples[] };
  /** Runs by configuration, for the noise that is shown. */
  readonly repeats?: readonly (readonly RunSamples[])[];
  /** Compare although the work differs. */
  readonly anyway?: boolean;
}

export const DEFAULT_STATISTICS: readonly Statistic[] = [
  makeStatistic("job_e2e", null),
  makeStatistic("job_e2e", 50),
  makeStatistic("job_e2e", 99),
  makeStatistic("queueing", null),
  makeStatistic("job_answer", 50),
  makeStatistic("ttft", 50),
  makeStatistic("ttft", 99),
  makeStatistic("tpot", 50),
  makeStatistic("tpot", 99),
  makeStatistic("response", 99),
];

/** B against A. Throws a `UserError` where the two did not do the same work. */
export function compareRuns(a: RunSamples, b: RunSamples, options: CompareOptions = {}): Comparison {
  const sides = { a: [a, ...(options.more?.a ?? [])], b: [b, ...(options.more?.b ?? [])] };
  const jobs = commonJobs(a, b);
  const concerns = [
    [a, b] as const,
    ...sides.b.slice(1).map((run) => [a, run] as const),
    ...sides.a.slice(1).map((run) => [run, b] as const),
  ]
    .flatMap(([x, y]) => findConcerns(x.identity, y.identity, commonJobs(x, y).length))
    .filter(({ text }, index, all) => all.findIndex((other) => other.text === text) === index);
  const refused = concerns.filter(({ severity }) => severity === "refuse");
  if (refused.length > 0 && (options.anyway !== true || jobs.length === 0)) {
    throw new UserError(
      `${a.identity.label} and ${b.identity.label} cannot be compared: ${refused.map(({ text }) => text).join("; ")}`,
      { hint: "compare runs of the same trace, with the same pacing and seeds" },
    );
  }
  const pairing = new Pairing(sides.a, sides.b, options.seed ?? 0);
  const statistics = (options.statistics ?? DEFAULT_STATISTICS).filter(
    ({ metric }) => a.metrics[metric] !== undefined || b.metrics[metric] !== undefined,
  );
  return {
    a: a.identity,
    b: b.identity,
    concerns,
    paired_jobs: pairing.jobs.length,
    runs: { a: sides.a.length, b: sides.b.length },
    jobs: { a: tally(sides.a, jobs), b: tally(sides.b, jobs) },
    failed_requests: { a: failedRequests(sides.a), b: failedRequests(sides.b) },
    status_changes: statusChanges(a, b),
    rows: statistics.map((statistic) => {
      const estimate = pairing.ratio(statistic);
      const count = (side: "a" | "b"): number =>
        pairing.values(side, statistic.metric).reduce((sum, { value }) => sum + value.length, 0);
      const n = { a: count("a"), b: count("b") };
      return {
        statistic,
        ...estimate,
        n,
        low_sample:
          statistic.p !== null && statistic.p < 100 && Math.min(n.a, n.b) < 100 / (100 - statistic.p) - 1e-9,
        verdict: verdictOf(statistic, estimate),
        noise: noiseOf(statistic, options.repeats ?? [], options.seed ?? 0),
      };
    }),
    option_changes: optionChanges(a.identity, b.identity),
    server_changes: serverChanges(a.identity, b.identity),
    pairing,
  };
}

/** Runs of one configuration: same options, model and server. What differs among them is noise. */
export function repeatGroups(runs: readonly RunSamples[]): RunSamples[][] {
  const groups: RunSamples[][] = [];
  for (const run of runs) {
    const group = groups.find(
      ([first]) => first !== undefined && sameConfiguration(first.identity, run.identity),
    );
    if (group === undefined) groups.push([run]);
    else group.push(run);
  }
  return groups;
}

function sameConfiguration(a: RunIdentity, b: RunIdentity): boolean {
  return (
    a.model === b.model &&
    a.trace_sha256 === b.trace_sha256 &&
    optionChanges(a, b).every(({ key }) => /^(seed|prompt_seed|base_url|host|port)$/.test(key)) &&
    serverChanges(a, b).length === 0
  );
}

/** The jobs ok in all runs of both sides, their samples, and one set of draws. */
export class Pairing {
  /** Sorted, so that swapped runs draw the same jobs. */
  readonly jobs: readonly string[];
  readonly a: readonly RunSamples[];
  readonly b: readonly RunSamples[];
  readonly #seed: number;
  #resamples: Resamples | null = null;
  readonly #sorted = new Map<string, readonly SortedValues[]>();

  constructor(a: readonly RunSamples[], b: readonly RunSamples[], seed: number) {
    const ok = (run: RunSamples): Set<string> =>
      new Set(run.job_ids.filter((_id, index) => run.jobs[index]?.status === "ok"));
    const [first = new Set<string>(), ...others] = [...a, ...b].map(ok);
    this.jobs = [...first].filter((id) => others.every((run) => run.has(id))).sort();
    this.a = a;
    this.b = b;
    this.#seed = seed;
  }

  get resamples(): Resamples {
    const values = Math.max(
      0,
      ...[this.a, this.b].map((runs) =>
        runs.reduce(
          (sum, run) => sum + Math.max(0, ...Object.values(run.metrics).map(({ value }) => value.length)),
          0,
        ),
      ),
    );
    this.#resamples ??= drawResamples(createRng(this.#seed).fork("compare"), this.jobs.length, values);
    return this.#resamples;
  }

  /** Draws of another number of jobs (those with a status, not only those ok in both). */
  resamplesOf(jobs: number): Resamples {
    return drawResamples(createRng(this.#seed).fork("compare"), jobs, jobs);
  }

  ratio(statistic: Statistic): RatioEstimate {
    return estimateRatio(
      statistic,
      this.values("a", statistic.metric),
      this.values("b", statistic.metric),
      this.resamples,
    );
  }

  /** b ÷ a without an interval. */
  point(statistic: Statistic): number | null {
    const none: Resamples = { jobs: this.jobs.length, weights: [] };
    return estimateRatio(
      statistic,
      this.values("a", statistic.metric),
      this.values("b", statistic.metric),
      none,
    ).ratio;
  }

  /** Values of a metric in the paired jobs, ascending. Kept: several statistics stand on one metric. */
  values(side: "a" | "b", metric: string): readonly SortedValues[] {
    const key = `${side}/${metric}`;
    const known = this.#sorted.get(key);
    if (known !== undefined) return known;
    const sorted = this[side].map((run) => this.#sort(run, metric));
    this.#sorted.set(key, sorted);
    return sorted;
  }

  #sort(run: RunSamples, metric: string): SortedValues {
    const column = run.metrics[metric];
    if (column === undefined) return sortedValues(new Float64Array(0), new Int32Array(0), this.jobs.length);
    const position = new Map(this.jobs.map((id, index) => [id, index]));
    const place = Int32Array.from(run.job_ids, (id) => position.get(id) ?? -1);
    const rows = Uint32Array.from(column.value.keys()).filter(
      (row) => (place[column.job[row] as number] ?? -1) >= 0,
    );
    rows.sort((x, y) => (column.value[x] as number) - (column.value[y] as number));
    return sortedValues(
      Float64Array.from(rows, (row) => column.value[row] as number),
      Int32Array.from(rows, (row) => place[column.job[row] as number] as number),
      this.jobs.length,
    );
  }
}

/** Changes that print as 0.0 % are none, however narrow the interval (virtual time has no noise at all). */
const NEGLIGIBLE = 5e-4;

function verdictOf(statistic: Statistic, { ratio, interval }: RatioEstimate): StatisticRow["verdict"] {
  if (ratio === null || Math.abs(Math.log(ratio)) < NEGLIGIBLE) return "unclear";
  if (interval === null || (interval.low <= 1 && interval.high >= 1)) return "unclear";
  const grew = interval.low > 1;
  return grew === (statistic.better === "higher") ? "better" : "worse";
}

/** Repeats differ only by chance: the largest ratio between any two of one configuration. */
function noiseOf(
  statistic: Statistic,
  groups: readonly (readonly RunSamples[])[],
  seed: number,
): number | null {
  let largest: number | null = null;
  for (const group of groups) {
    for (const [index, first] of group.entries()) {
      for (const second of group.slice(index + 1)) {
        const ratio = new Pairing([first], [second], seed).point(statistic);
        if (ratio !== null) largest = Math.max(largest ?? 1, ratio, 1 / ratio);
      }
    }
  }
  return largest;
}

function commonJobs(a: RunSamples, b: RunSamples): string[] {
  const inB = new Set(wholeJobs(b));
  return wholeJobs(a).filter((id) => inB.has(id));
}

/** Without repetitions that the run's end has cut. */
function wholeJobs(run: RunSamples): string[] {
  return run.job_ids.filter((_id, index) => run.jobs[index]?.cut !== true);
}

function failedRequests(runs: readonly RunSamples[]): number {
  return runs.reduce((sum, run) => sum + run.failed_requests, 0);
}

function tally(runs: readonly RunSamples[], jobs: readonly string[]): Tally {
  const wanted = new Set(jobs);
  const samples = runs.flatMap((run) =>
    run.jobs.filter((_job, index) => wanted.has(run.job_ids[index] as string)),
  );
  const count = (status: JobStatus): number => samples.filter((job) => job.status === status).length;
  const budgeted = samples.filter((job) => job.over_budget !== null);
  return {
    ok: count("ok"),
    failed: count("failed"),
    unfinished: count("unfinished"),
    over_budget: budgeted.length === 0 ? null : budgeted.filter((job) => job.over_budget).length,
  };
}

function statusChanges(a: RunSamples, b: RunSamples): StatusChange[] {
  const statusIn = (run: RunSamples): Map<string, JobStatus> =>
    new Map(run.job_ids.map((id, index) => [id, (run.jobs[index] as { status: JobStatus }).status]));
  // Of repeated jobs, one run has more than the other.
  const common = new Set(commonJobs(a, b));
  const inA = statusIn(a);
  const inB = statusIn(b);
  return [...new Set([...inA.keys(), ...inB.keys()])]
    .sort()
    .map((job_id) => ({ job_id, a: inA.get(job_id) ?? "absent", b: inB.get(job_id) ?? "absent" }) as const)
    .filter((change) => change.a !== change.b)
    .filter(
      ({ job_id }) => !(a.identity.repeated === true || b.identity.repeated === true) || common.has(job_id),
    );
}
