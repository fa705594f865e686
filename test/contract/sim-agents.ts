/**
 * A closed loop of agents on the simulated engine, written by hand so that nothing of the dispatcher takes part: C jobs
 * at a time, each a chain of turns whose prompt holds everything said before, tool calls as waits.
 */
import { VirtualClock } from "../../src/core/virtual-clock.ts";
import { createRng } from "../../src/core/random.ts";
import { createSimEngine, digestPrompt, type SequenceEnd, type SimConfigInput } from "../../src/sim/index.ts";

export interface AgentLoad {
  readonly users: number;
  readonly turns: number;
  /** System prompt and tools, equal in all jobs. */
  readonly shared_tokens: number;
  /** New in each turn beside the answer before: tool output. */
  readonly turn_tokens: number;
  readonly output_tokens: number;
  readonly tool_ms: number;
  /** Parallel branches of each turn (1 = a single branch); the next turn waits for all. */
  readonly branches?: number;
  readonly window_ms: number;
}

export interface AgentResult {
  readonly jobs_per_hour: number;
  /** 1000 ÷ mean token gap. */
  readonly tokens_per_s_user: number;
  /** Σ cached ÷ Σ prompt tokens. */
  readonly hit_rate: number;
  readonly mean_queue_ms: number;
  readonly preemptions: number;
}

/** Runs the load for its window of virtual time; only jobs that end inside it count. */
export async function runAgents(config: SimConfigInput, load: AgentLoad): Promise<AgentResult> {
  const clock = new VirtualClock();
  const engine = createSimEngine(config, clock, 1);
  const { block_size } = engine.sim.config;
  const rng = createRng("agents");
  const branches = load.branches ?? 1;
  let jobs = 0;
  let requests = 0;
  let prompt = 0;
  let cached = 0;
  let queue = 0;
  let gap = 0;
  let gaps = 0;
  let next_id = 10_000;

  const startJob = (): void => {
    // Everything this job says and is told has ids of its own behind the shared head.
    const history = Array.from({ length: load.shared_tokens }, (_, i) => i + 100);
    const turn = (number: number): void => {
      if (number === load.turns) {
        if (clock.now() <= load.window_ms) jobs++;
        startJob();
        return;
      }
      for (let i = 0; i < load.turn_tokens; i++) history.push(next_id++ % 2_000_000);
      let open = branches;
      const answers: number[] = [];
      const done = (end: SequenceEnd): void => {
        requests++;
        prompt += end.prompt_tokens;
        cached += end.cached_tokens;
        queue += end.queue_ms;
        if (end.output_tokens > 1) {
          gap += end.decode_ms;
          gaps += end.output_tokens - 1;
        }
        if (--open > 0) return;
        history.push(...answers);
        clock.at(clock.now() + load.tool_ms * (0.5 + rng.uniform()), () => turn(number + 1));
      };
      for (let branch = 0; branch < branches; branch++) {
        const ids = branch === 0 ? history : [...history, next_id++ % 2_000_000];
        engine.submit(
          {
            id: "",
            prompt: digestPrompt(ids, block_size),
            max_tokens: load.output_tokens,
            min_tokens: 0,
            ignore_eos: true,
            chat: false,
            seed: branch,
          },
          (id, _at, end) => {
            if (branch === 0) answers.push(id);
            if (end !== null) done(end);
          },
        );
      }
    };
    turn(0);
  };
  for (let user = 0; user < load.users; user++) clock.at(rng.uniform() * 5000, startJob);
  await clock.run(load.window_ms);
  return {
    jobs_per_hour: (jobs * 3_600_000) / load.window_ms,
    tokens_per_s_user: (1000 * gaps) / gap,
    hit_rate: cached / prompt,
    mean_queue_ms: queue / requests,
    preemptions: engine.stats().preemptions,
  };
}
