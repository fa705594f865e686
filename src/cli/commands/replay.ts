/** `reprise replay TRACE` */
import { UserError } from "../../core/failure.ts";
import { GROUP } from "../../run/options/groups.ts";
import { option, toggle } from "../../run/options/option.ts";
import { replayOptions, type ReplayGiven } from "../../run/options/replay-options.ts";
import { runReplay } from "../../run/replay.ts";
import { parseSummaryOptions } from "../../metric/index.ts";
import { summaryFlags } from "../../run/analyze-run.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  checkResultFolder,
  type CompatRequest,
  noteUnusedResultFlags,
  writeCompatOutput,
} from "../compat-output.ts";
import { hasEngineFlags } from "../engine-flags.ts";
import { finishRun } from "../finish-run.ts";
import { openLivePage, type LivePage } from "../live-page.ts";
import { runEnvironment } from "../run-environment.ts";
import { verb } from "../verb.ts";
import { withConfigFile } from "../config-file.ts";

export const replay = verb({
  name: "replay",
  summary: "replays a trace against a server",
  positionals: [
    { name: "TRACE", help: "trace file or folder, any known format; - for standard input", required: false },
  ],
  options: {
    ...replayOptions,
    ui: option(toggle(), GROUP.output, "show the run under way on a local web page"),
  },
  examples: [
    "reprise replay agents.jsonl --base-url http://localhost:8000 --model my-model",
    "reprise replay trace.csv.gz --speed 20 --backend openai-chat --max-concurrency 64",
    'reprise replay agents.jsonl --pacing closed --max-concurrency 16 --job-budget 60s --slo "budget_miss_rate <= 1%"',
    "reprise replay agents.jsonl --backend sim --sim max_num_seqs=16 --virtual-time",
    "reprise replay agents.jsonl --backend llama-cpp --model model.gguf --engine sequences=16",
    "reprise replay agents.jsonl --backend vllm --model my-model --max-num-seqs 64",
  ],
  engineFlags: (argv) => (hasEngineFlags(argv) ? "engine" : null),
  async run({ ui, ...flags }, words, io) {
    const given: ReplayGiven = await withConfigFile(replayOptions, flags, io);
    const tracePath = traceOf(given, words);
    // Objectives that cannot be understood are refused before anything is sent.
    parseSummaryOptions(summaryFlags(given as JsonObject));
    let livePage: LivePage | undefined;
    const compat: CompatRequest = {
      format: "trace-replayer",
      table: given.table ?? (given.trace_file === undefined ? "none" : "trace-replayer"),
      save: given.save_result === true,
      append: false,
      dir: given.result_dir ?? null,
      fileName: given.result_filename ?? null,
    };
    checkResultFolder(compat);
    noteUnusedResultFlags(compat, io);
    const session = runEnvironment(io, {
      quiet: given.quiet === true,
      ...(ui === true ? { onFolder: (folder) => (livePage = openLivePage(folder, io)) } : {}),
    });
    const finished = await runReplay({ given, tracePath, command: "replay" }, session.environment).finally(
      () => session.end(),
    );
    const code = await finishRun(finished, given, io, (analysis) =>
      writeCompatOutput(analysis, finished.folder, compat, given.json === true, io),
    );
    await livePage?.end();
    return code;
  },
});

function traceOf(given: ReplayGiven, words: readonly string[]): string {
  const [word, ...more] = words;
  if (more.length > 0) throw new UserError(`one trace at a time: "${more[0]}" is one too many`);
  if (word !== undefined && given.trace_file !== undefined && word !== given.trace_file)
    throw new UserError(`TRACE and --trace-file contradict each other`, { hint: "give one of them" });
  const path = word ?? given.trace_file;
  if (path === undefined)
    throw new UserError("which trace? TRACE is missing", {
      hint: "reprise replay TRACE --base-url http://host:8000",
    });
  return path;
}
