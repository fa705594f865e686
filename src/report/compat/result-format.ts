/** A result file of another tool as a report format: the object, or the table that tool prints. */
import type { JsonValue } from "../../core/json.ts";
import { redactedJson } from "../../record/redacted-json.ts";
import type { ReportFormat, ReportInput } from "../report-format.ts";

export interface ResultFile {
  readonly name: string;
  /** The command that writes such files. */
  readonly tool: string;
  readonly result: (input: ReportInput) => Promise<JsonValue>;
  /** Chosen with `--table printed`. */
  readonly table: (input: ReportInput) => Promise<string>;
}

export function resultFormat({ name, tool, result, table }: ResultFile): ReportFormat {
  return {
    name,
    title: `result file of ${tool}; --table printed: its table`,
    render: async function* (input) {
      if (input.options.table === "printed") yield await table(input);
      else yield `${redactedJson(await result(input))}\n`;
    },
  };
}
