/**
 * TensorRT-LLM's `GET /perf_metrics`: the engine's own instants of each request that has ended, handed out once. Read away
 * before the run and again and again while it lasts (the server keeps a bounded number), then joined to our requests:
 * by id where the server tells ours, else by order of arrival.
 */
import { sleep, type Clock } from "../core/clock.ts";
import type { Ms } from "../core/units.ts";
import type { EngineTimes } from "../record/observation.ts";
import type { RequestRecord } from "../record/request-record.ts";
import type { HttpCall } from "./http-call.ts";

const EVERY_MS = 1000;
/** Requests that arrived within this of each other may have changed places on the way. */
const SAME_ARRIVAL_S = 0.02;

/** Instants in seconds on the server's clock, whose origin is its own. */
export interface PerfMetrics {
  /** The id as the server tells it. */
  readonly id: string | null;
  readonly arrival_s: number;
  readonly scheduled_s: number;
  readonly first_token_s: number;
  readonly last_token_s: number;
  readonly reused_blocks: number | null;
}

/** What a reply of `/perf_metrics` tells; entries without times (of requests that failed) are left out. */
export function readPerfMetrics(reply: unknown): PerfMetrics[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap((entry: unknown) => {
    const { request_id, perf_metrics } = fields(entry);
    const { timing_metrics, kv_cache_metrics } = fields(perf_metrics);
    const timing = fields(timing_metrics);
    const [arrival_s, scheduled_s, first_token_s, last_token_s] = [
      "arrival_time",
      "first_scheduled_time",
      "first_token_time",
      "last_token_time",
    ].map((key) => timing[key]);
    if (!isTime(arrival_s) || !isTime(scheduled_s) || !isTime(first_token_s) || !isTime(last_token_s))
      return [];
    const reused = fields(kv_cache_metrics)["num_reused_blocks"];
    const id = typeof request_id === "string" || typeof request_id === "number" ? String(request_id) : null;
    const reused_blocks = isTime(reused) ? reused : null;
    return [{ id, arrival_s, scheduled_s, first_token_s, last_token_s, reused_blocks }];
  });
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** What of a record tells which request it was. */
export type SentRecord = Pick<RequestRecord, "request_id" | "status" | "sent_ms" | "last_token_ms">;

/**
 * Engine times by request id. By order of arrival only where as many requests are told of as were sent (or as ended well):
 * else nobody knows which is whose, and nothing is joined. Requests that arrived at almost the same time are told apart by
 * their last tokens.
 */
export function joinPerfMetrics(
  records: readonly SentRecord[],
  metrics: readonly PerfMetrics[],
): ReadonlyMap<string, EngineTimes> {
  const sent = records.filter(({ sent_ms }) => sent_ms !== null);
  const ids = new Set(sent.map(({ request_id }) => request_id));
  const named = metrics.filter(({ id }) => id !== null && ids.has(id));
  if (named.length > 0)
    return new Map(named.map((told) => [told.id as string, timesOf(told, "by request id")]));
  const answered = sent.filter(({ status, last_token_ms }) => status === "ok" && last_token_ms !== null);
  const whose = [answered, sent].find((some) => some.length === metrics.length);
  if (whose === undefined) return new Map();
  const ours = [...whose].sort((a, b) => (a.sent_ms as Ms) - (b.sent_ms as Ms));
  const theirs = inClusters([...metrics].sort((a, b) => a.arrival_s - b.arrival_s));
  const joined = new Map<string, EngineTimes>();
  let from = 0;
  for (const cluster of theirs) {
    const mine = ours.slice(from, from + cluster.length);
    from += cluster.length;
    mine.sort((a, b) => (a.last_token_ms ?? Infinity) - (b.last_token_ms ?? Infinity));
    cluster.sort((a, b) => a.last_token_s - b.last_token_s);
    mine.forEach(({ request_id }, i) =>
      joined.set(request_id, timesOf(cluster[i] as PerfMetrics, "by arrival")),
    );
  }
  return joined;
}

/** Runs of arrivals each within {@link SAME_ARRIVAL_S} of the one before. */
function inClusters(sorted: readonly PerfMetrics[]): PerfMetrics[][] {
  const clusters: PerfMetrics[][] = [];
  let last = -Infinity;
  for (const told of sorted) {
    if (told.arrival_s - last > SAME_ARRIVAL_S) clusters.push([]);
    clusters[clusters.length - 1]?.push(told);
    last = told.arrival_s;
  }
  return clusters;
}

function timesOf(told: PerfMetrics, how: string): EngineTimes {
  const ms = (from: number, to: number): Ms => Math.max(0, to - from) * 1000;
  return {
    queue_ms: ms(told.arrival_s, told.scheduled_s),
    prefill_ms: ms(told.scheduled_s, told.first_token_s),
    decode_ms: ms(told.first_token_s, told.last_token_s),
    cached_tokens: null,
    source: `trtllm perf_metrics, ${how}`,
    ...(told.reused_blocks === null ? {} : { reused_blocks: told.reused_blocks }),
  };
}

/** Collects while a run lasts. A server that does not answer is not asked again. */
export class PerfDrain {
  readonly #url: string;
  readonly #call: HttpCall;
  readonly #clock: Clock;
  readonly #told: PerfMetrics[] = [];
  readonly #stop = new AbortController();
  #absent = false;
  #loop: Promise<void> | null = null;

  constructor(url: string, call: HttpCall, clock: Clock) {
    this.#url = url;
    this.#call = call;
    this.#clock = clock;
  }

  /** Reads away what is there of earlier requests; resolves when that is done. */
  async start(): Promise<void> {
    await this.#read();
    this.#told.length = 0;
    this.#loop = this.#run();
  }

  /** Everything since the start. */
  async stop(): Promise<readonly PerfMetrics[]> {
    this.#stop.abort(new Error("stopped"));
    await this.#loop;
    await this.#read();
    return this.#told;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted && !this.#absent) {
      try {
        await sleep(this.#clock, EVERY_MS, this.#stop.signal);
      } catch {
        return;
      }
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    if (this.#absent) return;
    try {
      const reply = await this.#call("GET", this.#url);
      if (reply.status === 200)
        for (const told of readPerfMetrics(JSON.parse(reply.body))) this.#told.push(told);
      else this.#absent = true;
    } catch {
      // Once silent, or not JSON: what it told before still stands.
    }
  }
}
