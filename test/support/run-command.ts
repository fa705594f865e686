/** Runs a command of the command line inside the test process and keeps what it wrote. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArguments } from "../../src/cli/parse-arguments.ts";
import type { Verb } from "../../src/cli/verb.ts";
import { UserError } from "../../src/core/failure.ts";
import { RealClock } from "../../src/core/real-clock.ts";
import type { Summary } from "../../src/metric/summary.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The exit code is the command's; a {@link UserError} gives its own, with the message on `err`. */
export async function runCommand(
  verb: Verb,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  let out = "";
  let err = "";
  try {
    const parsed = parseArguments(verb, argv, 100);
    if (parsed.kind === "help") return { code: 0, out: parsed.text, err };
    const code = await verb.run(parsed.value.given, parsed.value.words, {
      clock: new RealClock(),
      env,
      out: async (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      outIsTty: false,
      errIsTty: false,
      columns: 100,
      colour: false,
      onInterrupt: () => () => undefined,
    });
    return { code, out, err };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { code: error.exitCode, out, err: `${err}${error.message}\n` };
  }
}

/** The records of a run folder by request id. */
export function recordsOf(folder: string): Map<string, RequestRecord> {
  const lines = readFileSync(join(folder, "records.jsonl"), "utf8").split("\n").filter(Boolean);
  return new Map(
    lines.map((line) => {
      const record = JSON.parse(line) as RequestRecord;
      return [record.request_id, record];
    }),
  );
}

export function summaryOf(text: string): Summary {
  return JSON.parse(text) as Summary;
}
