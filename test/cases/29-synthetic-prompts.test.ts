import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { replay } from "../../src/cli/commands/replay.ts";
import { report } from "../../src/cli/commands/report.ts";
import type { Summary } from "../../src/metric/summary.ts";
import { loadBuiltinTokenizer } from "../../src/prompt/builtin-tokenizer.ts";
import { DONE, R, U } from "../stub/events.ts";
import { startStub } from "../stub/stub-server.ts";
import { chunk, head, LAST_CHUNK, response } from "../stub/wire.ts";
import { runCommand, summaryOf } from "../support/run-command.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-case-29-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ROWS = 4;
const LEVELS = 3;
const WARMUPS = 2;

/** Replays four prompts of 1,000 made-up tokens three times against one server that counts 1,027 in each. */
async function replayLevels(): Promise<{ summaries: Summary[]; prompts: string[]; folders: string[] }> {
  const trace = join(folder, "trace.jsonl");
  const rows = Array.from({ length: ROWS }, (_, at) => ({
    request_id: `r${at}`,
    job_id: `r${at}`,
    arrival_ms: at * 5,
    prompt_tokens: 1000,
    max_tokens: 2,
  }));
  writeFileSync(trace, rows.map((row) => JSON.stringify(row)).join("\n"));
  const body = Buffer.concat([
    chunk(R("a")),
    chunk(R("b")),
    chunk(U(2, { prompt_tokens: 1027, total_tokens: 1029 }) + DONE),
    Buffer.from(LAST_CHUNK),
  ]);
  const server = await startStub(({ path }) =>
    path.endsWith("/completions")
      ? [{ bytes: head("chunked") }, { at: 2, bytes: body }]
      : [{ bytes: response(["{}"], "length", { status: "404 Not Found" }) }],
  );
  try {
    const summaries: Summary[] = [];
    const folders: string[] = [];
    for (let level = 1; level <= LEVELS; level++) {
      const out = join(folder, `run-${level}`);
      const target = ["--base-url", server.url, "--model", "m", "--backend", "openai"];
      const load = ["--max-concurrency", String(level), "--num-warmups", String(WARMUPS)];
      const result = await runCommand(replay, [trace, ...target, ...load, "--json", "--out", out]);
      expect(result.err).toMatch(/built-in/);
      summaries.push(summaryOf(result.out));
      folders.push(out);
    }
    const prompts = server.requests
      .filter((request) => request.path.endsWith("/completions"))
      .map((request) => (JSON.parse(request.body) as { prompt: string }).prompt);
    return { summaries, prompts, folders };
  } finally {
    await server.close();
  }
}

describe("case 29: synthetic prompts", () => {
  const levels = replayLevels();

  it("have the length asked for, and never repeat: not at another level, not a warm-up", async () => {
    const { prompts } = await levels;
    const tokenizer = await loadBuiltinTokenizer();
    expect(prompts.length).toBe(LEVELS * (ROWS + WARMUPS));
    expect(prompts.map((prompt) => tokenizer.count(prompt))).toEqual(prompts.map(() => 1000));
    expect(new Set(prompts).size).toBe(prompts.length);
    // Not even their first words, which is what a prefix cache looks at: by chance alone one pair in a few thousand.
    expect(new Set(prompts.map((prompt) => prompt.split(" ").slice(0, 2).join(" "))).size).toBe(
      prompts.length,
    );
  });

  it("are counted as the server counts them, and the difference is shown", async () => {
    const { summaries, folders } = await levels;
    for (const summary of summaries) {
      expect(summary.counts.ok).toBe(ROWS);
      const perSecond = (ROWS * 1027 * 1000) / (summary.window_ms as number);
      expect(summary.throughput.input_tokens_per_s).toBeCloseTo(perSecond, 3);
      expect(summary.fidelity.prompt_tokens).toMatchObject({
        n: ROWS,
        planned_mean: 1000,
        achieved_mean: 1027,
      });
      expect(summary.fidelity.prompt_tokens.bias_share).toBeCloseTo(0.027, 6);
    }
    const shown = await runCommand(report, [folders[0] as string]);
    expect(shown.out).toMatch(/2\.7\d* ?%/);
  });
});
