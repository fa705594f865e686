/** A small agent trace and a run of it on the in-process simulator, for tests of sweeps and comparisons. */
import { writeFileSync } from "node:fs";
import { RealClock } from "../../src/core/real-clock.ts";
import { createRng } from "../../src/core/random.ts";
import type { RunEnvironment } from "../../src/run/run-environment.ts";
import type { HttpCall } from "../../src/server/http-call.ts";

export const clock = new RealClock();

/** Growing prompts, a shared system prompt, sizes that differ from job to job. */
export function writeAgentTrace(path: string, jobs: number, turns: number): void {
  const rng = createRng("agent-trace");
  const lines: string[] = [];
  for (let job = 0; job < jobs; job++) {
    const size = rng.integer(1, 6);
    let blocks = [1, 2, 3, 4];
    for (let turn = 0; turn < turns; turn++) {
      blocks = [
        ...blocks,
        ...Array.from({ length: size }, (_unused, at) => 1000 * (job + 1) + 50 * turn + at),
      ];
      lines.push(
        JSON.stringify({
          request_id: `j${job}-${turn}`,
          job_id: `j${job}`,
          turn,
          arrival_ms: job * 40 + turn,
          prompt_tokens: 64 * blocks.length,
          hash_ids: blocks,
          block_tokens: 64,
          max_tokens: 16 * size,
          expected_output_tokens: 16 * size,
          think_ms: turn === 0 ? 0 : 30,
        }),
      );
    }
  }
  writeFileSync(path, `${lines.join("\n")}\n`);
}

export function quietEnvironment(warnings: string[] = []): RunEnvironment {
  return { clock, env: {}, warn: (text) => warnings.push(text), onInterrupt: () => () => undefined };
}

export const noHttp: HttpCall = (_method, url) => Promise.reject(new Error(`nobody asks ${url}`));
