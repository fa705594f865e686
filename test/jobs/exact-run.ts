/**
 * Whole runs of `reprise replay` whose every instant can be worked out by hand: the simulated engine takes exactly 10 ms a
 * step whatever is in it, so a request alone has its first token 10 ms after it was sent and n tokens after 10·n ms.
 */
import { join } from "node:path";
import { replay } from "../../src/cli/commands/replay.ts";
import type { Cause } from "../../src/metric/job/causes.ts";
import type { JobRow } from "../../src/metric/job/job-table.ts";
import type { RunAnalysis } from "../../src/metric/summarize.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";
import { analyzeFolder } from "../../src/run/analyze-run.ts";
import { scratch, traceFile } from "../cli/run-cli.ts";
import { recordsOf, runCommand } from "../support/run-command.ts";

/** A row of our format: `output` tokens, a prompt of 100 made-up ones. */
export function turn(
  request_id: string,
  job_id: string,
  output: number,
  told: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    request_id,
    job_id,
    prompt_tokens: 100,
    max_tokens: output,
    expected_output_tokens: output,
    ...told,
  };
}

export interface ExactRun extends RunAnalysis {
  readonly code: number;
  readonly err: string;
  readonly folder: string;
  readonly records: Map<string, RequestRecord>;
  job(id: string): JobRow;
  /** intended, sent, first token, end of a request. */
  times(id: string): (number | null | undefined)[];
}

export async function exactRun(
  rows: readonly object[],
  flags: readonly string[] = [],
  sim: readonly string[] = [],
): Promise<ExactRun> {
  const folder = join(scratch(), "run");
  const settings = ['linear_step={"base_ms":10}', ...sim].flatMap((setting) => ["--sim", setting]);
  const trace = traceFile(rows);
  const words = [trace, "--backend", "sim", "--virtual-time", ...settings, "--seed", "1", "-q", "--json"];
  const { code, err } = await runCommand(replay, [...words, "--out", folder, ...flags]);
  if (code === 2) throw new Error(err);
  const analysis = await analyzeFolder(folder, {});
  const records = recordsOf(folder);
  return {
    ...analysis,
    code,
    err,
    folder,
    records,
    job: (id) => analysis.jobs.row(analysis.jobs.ids.indexOf(id)),
    times: (id) => {
      const record = records.get(id);
      return [record?.intended_ms, record?.sent_ms, record?.first_token_ms, record?.end_ms];
    },
  };
}

/** A breakdown with 0 for whatever is not named. */
export function causes(named: Partial<Record<Cause, number>>): Record<Cause, number> {
  return {
    tool: 0,
    client: 0,
    slot: 0,
    connect: 0,
    engine_queue: 0,
    prefill: 0,
    decode: 0,
    tail: 0,
    unsplit: 0,
    ...named,
  };
}
