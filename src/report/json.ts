import { plainJson } from "../core/terminal-text.ts";
import { redactedJson } from "../record/redacted-json.ts";
import type { ReportFormat } from "./report-format.ts";

/** `summary.json`, and nothing else. */
export const json: ReportFormat = {
  name: "json",
  title: "every number, for scripts (the content of summary.json)",
  render: ({ analysis }) => `${plainJson(redactedJson(analysis.summary, 2))}\n`,
};
