/** Result files and printed tables of other tools. */
import { choice, option, text, toggle } from "./option.ts";
import { GROUP } from "./groups.ts";

const C = GROUP.compat;

export const TABLES = ["vllm", "fastdeploy", "trace-replayer", "none"] as const;
export type TableName = (typeof TABLES)[number];

/** Of `replay`. */
export const resultOptions = {
  save_result: option(toggle(), C, "write a result file as the other tool does, beside the run folder"),
  result_dir: option(text("<folder>"), C, "folder of the result file, made if it is not there", {
    defaultText: "the working folder",
  }),
  result_filename: option(text("<name>"), C, "name of the result file", {
    defaultText: "made up as there",
  }),
  table: option(choice(...TABLES), C, "print this tool's table after ours", {
    defaultText: "bench: --result-format; replay: trace-replayer with --trace-file, else none",
  }),
} as const;

/** Of `bench`. */
export const benchResultOptions = {
  ...resultOptions,
  save_detailed: option(
    toggle(),
    C,
    "keep prompts and answers in the log, and one entry a request in the file",
  ),
  append_result: option(toggle(), C, "append the result to the file, one object a line"),
  result_format: option(choice("vllm", "fastdeploy"), C, "whose result file and table", {
    defaultText: "fastdeploy where something only it has is asked for, else vllm",
  }),
} as const;
