/** `reprise report RUN` */
import { UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import { measureOptions } from "../../run/options/measure-options.ts";
import { option, text, toggle } from "../../run/options/option.ts";
import { findReportFormat, REPORT_FORMATS } from "../../report/index.ts";
import { analyzeFolder, summaryFlags } from "../../run/analyze-run.ts";
import { showReport } from "../finish-run.ts";
import { openOutput } from "../output-file.ts";
import { verb } from "../verb.ts";

const G = "Output";

export const report = verb({
  name: "report",
  summary: "recomputes every number of a run from its log",
  positionals: [{ name: "RUN", help: "run folder", required: true }],
  options: {
    format: option(
      text("<name>"),
      G,
      `one of: ${REPORT_FORMATS.map(({ name, title }) => `${name} (${title})`).join(", ")}`,
      {
        defaultText: "terminal",
      },
    ),
    json: option(toggle(), G, "the same as --format json"),
    output: option(text("<file>"), G, "write there instead of standard output", { short: "-o" }),
    table: option(text("<name>"), G, "csv: which table: jobs, requests or metrics"),
    ...measureOptions,
  },
  examples: [
    "reprise report runs/20260131-120000-agents-my-model",
    "reprise report RUN --format csv --table jobs -o jobs.csv",
    'reprise report RUN --job-budget 90s --slo "p95(job_e2e) <= 60s"',
  ],
  async run(given, [folder, ...more], io) {
    if (folder === undefined || more.length > 0) throw new UserError("report takes one RUN");
    if (given.json === true && given.format !== undefined && given.format !== "json")
      throw new UserError(`--json and --format ${given.format} contradict each other`);
    const format = findReportFormat(given.json === true ? "json" : (given.format ?? "terminal")).name;
    const analysis = await analyzeFolder(folder, summaryFlags(given as JsonObject));
    const output = openOutput(given.output ?? null, io);
    const toTerminal = given.output === undefined || given.output === "-";
    await showReport(
      analysis,
      folder,
      format,
      { colour: toTerminal && io.colour, out: (part) => output.write(part) },
      given.table ?? null,
    );
    await output.close();
    return 0;
  },
});
