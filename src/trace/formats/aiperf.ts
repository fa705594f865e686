/**
 * AIPerf's inputs: its `inputs.json`, and its JSONL in all four shapes: trace rows with sessions (Mooncake's keys, `session_id`, `delay`, `text_input`,
 * `messages`), `single_turn` (`text`), `multi_turn` (`turns[]` of texts) and `dag_jsonl` (`turns[]` of messages with
 * `forks` and `spawns`). A file may mix the first three; a DAG file is one of its own.
 */
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { RowAccount } from "../row-account.ts";
import { readJsonlRows } from "../row-reader.ts";
import { shareOfRows, takeSample } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";
import { AiperfDag } from "./aiperf-dag.ts";
import { inputRequests, isInputsFile } from "./aiperf-inputs.ts";
import { AiperfSessions } from "./aiperf-sessions.ts";
import { MOONCAKE_BLOCK } from "./mooncake.ts";

export const aiperf: TraceFormat = {
  name: "aiperf",
  title: "AIPerf: JSONL trace rows with sessions, single_turn, multi_turn, dag_jsonl; or inputs.json",
  marks: ["session_id", "input_length", "output_length", "delay"],
  detect(sample: Sample): number {
    if (isInputsFile(sample.document)) return 1;
    if (shareOfRows(sample, (row) => Array.isArray(row["turns"]) && isTurn(row["turns"][0] ?? row)) > 0.5)
      return 1;
    if (shareOfRows(sample, isDynamoRow) > 0) return 0;
    const rows = shareOfRows(
      sample,
      (row) =>
        "input_length" in row ||
        "text_input" in row ||
        (Array.isArray(row["messages"]) && ("output_length" in row || "timestamp" in row || "delay" in row)),
    );
    if (rows > 0.5 && shareOfRows(sample, hasOwnKeys) > 0) return 0.9;
    return shareOfRows(sample, isSingleTurn) > 0.5 ? 0.7 : 0;
  },
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const sessions = new AiperfSessions(options.blockTokens ?? MOONCAKE_BLOCK);
    const dag = new AiperfDag();
    const { document } = await takeSample(path, options.name ?? path);
    if (isInputsFile(document)) {
      const requests = inputRequests(document, account);
      return newTrace("aiperf", account, {
        requests,
        provenance: { ...provenanceOf(requests), order: "recorded" },
        notes: ["no times and no output lengths in the file"],
      });
    }
    await readJsonlRows(path, account, (row, line) => {
      // It sends nothing itself; the sessions it starts over and over are read as jobs of their own.
      if (row["orchestrator"] === true) return "orchestrator";
      if (Array.isArray(row["turns"]) && isDagTurn(row["turns"][0])) dag.add(row, line);
      else sessions.add(row, line);
      return undefined;
    });
    const requests = [...sessions.requests, ...dag.requests(account)];
    return newTrace("aiperf", account, {
      requests,
      provenance: provenanceOf(requests),
      notes: [...sessions.notes(), ...dag.notes()],
    });
  },
};

type Row = Readonly<Record<string, unknown>>;

/** Keys that Mooncake's rows do not have, with values of the right kind (an unrelated extra column tells nothing). */
function hasOwnKeys(row: Row): boolean {
  const { session_id, delay, text_input, messages, extra } = row;
  return (
    typeof session_id === "string" ||
    typeof session_id === "number" ||
    typeof delay === "number" ||
    typeof text_input === "string" ||
    Array.isArray(messages) ||
    (typeof extra === "object" && extra !== null && !Array.isArray(extra))
  );
}

function isDynamoRow(row: Row): boolean {
  return "request_id" in row && ("wait_for" in row || "prefix_reset" in row || "tool_wait_ms" in row);
}

function isSingleTurn(row: Row): boolean {
  return (
    (typeof row["text"] === "string" || Array.isArray(row["texts"])) &&
    !("type" in row && "uuid" in row) &&
    !("temperature" in row)
  );
}

function isTurn(turn: unknown): boolean {
  return (
    typeof turn === "string" ||
    (typeof turn === "object" &&
      turn !== null &&
      ["text", "texts", "text_input", "messages", "input_length", "orchestrator"].some((key) => key in turn))
  );
}

function isDagTurn(turn: unknown): boolean {
  return typeof turn === "object" && turn !== null && "messages" in turn;
}

function provenanceOf(requests: readonly TraceRequest[]): Trace["provenance"] {
  const isSampled = requests.some(({ params, max_tokens }) => params !== null || max_tokens !== null);
  return { ...toldBy(requests), sampling: isSampled ? "recorded" : "missing" };
}
