/** What other tools' users expect at the end of a run: their printed table, and their result files. Both come from the log. */
import { accessSync, appendFileSync, constants, existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../core/failure.ts";
import type { RunAnalysis } from "../metric/index.ts";
import { writeError, writeFileAtomic } from "../record/atomic-file.ts";
import { makeFolder } from "../record/make-folder.ts";
import { readRun } from "../record/read-run.ts";
import { benchFileName, pytorchFileName, replayFileName } from "../report/compat/result-file-name.ts";
import { renderReport } from "../report/index.ts";
import type { ReportOptions } from "../report/report-format.ts";
import type { TableName } from "../run/options/result-options.ts";
import type { Io } from "./verb.ts";

export interface CompatRequest {
  /** Whose result file. */
  readonly format: "vllm" | "fastdeploy" | "trace-replayer";
  readonly table: TableName;
  readonly save: boolean;
  readonly append: boolean;
  readonly dir: string | null;
  readonly fileName: string | null;
}

/** Before the run: a folder that cannot take the result file is no reason to lose an hour. */
export function checkResultFolder(
  request: Pick<CompatRequest, "save" | "append" | "dir" | "fileName">,
): void {
  if (!request.save && !request.append) return;
  const folder = dirname(join(request.dir ?? "", request.fileName ?? "result.json"));
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new UserError(
      `${folder}: no result file can be written there (${(error as NodeJS.ErrnoException).code ?? "error"})`,
      { hint: "choose another folder with --result-dir" },
    );
  }
}

/** Says which flags wait for a result file that nobody asked for. */
export function noteUnusedResultFlags(
  request: Pick<CompatRequest, "save" | "append" | "dir" | "fileName">,
  io: Io,
): void {
  if (request.save || request.append) return;
  if (request.dir !== null) io.err("note: --result-dir has no effect without --save-result\n");
  if (request.fileName !== null) io.err("note: --result-filename has no effect without --save-result\n");
}

/** Only the files with `json`: stdout then holds our summary and nothing else. */
export async function writeCompatOutput(
  analysis: RunAnalysis,
  folder: string,
  request: CompatRequest,
  json: boolean,
  io: Io,
): Promise<void> {
  const { table, format } = request;
  const saves = request.save || request.append;
  // The file first: what it reads of the log is all that the table needs.
  const text = saves ? (await renderText(format, analysis, folder, {})).trimEnd() : "";
  if (!json && table !== "none")
    await io.out(`\n${await renderText(table, analysis, folder, { table: "printed" })}`);
  if (!saves) return;
  const path = resultPath(analysis, request);
  try {
    makeFolder(dirname(path));
    if (request.append) {
      const before = existsSync(path) && statSync(path).size > 0 ? "\n" : "";
      appendFileSync(path, `${before}${text}`);
    } else writeFileAtomic(path, text);
  } catch (error) {
    throw writeError(path, error);
  }
  io.err(`result file: ${path}\n`);
  if ((io.env["SAVE_TO_PYTORCH_BENCHMARK_FORMAT"] ?? "") === "") return;
  const records = pytorchFileName(path);
  writeFileAtomic(records, (await renderText("pytorch", analysis, folder, {})).trimEnd());
  io.err(`result file: ${records}\n`);
}

function resultPath({ manifest }: RunAnalysis, request: CompatRequest): string {
  const dir = request.dir ?? "";
  if (request.fileName !== null) return join(dir, request.fileName);
  const name = request.format === "trace-replayer" ? replayFileName(manifest) : benchFileName(manifest);
  // A made-up name never overwrites the result of another run of the same second.
  for (let copy = 1; ; copy++) {
    const path = join(dir, copy === 1 ? name : name.replace(/\.json$/, `-${copy}.json`));
    if (request.append || !existsSync(path)) return path;
  }
}

async function renderText(
  format: string,
  analysis: RunAnalysis,
  folder: string,
  options: ReportOptions,
): Promise<string> {
  const run = await readRun(folder);
  const text = renderReport(format, { analysis, records: () => run.records(), options });
  if (typeof text === "string") return text;
  let whole = "";
  for await (const part of text) whole += part;
  return whole;
}
