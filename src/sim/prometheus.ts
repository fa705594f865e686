/** `/metrics`: the engine's counters as Prometheus text under vLLM's names, and a gauge that says it is simulated. */
import type { SimEngine } from "./engine.ts";
import type { Histogram } from "./histogram.ts";

const quote = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

/** The whole page. */
export function renderMetrics(engine: SimEngine): string {
  const { sim, counters } = engine;
  const stats = engine.stats();
  const labels = `engine="0",model_name="${quote(sim.served_name)}"`;
  const lines: string[] = [];
  const head = (name: string, type: string, help: string): void => {
    lines.push(`# HELP vllm:${name} ${help}`, `# TYPE vllm:${name} ${type}`);
  };
  const gauge = (name: string, help: string, value: number): void => {
    head(name, "gauge", help);
    lines.push(`vllm:${name}{${labels}} ${value}`);
  };
  const counter = (name: string, help: string, value: number): void => {
    head(name, "counter", help);
    lines.push(`vllm:${name}_total{${labels}} ${value}`);
  };
  const histogram = (name: string, help: string, data: Histogram): void => {
    head(name, "histogram", help);
    let below = 0;
    data.counts.forEach((count, i) => {
      below += count;
      const bound = data.bounds[i];
      lines.push(`vllm:${name}_bucket{${labels},le="${bound === undefined ? "+Inf" : bound}"} ${below}`);
    });
    lines.push(`vllm:${name}_sum{${labels}} ${data.sum}`, `vllm:${name}_count{${labels}} ${data.count}`);
  };

  gauge("num_requests_running", "Requests in the batch.", stats.running);
  gauge("num_requests_waiting", "Requests in the queue.", stats.waiting);
  gauge("kv_cache_usage_perc", "Share of KV blocks in use, 1 = all.", stats.kv_usage);
  counter("num_preemptions", "Preemptions.", stats.preemptions);
  counter("prompt_tokens", "Prompt tokens of requests that got their first token.", counters.prompt_tokens);
  counter("generation_tokens", "Tokens generated.", counters.generation_tokens);
  counter("prefix_cache_queries", "Tokens looked up in the prefix cache.", stats.cache.queries);
  counter("prefix_cache_hits", "Tokens found in the prefix cache.", stats.cache.hits);
  counter("external_prefix_cache_queries", "Tokens looked up in host memory.", stats.cache.external_queries);
  counter("external_prefix_cache_hits", "Tokens found in host memory.", stats.cache.external_hits);
  head("request_success", "counter", "Ended requests by reason.");
  for (const [reason, count] of Object.entries(counters.finished)) {
    lines.push(`vllm:request_success_total{${labels},finished_reason="${reason}"} ${count}`);
  }
  histogram("time_to_first_token_seconds", "Arrival to first token.", counters.time_to_first_token);
  histogram("inter_token_latency_seconds", "Token to token.", counters.inter_token);
  histogram(
    "request_time_per_output_token_seconds",
    "Mean token gap of a request.",
    counters.time_per_output_token,
  );
  histogram("e2e_request_latency_seconds", "Arrival to last token.", counters.e2e);
  histogram("request_queue_time_seconds", "Arrival to first scheduled.", counters.queue);
  histogram("request_prefill_time_seconds", "First scheduled to first token.", counters.prefill);
  histogram("request_decode_time_seconds", "First token to last token.", counters.decode);
  histogram("request_inference_time_seconds", "First scheduled to last token.", counters.inference);
  histogram("request_prompt_tokens", "Prompt tokens of ended requests.", counters.request_prompt_tokens);
  histogram(
    "request_generation_tokens",
    "Output tokens of ended requests.",
    counters.request_generation_tokens,
  );
  histogram("iteration_tokens_total", "Tokens scheduled a step.", counters.iteration_tokens);
  head("cache_config_info", "gauge", "KV cache configuration.");
  lines.push(
    `vllm:cache_config_info{block_size="${sim.config.block_size}",enable_prefix_caching="${sim.config.enable_prefix_caching}",engine="0",gpu_memory_utilization="${sim.config.gpu_memory_utilization}",num_gpu_blocks="${sim.num_gpu_blocks}"} 1`,
    "# HELP reprise_sim_info This engine is a simulation.",
    "# TYPE reprise_sim_info gauge",
    `reprise_sim_info{model="${quote(sim.model.name)}",gpu="${quote(sim.gpu.name)}",gpus="${sim.config.tensor_parallel_size}"} 1`,
    "# HELP reprise_sim_eager_steps_total Steps without a CUDA graph.",
    "# TYPE reprise_sim_eager_steps_total counter",
    `reprise_sim_eager_steps_total ${counters.eager_steps}`,
    "# HELP reprise_sim_steps_total Engine steps.",
    "# TYPE reprise_sim_steps_total counter",
    `reprise_sim_steps_total ${counters.steps}`,
    "# HELP reprise_sim_max_lag_ms How far the simulator fell behind its own schedule at the worst.",
    "# TYPE reprise_sim_max_lag_ms gauge",
    `reprise_sim_max_lag_ms ${stats.max_lag_ms}`,
  );
  return `${lines.join("\n")}\n`;
}
