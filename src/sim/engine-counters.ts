/** What the engine counts, with the meaning vLLM gives the metric of the same name. Counters never fall. */
import type { SequenceEnd } from "./sequence.ts";
import { Histogram } from "./histogram.ts";

// Bounds in seconds (or tokens), as vLLM's.
const LATENCY = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];
const FIRST_TOKEN = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
  2560,
];
const TOKEN_GAP = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const LENGTH = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000,
];
const STEP_TOKENS = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];

export class EngineCounters {
  prompt_tokens = 0;
  generation_tokens = 0;
  /** Finished requests by reason. */
  readonly finished = { stop: 0, length: 0, abort: 0 };
  steps = 0;
  /** Time spent in steps, ms. */
  busy_ms = 0;
  /** Steps that ran without a CUDA graph. */
  eager_steps = 0;
  loaded_blocks = 0;
  stored_blocks = 0;
  readonly time_to_first_token = new Histogram(FIRST_TOKEN);
  readonly inter_token = new Histogram(TOKEN_GAP);
  readonly time_per_output_token = new Histogram(TOKEN_GAP);
  readonly e2e = new Histogram(LATENCY);
  readonly queue = new Histogram(LATENCY);
  readonly prefill = new Histogram(LATENCY);
  readonly decode = new Histogram(LATENCY);
  readonly inference = new Histogram(LATENCY);
  readonly request_prompt_tokens = new Histogram(LENGTH);
  readonly request_generation_tokens = new Histogram(LENGTH);
  readonly iteration_tokens = new Histogram(STEP_TOKENS);

  /** Takes in a request that ended by itself. */
  finish(end: SequenceEnd): void {
    this.finished[end.reason]++;
    const seconds = 1 / 1000;
    this.queue.observe(end.queue_ms * seconds);
    this.prefill.observe(end.prefill_ms * seconds);
    this.decode.observe(end.decode_ms * seconds);
    this.inference.observe((end.prefill_ms + end.decode_ms) * seconds);
    this.e2e.observe((end.queue_ms + end.prefill_ms + end.decode_ms) * seconds);
    if (end.output_tokens > 1) {
      this.time_per_output_token.observe((end.decode_ms * seconds) / (end.output_tokens - 1));
    }
    this.request_prompt_tokens.observe(end.prompt_tokens);
    this.request_generation_tokens.observe(end.output_tokens);
  }
}
