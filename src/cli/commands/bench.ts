/** `reprise bench` */
import { UserError } from "../../core/failure.ts";
import type { JsonObject } from "../../core/json.ts";
import { parseSummaryOptions } from "../../metric/index.ts";
import { redactedJson } from "../../record/redacted-json.ts";
import { summaryFlags } from "../../run/analyze-run.ts";
import { runBench } from "../../run/bench.ts";
import { backendOf } from "../../run/http-target.ts";
import { benchOptions, type BenchGiven } from "../../run/options/bench-options.ts";
import { resultFormatOf } from "../../run/result-format.ts";
import type { RunEnvironment } from "../../run/run-environment.ts";
import {
  checkResultFolder,
  type CompatRequest,
  noteUnusedResultFlags,
  writeCompatOutput,
} from "../compat-output.ts";
import { withConfigFile } from "../config-file.ts";
import { finishRun } from "../finish-run.ts";
import { runEnvironment } from "../run-environment.ts";
import { verb, type Io } from "../verb.ts";

export const bench = verb({
  name: "bench",
  summary: "sends a dataset or made-up prompts at a rate or a concurrency",
  positionals: [
    {
      name: "serve",
      help: "the other tools' sub-command, so that their lines can be pasted",
      required: false,
    },
  ],
  options: benchOptions,
  examples: [
    "reprise bench --model my-model --port 8000 --dataset-name random --num-prompts 200 --request-rate 4",
    "reprise bench --backend openai --model my-model --dataset-name sharegpt --dataset-path sharegpt.json --max-concurrency 16",
    "reprise bench --model my-model --dataset-name EBChat --dataset-path chats.jsonl --percentile-metrics ttft,itl,s_ttft --save-result",
    "reprise bench --backend sim --virtual-time --num-prompts 100 --request-rate 8 --goodput ttft:500 tpot:50",
  ],
  async run(flags, words, io) {
    if (words.length > 0 && words[0] !== "serve")
      throw new UserError(`bench takes no word by itself: "${words[0]}"`, {
        hint: "name a file with --dataset-path",
      });
    const given: BenchGiven = await withConfigFile(benchOptions, flags, io);
    parseSummaryOptions(summaryFlags(given as JsonObject));
    const format = resultFormatOf(given, backendOf(given, "openai-chat"));
    const compat: CompatRequest = {
      format,
      table: given.table ?? format,
      save: given.save_result === true,
      append: given.append_result === true,
      dir: given.result_dir ?? null,
      fileName: given.result_filename ?? null,
    };
    checkResultFolder(compat);
    noteUnusedResultFlags(compat, io);
    const session = runEnvironment(io, { quiet: given.quiet === true });
    const watched = given.debug === true ? withRecords(session.environment, io) : session.environment;
    const finished = await runBench(given, watched).finally(() => session.end());
    return finishRun(finished, given, io, (analysis) =>
      writeCompatOutput(analysis, finished.folder, compat, given.json === true, io),
    );
  },
});

/** `--debug`: each request's line of the log, on stderr too. */
function withRecords(environment: RunEnvironment, io: Io): RunEnvironment {
  return {
    ...environment,
    onRecord: (record) => {
      environment.onRecord?.(record);
      io.err(`${redactedJson(record)}\n`);
    },
  };
}
