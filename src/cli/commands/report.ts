/** `reprise report RUN` */
import { EXIT, UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import { measureOptions } from "../../run/options/measure-options.ts";
import { option, text, toggle } from "../../run/options/option.ts";
import { findReportFormat, REPORT_FORMATS } from "../../report/index.ts";
import { analyzeFolder, summaryFlags } from "../../run/analyze-run.ts";
import { showReport } from "../finish-run.ts";
import { reportPage } from "../../ui/report-page.ts";
import { openOutput } from "../output-file.ts";
import { verb } from "../verb.ts";

const G = "Output";

export const report = verb({
  name: "report",
  summary: "recomputes every number of a run from its log",
  positionals: [{ name: "RUN...", help: "run folder; html takes several", required: true }],
  options: {
    format: option(
      text("<name>"),
      G,
      `one of: ${REPORT_FORMATS.map(({ name, title }) => `${name} (${title})`).join(", ")}`,
      {
        defaultText: "terminal; html for a file that ends in .html",
      },
    ),
    json: option(toggle(), G, "the same as --format json"),
    output: option(text("<file>"), G, "write there instead of standard output", { short: "-o" }),
    table: option(
      text("<name>"),
      G,
      "csv: which table: jobs, requests or metrics; vllm, fastdeploy, trace-replayer: printed",
    ),
    detailed: option(toggle(), G, "vllm, fastdeploy: one entry a request, as with --save-detailed"),
    ...measureOptions,
  },
  examples: [
    "reprise report runs/20260131-120000-agents-my-model",
    "reprise report RUN --format csv --table jobs -o jobs.csv",
    "reprise report RUN --format vllm -o result.json",
    'reprise report RUN --job-budget 90s --slo "p95(job_e2e) <= 60s"',
    "reprise report runs/batch-2 runs/batch-8 -o report.html",
  ],
  async run(given, folders, io) {
    const [folder, ...more] = folders;
    if (folder === undefined) throw new UserError("report takes a RUN", { hint: "name a run folder" });
    if (given.json === true && given.format !== undefined && given.format !== "json")
      throw new UserError(`--json and --format ${given.format} contradict each other`);
    const byName = /\.html?(\.gz)?$/i.test(given.output ?? "") ? "html" : "terminal";
    const format = findReportFormat(given.json === true ? "json" : (given.format ?? byName)).name;
    if (given.table !== undefined && ["terminal", "json", "md", "html"].includes(format))
      throw new UserError(`--table: ${format} has no tables to choose from`, { hint: "--format csv has" });
    if (format === "html") {
      const output = openOutput(given.output ?? null, io);
      for await (const part of reportPage({ folders, flags: summaryFlags(given as JsonObject) }))
        await output.write(part);
      await output.close();
      return 0;
    }
    if (more.length > 0)
      throw new UserError(`${format} reports one RUN at a time`, {
        hint: "several go into one page with -o report.html, or into reprise compare",
      });
    const analysis = await analyzeFolder(folder, summaryFlags(given as JsonObject));
    const output = openOutput(given.output ?? null, io);
    const toTerminal = given.output === undefined || given.output === "-";
    await showReport(
      analysis,
      folder,
      format,
      { colour: toTerminal && io.colour, out: (part) => output.write(part) },
      given.table ?? null,
      given.detailed ?? null,
    );
    await output.close();
    // An objective asked for here is judged here; those of the run itself were judged at its end.
    const isMissed = given.slo !== undefined && analysis.summary.objectives.some(({ met }) => !met);
    return isMissed ? EXIT.missed : EXIT.good;
  },
});
