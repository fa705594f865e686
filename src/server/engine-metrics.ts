/**
 * What engines say of themselves, under one set of names. Metric names change between versions: each fact lists what it
 * was ever called, newest first; prefix separators (`vllm:` or `vllm_`) and a `_total` at the end do not matter.
 */
import type { MetricSample } from "./prometheus-text.ts";

/** How a fact of several series (data-parallel ranks, labels) becomes one number. */
type Join = "sum" | "mean";

interface Fact {
  readonly names: readonly string[];
  readonly join: Join;
  /** Values are percent, not shares. */
  readonly percent?: true;
}

/** A histogram in seconds (`_sum`, `_count`), or a plain counter of seconds with a counter of what it covers. */
interface TimeFact {
  readonly histogram: readonly string[];
  readonly seconds?: readonly string[];
}

interface EngineNames {
  readonly running: Fact;
  readonly waiting: Fact;
  readonly kv_usage: Fact;
  readonly preemptions: Fact;
  readonly cache_queries: Fact;
  readonly cache_hits: Fact;
  /** Tokens processed that were not in the cache; with hits this gives the queries. */
  readonly cache_misses: Fact;
  /** A hit rate the engine computes itself, where it has no counters. */
  readonly hit_rate: Fact;
  readonly queue: TimeFact;
  readonly prefill: TimeFact;
  readonly decode: TimeFact;
}

const sum = (...names: string[]): Fact => ({ names, join: "sum" });
const mean = (...names: string[]): Fact => ({ names, join: "mean" });
const times = (...histogram: string[]): TimeFact => ({ histogram });
const nothing = sum();

const NAMES: Readonly<Record<string, EngineNames>> = {
  vllm: {
    running: sum("vllm:num_requests_running"),
    waiting: sum("vllm:num_requests_waiting"),
    kv_usage: mean("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    preemptions: sum("vllm:num_preemptions_total"),
    cache_queries: sum("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
    cache_hits: sum("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
    cache_misses: nothing,
    hit_rate: mean("vllm:gpu_prefix_cache_hit_rate"),
    queue: times("vllm:request_queue_time_seconds"),
    prefill: times("vllm:request_prefill_time_seconds"),
    decode: times("vllm:request_decode_time_seconds"),
  },
  sglang: {
    running: sum("sglang:num_running_reqs"),
    waiting: sum("sglang:num_queue_reqs"),
    kv_usage: mean("sglang:token_usage"),
    preemptions: sum("sglang:num_retracted_requests_total", "sglang:num_retracted_reqs"),
    cache_queries: sum("sglang:prompt_tokens_total"),
    cache_hits: sum("sglang:cached_tokens_total"),
    cache_misses: nothing,
    hit_rate: mean("sglang:cache_hit_rate"),
    queue: times("sglang:queue_time_seconds"),
    prefill: times("sglang:prefill_time_seconds"),
    decode: times("sglang:decode_time_seconds"),
  },
  trtllm: {
    running: sum("trtllm_num_requests_running"),
    waiting: sum("trtllm_num_requests_waiting"),
    kv_usage: mean("trtllm_kv_cache_utilization"),
    preemptions: nothing,
    cache_queries: nothing,
    cache_hits: nothing,
    cache_misses: nothing,
    hit_rate: mean("trtllm_kv_cache_hit_rate"),
    queue: times("trtllm_request_queue_time_seconds"),
    prefill: times("trtllm_request_prefill_time_seconds"),
    decode: times("trtllm_request_decode_time_seconds"),
  },
  fastdeploy: {
    running: sum("fastdeploy:num_requests_running"),
    waiting: sum("fastdeploy:num_requests_waiting"),
    kv_usage: mean("fastdeploy:gpu_cache_usage_perc"),
    preemptions: sum("fastdeploy:num_preemptions_total"),
    cache_queries: nothing,
    cache_hits: nothing,
    cache_misses: nothing,
    hit_rate: mean("fastdeploy:hit_token_rate"),
    queue: times("fastdeploy:request_queue_time_seconds"),
    prefill: times("fastdeploy:request_prefill_time_seconds"),
    decode: times("fastdeploy:request_decode_time_seconds"),
  },
  "llama-cpp": {
    running: sum("llamacpp:requests_processing"),
    waiting: sum("llamacpp:requests_deferred"),
    kv_usage: mean("llamacpp:kv_cache_usage_ratio"),
    preemptions: nothing,
    cache_queries: nothing,
    cache_hits: sum("llamacpp:prompt_tokens_cached_total"),
    cache_misses: sum("llamacpp:prompt_tokens_total"),
    hit_rate: nothing,
    queue: times(),
    // Seconds of the server, not of a request: no count of requests goes with them, so there is no mean.
    prefill: { histogram: [], seconds: ["llamacpp:prompt_seconds_total"] },
    decode: { histogram: [], seconds: ["llamacpp:tokens_predicted_seconds_total"] },
  },
};

/** Seconds spent and requests covered, since the server started. `count` is `null` where the engine does not count. */
export interface TimeTotal {
  readonly seconds: number;
  readonly count: number | null;
}

/** One reading. Counters are totals since the server's start; `null` = this engine (version) does not tell. */
export interface EngineReading {
  readonly running: number | null;
  readonly waiting: number | null;
  /** Share of the KV pool in use, 0–1. */
  readonly kv_usage: number | null;
  readonly preemptions: number | null;
  readonly cache_queries: number | null;
  readonly cache_hits: number | null;
  /** As the engine computes it, where it has no counters. */
  readonly hit_rate: number | null;
  readonly queue: TimeTotal | null;
  readonly prefill: TimeTotal | null;
  readonly decode: TimeTotal | null;
}

function namesOf(engine: string | null): EngineNames | undefined {
  return engine === "sim" ? NAMES["vllm"] : NAMES[engine ?? ""];
}

/** Reads the facts; an engine of unknown kind (`command`) is recognised by the names it uses. */
export function readEngineMetrics(samples: readonly MetricSample[], engine: string): EngineReading {
  const series = new Map<string, number[]>();
  for (const { name, labels, value } of samples) {
    if (labels["le"] !== undefined || labels["quantile"] !== undefined) continue;
    const key = canonical(name);
    const values = series.get(key);
    if (values === undefined) series.set(key, [value]);
    else values.push(value);
  }
  const names = namesOf(engine) ?? namesOf(recognise(new Set(series.keys()))) ?? null;
  const value = (fact: Fact): number | null => {
    for (const name of fact.names) {
      const values = series.get(canonical(name));
      if (values === undefined) continue;
      const total = values.reduce((a, b) => a + b, 0);
      return fact.join === "sum" ? total : total / values.length;
    }
    return null;
  };
  const time = (fact: TimeFact): TimeTotal | null => {
    for (const name of fact.histogram) {
      const seconds = value(sum(`${name}_sum`));
      const count = value(sum(`${name}_count`));
      if (seconds !== null && count !== null) return { seconds, count };
    }
    const seconds = value(sum(...(fact.seconds ?? [])));
    return seconds === null ? null : { seconds, count: null };
  };
  if (names === null) return NO_READING;
  const hits = value(names.cache_hits);
  const misses = value(names.cache_misses);
  return {
    running: value(names.running),
    waiting: value(names.waiting),
    kv_usage: value(names.kv_usage),
    preemptions: value(names.preemptions),
    cache_queries: value(names.cache_queries) ?? (hits !== null && misses !== null ? hits + misses : null),
    cache_hits: hits,
    hit_rate: value(names.hit_rate),
    queue: time(names.queue),
    prefill: time(names.prefill),
    decode: time(names.decode),
  };
}

/** An engine that tells nothing. */
export const NO_READING: EngineReading = {
  running: null,
  waiting: null,
  kv_usage: null,
  preemptions: null,
  cache_queries: null,
  cache_hits: null,
  hit_rate: null,
  queue: null,
  prefill: null,
  decode: null,
};

/** What happened between two readings of one server. A counter that fell (a restart) tells nothing. */
export interface EngineInterval {
  readonly hit_rate: number | null;
  readonly preemptions: number | null;
  readonly queue_mean_ms: number | null;
  readonly prefill_mean_ms: number | null;
  readonly decode_mean_ms: number | null;
  /** Requests that the queue histogram (else prefill, decode) gained. */
  readonly requests: number | null;
}

export function intervalBetween(before: EngineReading, after: EngineReading): EngineInterval {
  const queries = gained(before.cache_queries, after.cache_queries);
  const hits = gained(before.cache_hits, after.cache_hits);
  const counted =
    gained(before.queue?.count, after.queue?.count) ??
    gained(before.prefill?.count, after.prefill?.count) ??
    gained(before.decode?.count, after.decode?.count);
  return {
    hit_rate:
      queries !== null && hits !== null && queries > 0
        ? hits / queries
        : after.cache_queries === null
          ? after.hit_rate
          : null,
    preemptions: gained(before.preemptions, after.preemptions),
    queue_mean_ms: meanOf(before.queue, after.queue),
    prefill_mean_ms: meanOf(before.prefill, after.prefill),
    decode_mean_ms: meanOf(before.decode, after.decode),
    requests: counted,
  };
}

/**
 * `first` without the counters that fell from one later reading to the next: the server was started anew in between, and by the
 * end such a counter may have passed its first value again.
 */
export function withoutFallen(
  first: EngineReading,
  before: EngineReading,
  after: EngineReading,
): EngineReading {
  const fell = (from: number | null | undefined, to: number | null | undefined): boolean =>
    from !== null && from !== undefined && to !== null && to !== undefined && to < from;
  let kept = first;
  for (const key of ["preemptions", "cache_queries", "cache_hits"] as const)
    if (fell(before[key], after[key])) kept = { ...kept, [key]: null };
  for (const key of ["queue", "prefill", "decode"] as const)
    if (fell(before[key]?.seconds, after[key]?.seconds) || fell(before[key]?.count, after[key]?.count))
      kept = { ...kept, [key]: null };
  return kept;
}

function meanOf(before: TimeTotal | null, after: TimeTotal | null): number | null {
  const seconds = gained(before?.seconds, after?.seconds);
  const count = gained(before?.count, after?.count);
  return seconds === null || count === null || count === 0 ? null : (1000 * seconds) / count;
}

function gained(before: number | null | undefined, after: number | null | undefined): number | null {
  if (before === null || before === undefined || after === null || after === undefined) return null;
  return after < before ? null : after - before;
}

function canonical(name: string): string {
  return name
    .replaceAll(":", "_")
    .replaceAll(".", "_")
    .replace(/_total$/, "")
    .toLowerCase();
}

/** The engine whose names these are; `null` if none that we know. */
export function recogniseEngine(samples: readonly MetricSample[]): string | null {
  return recognise(new Set(samples.map(({ name }) => canonical(name))));
}

/** The simulated engine behind HTTP has vLLM's names, and one of its own. */
const SIMULATED = "reprise_sim_info";

function recognise(names: ReadonlySet<string>): string | null {
  if (names.has(SIMULATED)) return "sim";
  let best: string | null = null;
  let most = 0;
  for (const [engine, facts] of Object.entries(NAMES)) {
    const telling = [facts.running, facts.waiting, facts.kv_usage, facts.cache_hits];
    const known = telling.filter((fact) => fact.names.some((name) => names.has(canonical(name)))).length;
    if (known > most) [best, most] = [engine, known];
  }
  return best;
}
