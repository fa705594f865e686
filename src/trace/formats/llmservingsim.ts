/**
 * LLMServingSim JSONL: `input_toks`, `output_toks`, `arrival_time_ns` (ns), `input_tok_ids`?; an agentic row is a session
 * with `sub_requests` that follow each other, each after the tool time of the one before.
 */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { integerField, numberField, objectsField, optionalId, optionalNumber } from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { shareOfRows } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TracePrompt, TraceRequest } from "../trace-request.ts";

const NS_PER_MS = 1e6;

export const llmservingsim: TraceFormat = {
  name: "llmservingsim",
  title: "LLMServingSim JSONL: input_toks, output_toks, arrival_time_ns; or session_id, sub_requests",
  marks: ["input_toks", "output_toks", "arrival_time_ns"],
  detect: (sample: Sample) =>
    shareOfRows(sample, (row) => "arrival_time_ns" in row && ("input_toks" in row || "sub_requests" in row)) >
      0.5 || shareOfRows(sample, (row) => "session_id" in row && "sub_requests" in row) > 0.5
      ? 1
      : 0,
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    const jobs = new Set<string>();
    await readJsonlRows(path, account, (row, line) => {
      if (row["sub_requests"] == null) {
        requests.push(single(row, line));
        return;
      }
      const own = session(row, line);
      const job = (own[0] as TraceRequest).job_id;
      if (jobs.has(job)) throw new BadRow(`session "${job}" occurred before`);
      jobs.add(job);
      requests.push(...own);
    });
    const agentic = requests.some(({ turn }) => turn !== null);
    const ids = requests.length > 0 && requests.every(({ prompt }) => prompt.kind === "ids");
    return newTrace("llmservingsim", account, {
      requests,
      provenance: {
        arrivals: "recorded",
        prompt_length: "recorded",
        output_length: "recorded",
        prompt_text: ids ? "recorded" : "missing",
        prefix_sharing: ids ? "recorded" : "missing",
        order: agentic ? "recorded" : "missing",
        think_time: agentic ? "recorded" : "missing",
      },
    });
  },
};

function single(row: JsonObject, line: number): TraceRequest {
  const request_id = `r${line}`;
  return newRequest({
    request_id,
    job_id: optionalId(row, "session_id") ?? request_id,
    arrival_ms: numberField(row, "arrival_time_ns") / NS_PER_MS,
    prompt: promptOf(row),
    recorded: newRecorded({ output_tokens: integerField(row, "output_toks", 1) }),
  });
}

function session(row: JsonObject, line: number): TraceRequest[] {
  const job_id = optionalId(row, "session_id") ?? `r${line}`;
  const parts = objectsField(row, "sub_requests");
  if (parts.length === 0) throw new BadRow('"sub_requests" is empty');
  const start = optionalNumber(row, "arrival_time_ns");
  let tool_ms = 0;
  return parts.map((part, at) => {
    const before = tool_ms;
    tool_ms = (optionalNumber(part, "tool_duration_ns") ?? 0) / NS_PER_MS;
    return newRequest({
      request_id: `r${line}.${at + 1}`,
      job_id,
      turn: at + 1,
      arrival_ms: at === 0 && start !== null ? start / NS_PER_MS : null,
      // The tool of a sub-request runs after it: the next one waits for it.
      think_ms: at === 0 ? null : before,
      tool: at === 0 || before === 0 ? null : [{ name: "tool", ms: before }],
      prompt: promptOf(part),
      recorded: newRecorded({ output_tokens: integerField(part, "output_toks", 1) }),
    });
  });
}

function promptOf(row: JsonObject): TracePrompt {
  const tokens = integerField(row, "input_toks", 1);
  const ids = row["input_tok_ids"];
  if (ids == null) return lengthPrompt(tokens);
  if (
    !Array.isArray(ids) ||
    !ids.every((id): id is number => Number.isSafeInteger(id) && (id as number) >= 0)
  )
    throw new BadRow('"input_tok_ids" must hold integers ≥ 0');
  if (ids.length !== tokens) throw new BadRow(`${ids.length} input_tok_ids, but input_toks is ${tokens}`);
  return { kind: "ids", ids };
}
