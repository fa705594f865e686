/** What engines say of one request besides the protocol: their own times. */
import type { Delta } from "../protocol.ts";
import { asCount, asFields, asTime, type Fields } from "./json-event.ts";

/** llama.cpp's `timings`: ms. `prompt_n` counts the tokens that were computed, `cache_n` those taken from the cache. */
export function readTimings(object: Fields, delta: Delta): void {
  const timings = asFields(object["timings"]);
  if (timings === null) return;
  const cached = asCount(timings["cache_n"]);
  const computed = asCount(timings["prompt_n"]);
  delta.engine = {
    queue_ms: null,
    prefill_ms: asTime(timings["prompt_ms"]),
    decode_ms: asTime(timings["predicted_ms"]),
    cached_tokens: cached,
    source: "llama.cpp timings",
  };
  delta.cached_tokens ??= cached;
  delta.output_tokens ??= asCount(timings["predicted_n"]);
  if (computed !== null && cached !== null) delta.prompt_tokens ??= computed + cached;
}

/**
 * vLLM's `metrics`, where it was started with `--enable-per-request-metrics`: ms. Its "time to first token" begins when the
 * request was scheduled, so it is the prefill.
 */
export function readVllmMetrics(object: Fields, delta: Delta): void {
  const metrics = asFields(object["metrics"]);
  if (metrics === null) return;
  const queue = asTime(metrics["queue_time_ms"]);
  const prefill = asTime(metrics["time_to_first_token_ms"]);
  const decode = asTime(metrics["generation_time_ms"]);
  if (queue === null && prefill === null && decode === null) return;
  delta.engine = {
    queue_ms: queue,
    prefill_ms: prefill,
    decode_ms: decode,
    cached_tokens: null,
    source: "vllm metrics",
  };
}

/** The simulated engine's `reprise_sim`: queue, prefill and decode time, ms. */
export function readSimulated(object: Fields, delta: Delta): void {
  const times = asFields(object["reprise_sim"]);
  if (times === null) return;
  delta.engine = {
    queue_ms: asTime(times["queue_ms"]),
    prefill_ms: asTime(times["prefill_ms"]),
    decode_ms: asTime(times["decode_ms"]),
    cached_tokens: asCount(times["cached_tokens"]),
    source: "sim",
  };
}

/** SGLang's `meta_info`: counts, and times in seconds where the server was started with metrics. */
export function readMetaInfo(meta: Fields, delta: Delta): void {
  delta.prompt_tokens = asCount(meta["prompt_tokens"]) ?? delta.prompt_tokens;
  delta.output_tokens = asCount(meta["completion_tokens"]) ?? delta.output_tokens;
  const cached = asCount(meta["cached_tokens"]);
  delta.cached_tokens = cached ?? delta.cached_tokens;
  const queue = asTime(meta["queue_time"]);
  const prefill = asTime(meta["prefill_time"]);
  const decode = asTime(meta["decode_time"]);
  if (cached === null && queue === null && prefill === null && decode === null) return;
  delta.engine = {
    queue_ms: queue === null ? null : queue * 1000,
    prefill_ms: prefill === null ? null : prefill * 1000,
    decode_ms: decode === null ? null : decode * 1000,
    cached_tokens: cached,
    source: "sglang meta_info",
  };
}

/**
 * FastDeploy's `choices[0].arrival_time`: seconds since inference began, so without queueing. The first one is the
 * prefill, last − first is the decode; all are kept, since its result file is made of them.
 */
export class ArrivalTimes {
  readonly #seconds: number[] = [];

  read(choice: Fields, delta: Delta): void {
    const at = asTime(choice["arrival_time"]);
    if (at === null) return;
    this.#seconds.push(at);
    const first = this.#seconds[0] as number;
    delta.engine = {
      queue_ms: null,
      prefill_ms: first * 1000,
      decode_ms: at < first ? null : (at - first) * 1000,
      cached_tokens: null,
      source: "fastdeploy arrival_time",
      arrival_s: this.#seconds,
    };
  }
}
