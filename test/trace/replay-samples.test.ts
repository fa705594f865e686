/**
 * Every sample trace is replayed on the simulated engine (virtual time): every turn is sent and ends ok, and the tokens that the
 * engine counted are those that an independent parser counted in the file.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { RealClock } from "../../src/core/real-clock.ts";
import { analyzeFolder } from "../../src/run/analyze-run.ts";
import { runReplay } from "../../src/run/replay.ts";

interface Expected {
  readonly file: string;
  readonly format: string;
  readonly jobs: number;
  readonly turns: number;
  readonly prompt_tokens: number | null;
  readonly output_tokens: number | null;
  readonly open?: readonly string[];
  readonly refuse?: readonly number[];
}

const DATA = fileURLToPath(new URL("../../../shared/data/", import.meta.url));
const present = existsSync(join(DATA, "expected.json"));
const entries = present ? (JSON.parse(readFileSync(join(DATA, "expected.json"), "utf8")) as Expected[]) : [];
const out = mkdtempSync(join(tmpdir(), "reprise-samples-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

/** The largest sample (76 million prompt tokens) takes seconds on a quiet machine, and much longer on a busy one. */
const SLOW_MS = 180_000;

/** The engine must hold the longest prompt of the samples. */
const ENGINE = { model: "llama-3.1-8b", gpu: "h200", max_num_seqs: "64" };

describe.skipIf(!present)("samples (skipped where ../shared/data is not there)", () => {
  it.each(entries.map((entry) => [entry.file, entry] as const))(
    "%s",
    async (file, entry) => {
      const finished = await runReplay(
        {
          given: {
            backend: "sim",
            virtual_time: true,
            sim: ENGINE,
            seed: 1,
            timeline: "none",
            out: join(out, file.replaceAll("/", "_")),
            skip_bad: entry.refuse !== undefined,
          },
          tracePath: join(DATA, file),
          command: "replay",
        },
        { clock: new RealClock(), env: {}, warn: () => {}, onInterrupt: () => () => {} },
      );
      const { summary } = await analyzeFolder(finished.folder, {});
      expect(summary.failures).toEqual({});
      expect(summary.counts).toMatchObject({ planned: entry.turns, sent: entry.turns, ok: entry.turns });
      const open = entry.open ?? [];
      if (!open.includes("jobs"))
        expect(summary.jobs.counts).toMatchObject({ total: entry.jobs, ok: entry.jobs });
      const { prompt_tokens, output_tokens } = summary.fidelity;
      const bareLengths =
        prompt_tokens.n === entry.turns && summary.fidelity.provenance["prompt_text"] === "made up";
      if (entry.prompt_tokens !== null && !open.includes("prompt_tokens") && bareLengths)
        expect(Math.round((prompt_tokens.achieved_mean ?? 0) * prompt_tokens.n)).toBe(entry.prompt_tokens);
      if (entry.output_tokens !== null && !open.includes("output_tokens") && output_tokens.n === entry.turns)
        expect(Math.round((output_tokens.achieved_mean ?? 0) * output_tokens.n)).toBe(entry.output_tokens);
    },
    SLOW_MS,
  );
});
