/**
 * What agents show and token-level benchmarks hide (DESIGN, section 4), in shape, on the simulator: batch size against
 * jobs, the eviction cliff, host memory, fan-out. The load is driven by hand (sim-agents.ts).
 */
import { describe, expect, it } from "vitest";
import type { SimConfigInput } from "../../src/sim/index.ts";
import { runAgents, type AgentLoad, type AgentResult } from "./sim-agents.ts";

const LOAD: AgentLoad = {
  users: 32,
  turns: 6,
  shared_tokens: 2000,
  turn_tokens: 600,
  output_tokens: 200,
  tool_ms: 1000,
  window_ms: 240_000,
};

async function sweep<T>(
  values: readonly T[],
  run: (value: T) => Promise<AgentResult>,
): Promise<AgentResult[]> {
  const results: AgentResult[] = [];
  for (const value of values) results.push(await run(value));
  return results;
}

describe("agents on the simulator", () => {
  it("a larger batch lowers tokens/s/user throughout, while jobs/h rise to a peak and fall", async () => {
    // CUDA graphs up to 16: a larger batch runs eagerly, and a step then takes as long as its launches.
    const config: SimConfigInput = {
      model: "llama-3.1-8b",
      gpu: "h200",
      tensor_parallel_size: 4,
      cudagraph_capture_sizes: [1, 2, 4, 8, 16],
    };
    const load = { ...LOAD, shared_tokens: 500, turn_tokens: 10, output_tokens: 300 };
    const results = await sweep([1, 2, 4, 8, 16, 32], (max_num_seqs) =>
      runAgents({ ...config, max_num_seqs }, load),
    );
    const speed = results.map((result) => result.tokens_per_s_user);
    expect(speed).toEqual([...speed].sort((a, b) => b - a));
    expect(speed[0]).toBeGreaterThan(2 * (speed[5] as number));
    const jobs = results.map((result) => result.jobs_per_hour);
    expect(jobs.slice(0, 5)).toEqual(jobs.slice(0, 5).sort((a, b) => a - b));
    expect(jobs[4]).toBeGreaterThan(5 * (jobs[0] as number));
    expect(jobs[5]).toBeLessThan(0.8 * (jobs[4] as number));
    // And why: at small batches nearly all the time is queueing.
    expect(results[0]?.mean_queue_ms).toBeGreaterThan(20 * (results[4]?.mean_queue_ms as number));
  });

  const SMALL_POOL: SimConfigInput = {
    model: "qwen3-32b",
    gpu: "h100",
    tensor_parallel_size: 2,
    num_gpu_blocks: 6000,
  };
  /** A job of 8 turns ends at 2000 + 8 x 800 = 8400 tokens; 6000 blocks hold 96,000: about 14 of them. */
  const GROWING: AgentLoad = { ...LOAD, turns: 8 };

  it("the hit rate falls off a cliff once the agents' prefixes overflow the KV pool", async () => {
    const users = [4, 8, 16, 24, 32];
    const results = await sweep(users, (n) => runAgents(SMALL_POOL, { ...GROWING, users: n }));
    const [few, some, most, over, far] = results.map((result) => result.hit_rate) as [
      number,
      number,
      number,
      number,
      number,
    ];
    // Over 8 turns prompts sum to 8·2000 + 600·36 + 200·28 = 43,200 tokens, of which 8·600 are new: 0.889 at best. Jobs
    // cut by the window's end leave a little more of the early turns.
    for (const rate of [few, some, most]) expect(Math.abs(rate - 0.889)).toBeLessThan(0.03);
    expect(over).toBeLessThan(0.75);
    expect(far).toBeLessThan(over);
    // The jobs bend at the same place: half as many agents again, and fewer jobs.
    expect(results[3]?.jobs_per_hour).toBeLessThan(results[2]?.jobs_per_hour as number);
  });

  it("host memory moves the cliff back", async () => {
    const load = { ...GROWING, users: 24 };
    const without = await runAgents(SMALL_POOL, load);
    const with_host = await runAgents({ ...SMALL_POOL, host_cache_gb: 60 }, load);
    expect(without.hit_rate).toBeLessThan(0.75);
    expect(with_host.hit_rate).toBeGreaterThan(0.87);
    expect(with_host.jobs_per_hour).toBeGreaterThan(1.2 * without.jobs_per_hour);
    // A host tier that is too small moves it only a little.
    const little = await runAgents({ ...SMALL_POOL, host_cache_gb: 1 }, load);
    expect(little.hit_rate).toBeLessThan(with_host.hit_rate - 0.05);
  });

  it("one branch wants a batch of C; agents that fan out want two to four times C", async () => {
    const config: SimConfigInput = { model: "llama-3.1-8b", gpu: "h200" };
    const jobs = async (branches: number): Promise<number[]> => {
      const load = { ...LOAD, users: 8, branches };
      const results = await sweep([8, 16, 32, 64], (max_num_seqs) =>
        runAgents({ ...config, max_num_seqs }, load),
      );
      return results.map((result) => result.jobs_per_hour);
    };
    const [single, ...wider] = (await jobs(1)) as [number, ...number[]];
    for (const value of wider) expect(value).toBe(single);
    const [at_c, at_2c, at_4c, at_8c] = (await jobs(4)) as [number, number, number, number];
    expect(at_2c).toBeGreaterThan(1.3 * at_c);
    expect(at_4c).toBeGreaterThan(1.05 * at_2c);
    expect(at_8c).toBe(at_4c);
  });
});
