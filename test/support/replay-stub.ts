/** Replays a small trace against a raw TCP stub, through the whole command line. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replay } from "../../src/cli/commands/replay.ts";
import type { Summary } from "../../src/metric/summary.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";
import { DONE, R, U } from "../stub/events.ts";
import { type StubScript, type StubStep, startStub } from "../stub/stub-server.ts";
import { chunk, head, LAST_CHUNK, response } from "../stub/wire.ts";
import { writeRows } from "./json-lines.ts";
import { recordsOf, runCommand, summaryOf } from "./run-command.ts";

export interface StubReplay {
  readonly code: number;
  readonly summary: Summary;
  readonly text: string;
  readonly records: ReadonlyMap<string, RequestRecord>;
  /** Bodies that reached the server, in order. */
  readonly requests: number;
}

/** `rows` in our own format; `script` answers by the prompt's text (the request id by default). */
export async function replayStub(
  rows: readonly object[],
  script: (prompt: string) => readonly StubStep[],
  flags: readonly string[] = [],
): Promise<StubReplay> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-case-"));
  const answer: StubScript = ({ body }) => script((JSON.parse(body) as { prompt: string }).prompt);
  const server = await startStub(answer);
  try {
    const trace = writeRows(join(folder, "trace.jsonl"), rows);
    const out = join(folder, "run");
    const argv = [
      trace,
      "--base-url",
      server.url,
      "--model",
      "m",
      "--backend",
      "openai",
      "--out",
      out,
      "--json",
    ];
    const result = await runCommand(replay, [...argv, ...flags]);
    return {
      code: result.code,
      summary: summaryOf(result.out),
      text: result.out,
      records: recordsOf(out),
      requests: server.requests.length,
    };
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A row whose prompt is its id. */
export function row(request_id: string, arrival_ms: number, more: object = {}): object {
  return { request_id, job_id: request_id, arrival_ms, prompt: request_id, max_tokens: 16, ...more };
}

/** A completion stream: one token at each of these instants after the request came. */
export function tokensAt(times: readonly number[]): StubStep[] {
  const last = times[times.length - 1] ?? 0;
  return [
    { at: 0, bytes: head("chunked") },
    ...times.map((at, i) => ({ at, bytes: chunk(R(`t${i}`)) })),
    { at: last, bytes: Buffer.concat([chunk(U(times.length) + DONE), Buffer.from(LAST_CHUNK)]) },
  ];
}

export function status(code: string, at = 2): StubStep[] {
  return [{ at, bytes: response(['{"error":{"message":"no"}}'], "length", { status: code }) }];
}
