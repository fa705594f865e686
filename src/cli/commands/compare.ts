/** `reprise compare RUN RUN...` */
import { plainJson } from "../../core/terminal-text.ts";
import {
  compareRuns,
  comparisonJson,
  DEFAULT_STATISTICS,
  judgeGates,
  parseGate,
  parseStatistic,
  renderComparisonMarkdown,
  renderComparisonTerminal,
  repeatGroups,
  samplesOf,
  type Comparison,
  type GateVerdict,
  type RunSamples,
} from "../../compare/index.ts";
import { EXIT, UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import type { RunAnalysis } from "../../metric/index.ts";
import { JOB_METRIC_IDS } from "../../metric/job/index.ts";
import { REQUEST_METRIC_IDS } from "../../metric/request/index.ts";
import { analyzeFolder, summaryFlags } from "../../run/analyze-run.ts";
import { measureOptions } from "../../run/options/measure-options.ts";
import { choice, integer, list, option, repeated, text, toggle } from "../../run/options/option.ts";
import { openOutput } from "../output-file.ts";
import { verb } from "../verb.ts";

const COMPARISON = "Comparison";
const OUTPUT = "Output";
const METRICS: readonly string[] = [...JOB_METRIC_IDS, ...REQUEST_METRIC_IDS];
const RENDERERS = { terminal: renderComparisonTerminal, md: renderComparisonMarkdown } as const;

export const compare = verb({
  name: "compare",
  summary: "compares runs of the same work job by job, with confidence intervals and gates",
  positionals: [{ name: "RUN...", help: "run folders; the first is the baseline", required: true }],
  options: {
    gate: option(
      repeated(text("<expression>")),
      COMPARISON,
      'exit 1 when shown to be worse: "p99(job_e2e) <= +5%"',
    ),
    statistic: option(
      list(text("<stat(metric)>")),
      COMPARISON,
      "what to compare, as in p90(ttft) mean(job_e2e)",
    ),
    seed: option(integer({ min: 0 }), COMPARISON, "seed of the resampling", { defaultText: "0" }),
    baseline_runs: option(
      integer({ min: 1 }),
      COMPARISON,
      "the first n runs are repeats of the baseline, the others repeats of what is compared with it (default: told from their options)",
    ),
    anyway: option(toggle(), COMPARISON, "compare although the work differs; no gate is decided then"),
    job_budget: measureOptions.job_budget,
    format: option(choice("terminal", "md", "json"), OUTPUT, "how to show it", { defaultText: "terminal" }),
    json: option(toggle(), OUTPUT, "the same as --format json"),
    output: option(text("<file>"), OUTPUT, "write there instead of standard output", { short: "-o" }),
  },
  examples: [
    "reprise compare runs/main runs/pull-request",
    'reprise compare runs/main runs/pull-request --gate "p99(job_e2e) <= +5%" --format md -o comment.md',
  ],
  async run(given, folders, io) {
    if (folders.length < 2)
      throw new UserError("compare takes two runs or more", { hint: "reprise compare BASELINE RUN" });
    const format = given.json === true ? "json" : (given.format ?? "terminal");
    const gates = (given.gate ?? []).map((gate) => parseGate(gate, METRICS));
    const statistics =
      given.statistic?.map((word) => parseStatistic(word, METRICS, "--statistic")) ?? DEFAULT_STATISTICS;
    const analyses: RunAnalysis[] = [];
    for (const folder of folders)
      analyses.push(await analyzeFolder(folder, summaryFlags(given as JsonObject)));
    const names = namesOf(
      folders,
      analyses.map(({ manifest }) => manifest.label),
    );
    const runs = analyses.map((analysis, index) =>
      samplesOf(analysis, folders[index] as string, names[index] as string),
    );
    const told = given.baseline_runs;
    if (told !== undefined && told >= runs.length)
      throw new UserError(`--baseline-runs ${told} leaves no run to compare`, { hint: "give more runs" });
    const groups = told === undefined ? repeatGroups(runs) : [runs.slice(0, told), runs.slice(told)];
    const [baseline = [], ...others] = sidesOf(runs, groups);
    const judged = others.map((side): { comparison: Comparison; gate: GateVerdict | null } => {
      const comparison = compareRuns(baseline[0] as RunSamples, side[0] as RunSamples, {
        statistics,
        seed: given.seed ?? 0,
        more: { a: baseline.slice(1), b: side.slice(1) },
        repeats: groups,
        anyway: given.anyway ?? false,
      });
      return { comparison, gate: gates.length === 0 ? null : judgeGates(comparison, gates) };
    });
    const output = openOutput(given.output ?? null, io);
    if (format === "json") {
      const all = judged.map(({ comparison, gate }) => comparisonJson(comparison, gate));
      await output.write(`${plainJson(JSON.stringify(all.length === 1 ? all[0] : all, null, 2))}\n`);
    } else {
      const parts = judged.map(({ comparison, gate }) => RENDERERS[format](comparison, gate));
      await output.write(parts.join("\n"));
    }
    await output.close();
    return judged.some(({ gate }) => gate?.passed === false) ? EXIT.missed : EXIT.good;
  },
});

/** Repeats of a configuration are one side. Runs that are all repeats of one are compared one by one: that shows the noise. */
function sidesOf(
  runs: readonly RunSamples[],
  groups: readonly (readonly RunSamples[])[],
): readonly (readonly RunSamples[])[] {
  return groups.length === 1 ? runs.map((run) => [run]) : groups;
}

/** Each run's label where all have one of their own; else the folder's name; else its path. */
function namesOf(folders: readonly string[], labels: readonly (string | null)[]): readonly string[] {
  const names = folders.map((folder) => folder.replace(/\/+$/, "").split("/").at(-1) ?? folder);
  const distinct = (words: readonly (string | null)[]): words is readonly string[] =>
    !words.includes(null) && new Set(words).size === words.length;
  return [labels, names].find(distinct) ?? folders;
}
