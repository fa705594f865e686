/**
 * A run's log in the terms of other tools' result files. Their formulas live in this folder and nowhere else; METRICS has
 * ours. Times are kept in ms and become seconds where a file wants them. See docs/switching.md for what differs.
 */
import { sortSamples, type SortedSamples } from "../../core/quantile.ts";
import type { Ms, Tokens } from "../../core/units.ts";
import { NumberColumn } from "../../core/column.ts";
import type { RunAnalysis } from "../../metric/summarize.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import type { ReportInput } from "../report-format.ts";

/** One request, in the order of the plan. */
export interface ServedRequest {
  readonly ok: boolean;
  /** Start of the exchange, connection set-up included: their clocks start before it. `null` = never sent. */
  readonly start_ms: Ms | null;
  /** First chunk − start. */
  readonly ttft_ms: Ms | null;
  /** Last chunk (or, where {@link ServedRunOptions.untilEnd} says so, the end) − start; 0 where it failed. */
  readonly latency_ms: Ms;
  /** `null` unless asked for with {@link ServedRunOptions.detailed}. */
  readonly gaps_ms: readonly Ms[] | null;
  /** As the server counted them, else as planned. */
  readonly input_tokens: Tokens;
  readonly cached_tokens: Tokens | null;
  readonly output_tokens: Tokens;
  /** Texts: `null` = the run did not keep them. */
  readonly text: string | null;
  readonly reasoning: string | null;
  readonly input_text: string | null;
  readonly error: string;
}

export interface ServedRun {
  readonly requests: readonly ServedRequest[];
  /** Ok requests. */
  readonly completed: number;
  /** Sent and not ok. What was never sent (`--duration`, an interruption) is in neither. */
  readonly failed: number;
  /** First start → last end of all requests sent. */
  readonly duration_ms: Ms;
  readonly total_input: Tokens;
  readonly total_output: Tokens;
  /** Pooled over ok requests; by the names of `--percentile-metrics`. Server times are empty where none were told. */
  readonly samples: Readonly<Record<SampleName, SortedSamples>>;
  /** Of ok requests, for goodput: `tpot_ms` 0 for at most one token. */
  readonly judged: readonly { readonly ttft_ms: Ms; readonly tpot_ms: Ms; readonly e2el_ms: Ms }[];
  /** Chunks in the fullest second, counted from the first start. */
  readonly peak_chunks_per_s: number;
  readonly peak_concurrency: number;
}

export const SAMPLE_NAMES = [
  "ttft",
  "tpot",
  "itl",
  "e2el",
  "s_ttft",
  "s_itl",
  "s_e2el",
  "s_decode",
  "input_len",
  "s_input_len",
  "output_len",
] as const;
export type SampleName = (typeof SAMPLE_NAMES)[number];

export interface ServedRunOptions {
  readonly detailed: boolean;
  /** The latency ends at the response's end (the usage chunk) instead of the last chunk with payload. */
  readonly untilEnd: boolean;
  /** An ok reply without a token is not counted as completed. */
  readonly dropEmpty: boolean;
}

/** Runs that were read: a table, a file and PyTorch's records come from one pass over the log. */
const known = new WeakMap<
  RunAnalysis,
  { readonly options: ServedRunOptions; readonly run: Promise<ServedRun> }[]
>();

/** Reads the log once for each kind of options. */
export function readServedRun(input: ReportInput, options: ServedRunOptions): Promise<ServedRun> {
  const runs = known.get(input.analysis) ?? [];
  const { untilEnd, dropEmpty, detailed } = options;
  const found = runs.find(
    ({ options: own }) =>
      own.untilEnd === untilEnd && own.dropEmpty === dropEmpty && (own.detailed || !detailed),
  );
  if (found !== undefined) return found.run;
  const run = collect(input, options);
  known.set(input.analysis, [...runs, { options, run }]);
  return run;
}

async function collect(input: ReportInput, options: ServedRunOptions): Promise<ServedRun> {
  const collector = new Collector(options);
  for await (const batch of input.records()) for (const record of batch) collector.add(record);
  return collector.finish(input);
}

class Collector {
  readonly #options: ServedRunOptions;
  readonly #byJob = new Map<string, { turn: number; request: ServedRequest }[]>();
  readonly #samples = Object.fromEntries(SAMPLE_NAMES.map((name) => [name, new NumberColumn()])) as Record<
    SampleName,
    NumberColumn
  >;
  readonly #judged: { ttft_ms: Ms; tpot_ms: Ms; e2el_ms: Ms }[] = [];
  readonly #chunks = new NumberColumn();
  readonly #starts = new NumberColumn();
  readonly #ends = new NumberColumn();
  #first = Infinity;
  #last = -Infinity;
  #sent = 0;
  #completed = 0;
  #input = 0;
  #output = 0;

  constructor(options: ServedRunOptions) {
    this.#options = options;
  }

  add(record: RequestRecord): void {
    const start = record.sent_ms === null ? null : record.sent_ms - record.connect_ms;
    if (start !== null) {
      this.#sent++;
      this.#first = Math.min(this.#first, start);
      this.#last = Math.max(this.#last, record.end_ms ?? start);
    }
    const request = this.#served(record, start);
    if (request.ok && start !== null) this.#complete(record, request, start);
    const own = this.#byJob.get(record.job_id);
    if (own === undefined) this.#byJob.set(record.job_id, [{ turn: record.turn, request }]);
    else own.push({ turn: record.turn, request });
  }

  #served(record: RequestRecord, start: Ms | null): ServedRequest {
    const { untilEnd, dropEmpty, detailed } = this.#options;
    const ok = record.status === "ok" && start !== null && !(dropEmpty && (record.output_tokens ?? 0) === 0);
    const from = start ?? 0;
    const last = untilEnd ? record.end_ms : (record.last_token_ms ?? record.end_ms);
    return {
      ok,
      start_ms: start,
      ttft_ms: ok && record.first_token_ms !== null ? record.first_token_ms - from : null,
      latency_ms: ok && last !== null ? last - from : 0,
      gaps_ms: detailed ? gapsOf(ok ? (record.chunk_ms ?? []) : []) : null,
      input_tokens: record.prompt_tokens ?? record.planned_prompt_tokens ?? 0,
      cached_tokens: record.cached_tokens,
      output_tokens: ok ? (record.output_tokens ?? 0) : 0,
      text: detailed ? (record.text ?? (ok ? null : "")) : null,
      reasoning: detailed ? (record.reasoning ?? (ok && record.text === undefined ? null : "")) : null,
      input_text: detailed ? (record.input_text ?? null) : null,
      error: record.failure?.message ?? (record.status === "ok" ? "" : record.status),
    };
  }

  #complete(record: RequestRecord, request: ServedRequest, start: Ms): void {
    const samples = this.#samples;
    const { ttft_ms, latency_ms, output_tokens } = request;
    this.#completed++;
    this.#input += request.input_tokens;
    this.#output += output_tokens;
    this.#starts.push(start);
    this.#ends.push(start + latency_ms);
    if (ttft_ms !== null) samples.ttft.push(ttft_ms);
    samples.e2el.push(latency_ms);
    const tpot = output_tokens > 1 && ttft_ms !== null ? (latency_ms - ttft_ms) / (output_tokens - 1) : null;
    if (tpot !== null) samples.tpot.push(tpot);
    this.#judged.push({ ttft_ms: ttft_ms ?? 0, tpot_ms: tpot ?? 0, e2el_ms: latency_ms });
    const chunks = record.chunk_ms ?? [];
    for (let i = 0; i < chunks.length; i++) {
      this.#chunks.push(chunks[i] as number);
      if (i > 0) samples.itl.push((chunks[i] as number) - (chunks[i - 1] as number));
    }
    samples.output_len.push(output_tokens);
    if (record.prompt_tokens !== null) samples.s_input_len.push(record.prompt_tokens);
    if (record.cached_tokens !== null) samples.input_len.push(record.cached_tokens);
    this.#serverTimes(record.engine?.["arrival_s"], output_tokens);
  }

  /** FastDeploy's `arrival_time` of each chunk, seconds since inference began. */
  #serverTimes(told: unknown, outputTokens: Tokens): void {
    if (!Array.isArray(told)) return;
    const at = told.filter((value): value is number => typeof value === "number");
    const [first] = at;
    const last = at.at(-1);
    if (first === undefined || last === undefined) return;
    this.#samples.s_ttft.push(first * 1000);
    this.#samples.s_e2el.push(last * 1000);
    for (let i = 1; i < at.length; i++)
      this.#samples.s_itl.push(((at[i] as number) - (at[i - 1] as number)) * 1000);
    if (last > first) this.#samples.s_decode.push((outputTokens - 1) / (last - first));
  }

  finish(input: ReportInput): ServedRun {
    const requests = this.#inPlanOrder(input);
    const sent = this.#last >= this.#first;
    return {
      requests,
      completed: this.#completed,
      failed: this.#sent - this.#completed,
      duration_ms: sent ? this.#last - this.#first : 0,
      total_input: this.#input,
      total_output: this.#output,
      samples: Object.fromEntries(
        SAMPLE_NAMES.map((name) => [name, sortSamples(this.#samples[name].values())]),
      ) as Record<SampleName, SortedSamples>,
      judged: this.#judged,
      peak_chunks_per_s: peakOf(this.#chunks.values(), this.#starts.values()),
      peak_concurrency: peakConcurrency(this.#starts.values(), this.#ends.values()),
    };
  }

  /** Jobs as planned, their turns in order; turns that the log does not have were not sent. */
  #inPlanOrder({ analysis }: ReportInput): ServedRequest[] {
    const { jobs } = analysis;
    const out: ServedRequest[] = [];
    for (let job = 0; job < jobs.n; job++) {
      const own = this.#byJob.get(jobs.ids[job] as string) ?? [];
      own.sort((a, b) => a.turn - b.turn);
      for (const { request } of own) out.push(request);
      for (let left = (jobs.row(job).planned_turns ?? 0) - own.length; left > 0; left--) out.push(NOT_SENT);
    }
    return out;
  }
}

const NOT_SENT: ServedRequest = {
  ok: false,
  start_ms: null,
  ttft_ms: null,
  latency_ms: 0,
  gaps_ms: [],
  input_tokens: 0,
  cached_tokens: null,
  output_tokens: 0,
  text: "",
  reasoning: "",
  input_text: null,
  error: "not sent",
};

function gapsOf(chunks: readonly Ms[]): Ms[] {
  return chunks.slice(1).map((at, i) => at - (chunks[i] as number));
}

function peakOf(chunks: Float64Array, starts: Float64Array): number {
  let first = Infinity;
  for (const start of starts) first = Math.min(first, start);
  const seconds = new Map<number, number>();
  let peak = 0;
  for (const at of chunks) {
    const second = Math.floor((at - first) / 1000);
    const n = (seconds.get(second) ?? 0) + 1;
    seconds.set(second, n);
    peak = Math.max(peak, n);
  }
  return peak;
}

/** Half-open intervals: one that ends when another starts does not overlap it. */
function peakConcurrency(starts: Float64Array, ends: Float64Array): number {
  const from = starts.slice().sort();
  const to = ends.slice().sort();
  let open = 0;
  let peak = 0;
  let ended = 0;
  for (const start of from) {
    while (ended < to.length && (to[ended] as number) <= start) {
      ended++;
      open--;
    }
    open++;
    peak = Math.max(peak, open);
  }
  return peak;
}
