/** `reprise sweep CONFIG.yaml` */
import { basename, join } from "node:path";
import { formatDuration } from "../../core/duration.ts";
import { EXIT, UserError } from "../../core/failure.ts";
import { plainText } from "../../core/terminal-text.ts";
import { option, toggle } from "../../run/options/option.ts";
import { replayOptions } from "../../run/options/replay-options.ts";
import { createHttpCall } from "../../server/http-call.ts";
import { killAllServers } from "../../server/process.ts";
import {
  configJsonSchema,
  renderSweepTerminal,
  sweepConfigFile,
  sweepJson,
  type SweepProgress,
} from "../../sweep/index.ts";
import { runEnvironment } from "../run-environment.ts";
import { verb, type Io } from "../verb.ts";

/** Health, models, cache reset, metrics: a server that is slower than this is not ready. */
const SIDE_TIMEOUT_MS = 10_000;

/** A sweep writes no result files of other tools (`reprise report RUN --format vllm` does), and takes its file by position. */
const {
  save_result: _save,
  result_dir: _dir,
  result_filename: _name,
  table: _table,
  config: _config,
  ...cellOptions
} = replayOptions;

export const sweep = verb({
  name: "sweep",
  summary: "launches the server once for each configuration and compares them on the same trace",
  positionals: [
    { name: "CONFIG.yaml", help: "engine, grid and workload; see docs/sweeps.md", required: false },
  ],
  options: {
    ...cellOptions,
    print_schema: option(toggle(), "Output", "print the JSON Schema of the configuration file, for editors"),
  },
  examples: ["reprise sweep reprise.yaml", "reprise sweep reprise.yaml --out sweeps/tuesday --max-jobs 50"],
  async run({ print_schema: schema, ...given }, [path, ...more], io) {
    if (schema === true) {
      await io.out(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
      return EXIT.good;
    }
    if (path === undefined || more.length > 0)
      throw new UserError("sweep takes one configuration file", {
        hint: "reprise sweep CONFIG.yaml; docs/sweeps.md has one to start from",
      });
    const { out, json, quiet, ...flags } = given;
    const folder = out ?? join("sweeps", basename(path).replace(/\.(ya?ml|json)$/i, ""));
    // Plans and progress of the single runs would drown the sweep's own.
    const session = runEnvironment(io, { quiet: true });
    const unregister = io.onInterrupt((count) => {
      if (count > 1) killAllServers();
    });
    const apiKey = io.env[flags.api_key_env ?? "OPENAI_API_KEY"];
    const headers = {
      ...(apiKey === undefined || apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
      ...flags.header,
    };
    try {
      const finished = await sweepConfigFile(
        { path, flags, out: folder },
        session.environment,
        createHttpCall(io.clock, SIDE_TIMEOUT_MS, { headers }),
        quiet === true ? undefined : (progress) => showProgress(progress, io),
      );
      if (finished.resumed > 0) io.err(`${finished.resumed} runs were there already\n`);
      await io.out(
        json === true
          ? `${JSON.stringify(sweepJson(finished.ranking), null, 2)}\n`
          : renderSweepTerminal(finished.ranking),
      );
      io.err(`comparison: ${plainText(join(folder, "comparison.md"))} (and .csv, .json)\n`);
      if (finished.interrupted) return EXIT.interrupted;
      if (finished.unreachable) return EXIT.unreachable;
      return finished.ranking.winner === null ? EXIT.missed : EXIT.good;
    } finally {
      unregister();
      session.end();
    }
  },
});

function showProgress({ done, failed, total, current, left_ms }: SweepProgress, io: Io): void {
  if (current === null) return;
  const left = left_ms === null ? "" : `, about ${formatDuration(left_ms)} left`;
  const lost = failed === 0 ? "" : `, ${failed} failed`;
  io.err(
    `[${done + failed + 1}/${total}${lost}${left}] ${plainText(current.cell)}, run ${current.repeat}: ${current.step}\n`,
  );
}
