/** `reprise demo`: the whole story in under a minute, on virtual time, without a GPU and without a network. */
import { join } from "node:path";
import { UserError } from "../../core/failure.ts";
import { formatDuration } from "../../core/duration.ts";
import type { RunAnalysis } from "../../metric/index.ts";
import { writeRunJson } from "../../record/run-folder.ts";
import { renderComparison } from "../../report/comparison-table.ts";
import { analyzeFolder, summaryFlags } from "../../run/analyze-run.ts";
import { option, text, toggle } from "../../run/options/option.ts";
import type { ReplayGiven } from "../../run/options/replay-options.ts";
import { runReplay } from "../../run/replay.ts";
import type { JsonObject } from "../../core/json.ts";
import { reportPage } from "../../ui/report-page.ts";
import { openOutput } from "../output-file.ts";
import { packageFile } from "../package-file.ts";
import { runEnvironment } from "../run-environment.ts";
import { verb, type Io } from "../verb.ts";

/** Two sizes of the server's batch: one that keeps agents waiting, one that does not. */
const CONFIGURATIONS = [
  { name: "batch 2", settings: { max_num_seqs: "2" } },
  { name: "batch 8", settings: { max_num_seqs: "8" } },
] as const;

const BUDGET = "10m";
const G = "Options";

export const demo = verb({
  name: "demo",
  summary: "replays real coding agents on two configurations of a simulated engine, and compares them",
  positionals: [],
  options: {
    out: option(text("<folder>"), G, "where the two run folders go", { defaultText: "runs" }),
    json: option(toggle(), G, "print both summaries as one JSON object"),
  },
  examples: ["reprise demo"],
  async run(given, words, io) {
    if (words.length > 0) throw new UserError(`demo takes no arguments: "${words[0]}"`);
    const trace = packageFile("examples", "coding-agents");
    const started = io.clock.now();
    io.err(
      "13 recorded sessions of coding agents (26 jobs, two copies of each), 16 at a time, on a simulated Llama 3.1 8B on one H200.\n" +
        "Virtual time: hours of agents' work pass in seconds. No model runs; the times are a model's.\n",
    );
    const runs: { name: string; folder: string; analysis: RunAnalysis }[] = [];
    for (const { name, settings } of CONFIGURATIONS) {
      const options: ReplayGiven = {
        backend: "sim",
        virtual_time: true,
        sim: settings,
        pacing: "closed",
        max_concurrency: 16,
        copies: 2,
        max_gap: 10_000,
        job_budget: BUDGET,
        seed: 1,
        prompt_seed: 1,
        label: name,
        ...(given.out === undefined ? {} : { out: join(given.out, name.replace(" ", "-")) }),
      };
      const session = runEnvironment(io, { quiet: true });
      const finished = await runReplay(
        { given: options, tracePath: trace, command: "demo" },
        session.environment,
      ).finally(() => session.end());
      const analysis = await analyzeFolder(finished.folder, summaryFlags(options as JsonObject));
      writeRunJson(finished.folder, "summary.json", analysis.summary);
      runs.push({ name, folder: finished.folder, analysis });
      io.err(`${name}: ${finished.folder}\n`);
    }
    const page = await writePage(
      runs.map(({ folder }) => folder),
      given.out ?? null,
      io,
    );
    const compared = runs.map(({ name, analysis }) => ({ name, summary: analysis.summary }));
    if (given.json === true) {
      io.err(`page: ${page}\n`);
      await io.out(
        `${JSON.stringify(Object.fromEntries(compared.map(({ name, summary }) => [name, summary])), null, 2)}\n`,
      );
      return 0;
    }
    await io.out(`\n${answer(compared)}\n\n${renderComparison(compared, io.colour)}`);
    await io.out(
      `\nAs a page, job by job:    ${page}\nEvery number of one run:  reprise report ${runs[1]?.folder}\nYour own server:          reprise replay TRACE --base-url http://host:8000 --model NAME\n`,
    );
    io.err(`done in ${formatDuration(io.clock.now() - started)}\n`);
    return 0;
  },
});

/** The page of both runs: `report.html` in the folder that was asked for, else beside the first run under its name. */
async function writePage(folders: readonly string[], out: string | null, io: Io): Promise<string> {
  const path = out === null ? `${folders[0] ?? "demo"}-report.html` : join(out, "report.html");
  const file = openOutput(path, io);
  for await (const part of reportPage({ folders, flags: {} })) await file.write(part);
  await file.close();
  return path;
}

/** The question's answer in words: the configuration with fewer jobs over budget, and where the difference comes from. */
function answer(
  runs: readonly { readonly name: string; readonly summary: RunAnalysis["summary"] }[],
): string {
  const [best, other] = [...runs].sort(
    (a, b) => (a.summary.jobs.budget_miss_rate ?? 1) - (b.summary.jobs.budget_miss_rate ?? 1),
  );
  if (best === undefined || other === undefined) throw new Error("the demo compares two runs");
  const miss = ({ summary }: typeof best): string =>
    `${(100 * (summary.jobs.budget_miss_rate ?? 0)).toFixed(0)} %`;
  const p95 = ({ summary }: typeof best): string => formatDuration(summary.jobs.job_e2e["p95"] ?? 0);
  const speed = ({ summary }: typeof best): string => (summary.requests.output_tps["p50"] ?? 0).toFixed(0);
  const waiting = ({ summary }: typeof best): string => {
    const share = (summary.jobs.breakdown_ms.engine_queue ?? 0) / (summary.jobs.job_e2e.mean ?? 1);
    return `${(100 * share).toFixed(0)} %`;
  };
  return [
    `${best.name} is the one to run: ${miss(best)} of its jobs miss their ${BUDGET} budget, ${miss(other)} with ${other.name}; p95 of a job ${p95(best)} against ${p95(other)}.`,
    `Tokens a second alone would have said the opposite: ${speed(best)} tokens/s for one user against ${speed(other)}.`,
    `But with ${other.name}, ${waiting(other)} of a job's time is waiting in the engine's queue (${waiting(best)} with ${best.name}).`,
  ].join("\n");
}
