/** The table of report formats. A new one is a file beside this and a line here. */
import { UserError } from "../core/failure.ts";
import { nearestHint } from "../core/nearest.ts";
import { fastdeploy } from "./compat/fastdeploy.ts";
import { pytorch } from "./compat/pytorch.ts";
import { traceReplayer } from "./compat/trace-replayer.ts";
import { vllm } from "./compat/vllm.ts";
import { csv } from "./csv.ts";
import { html } from "./html.ts";
import { json } from "./json.ts";
import { markdown } from "./markdown.ts";
import type { ReportFormat, ReportInput } from "./report-format.ts";
import { terminal } from "./terminal.ts";

export const REPORT_FORMATS: readonly ReportFormat[] = [
  terminal,
  json,
  csv,
  markdown,
  html,
  vllm,
  fastdeploy,
  traceReplayer,
  pytorch,
];

export const REPORT_FORMAT_NAMES: readonly string[] = REPORT_FORMATS.map(({ name }) => name);

/** Renders a run in this format, whole or in parts. {@link UserError} for a format that is not known. */
export function renderReport(format: string, input: ReportInput): string | AsyncIterable<string> {
  return findReportFormat(format).render(input);
}

/** {@link UserError} with the nearest name where there is none of that name. */
export function findReportFormat(name: string): ReportFormat {
  const found = REPORT_FORMATS.find((format) => format.name === name);
  if (found !== undefined) return found;
  throw new UserError(`unknown report format "${name}"`, {
    hint: nearestHint(name, REPORT_FORMAT_NAMES) ?? `known: ${REPORT_FORMAT_NAMES.join(", ")}`,
  });
}
