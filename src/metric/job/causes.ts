/** What the time of a job went to. They add up to `job_e2e`. */
export const CAUSES = [
  /** Think and tool time from the trace. */
  "tool",
  /** Lateness of the load generator. */
  "client",
  /** Waiting for a slot of `--max-concurrency`. */
  "slot",
  /** DNS, TCP, TLS. */
  "connect",
  /** `ttft` − prefill: waiting in the engine, the network in it. */
  "engine_queue",
  "prefill",
  /** First → last token. */
  "decode",
  /** Last token → end. */
  "tail",
  /** `sent` → `end` of a turn without a first token. */
  "unsplit",
] as const;

export type Cause = (typeof CAUSES)[number];
