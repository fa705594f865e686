/**
 * MLPerf agentic datasets: JSONL, a row a message. A request is issued after each run of client rows (user, tool); its
 * prompt is the history rebuilt so far, recorded answers included. No arrivals, no token counts.
 */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import type { TraceFormat } from "../format.ts";
import { newRequest } from "../new-request.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { scalarText, textOf, toolCall, toOpenAiTools } from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import {
  idField,
  integerField,
  objectsField,
  optionalInteger,
  optionalNumber,
  optionalObjects,
  optionalString,
  wrong,
} from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave } from "../sample.ts";
import type { TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";
import { chainedTurn } from "../turn-chain.ts";

interface Row {
  readonly turn: number;
  readonly line: number;
  readonly role: "user" | "assistant" | "tool";
  readonly messages: readonly JsonObject[];
  readonly system: string | null;
  readonly tools: readonly JsonObject[] | null;
  readonly delay_ms: Ms | null;
  readonly max_tokens: number | null;
  readonly temperature: number | null;
  readonly top_p: number | null;
}

export const mlperfAgentic: TraceFormat = {
  name: "mlperf-agentic",
  title: "MLPerf agentic conversations (JSONL, a row a message)",
  marks: ["conversation_id", "turn", "role"],
  detect(sample) {
    return mostRowsHave(sample, "conversation_id", "turn", "role") ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const conversations = new Map<string, Map<number, Row>>();
    await readJsonlRows(path, account, (row, line) => {
      const id = idField(row, "conversation_id");
      const parsed = parseRow(row, line);
      const own = conversations.get(id) ?? new Map<number, Row>();
      conversations.set(id, own);
      const twice = own.get(parsed.turn);
      if (twice !== undefined)
        throw new BadRow(`turn ${parsed.turn} of "${id}" occurs twice (first in line ${twice.line})`);
      own.set(parsed.turn, parsed);
    });
    const requests: TraceRequest[] = [];
    for (const [id, rows] of conversations) requests.push(...conversationTurns(id, rows, account));
    const told = toldBy(requests);
    return newTrace("mlperf-agentic", account, {
      requests,
      provenance: {
        order: "recorded",
        think_time: told.think_time,
        prompt_text: "recorded",
        prefix_sharing: "recorded",
        sampling: told.sampling,
      },
    });
  },
};

function parseRow(row: JsonObject, line: number): Row {
  const role = row["role"];
  if (role !== "user" && role !== "assistant" && role !== "tool")
    throw wrong("role", role, '"user", "assistant" or "tool"');
  const seconds = optionalNumber(row, "delay_seconds");
  return {
    turn: integerField(row, "turn", 0),
    line,
    role,
    messages: role === "tool" ? toolMessages(row) : [chatMessage(row, role)],
    system: optionalString(row, "system"),
    tools: toOpenAiTools(optionalObjects(row, "tools")),
    delay_ms: seconds === null ? null : seconds * 1000,
    max_tokens:
      optionalInteger(row, "max_tokens", 1) ??
      optionalInteger(row, "max_completion_tokens", 1) ??
      optionalInteger(row, "max_new_tokens", 1),
    temperature: optionalNumber(row, "temperature"),
    top_p: optionalNumber(row, "top_p"),
  };
}

function toolMessages(row: JsonObject): JsonObject[] {
  if (row["tool_results"] === undefined && typeof row["content"] === "string")
    return [
      { role: "tool", tool_call_id: optionalString(row, "tool_call_id") ?? "", content: row["content"] },
    ];
  const results = objectsField(row, "tool_results");
  if (results.length === 0) throw new BadRow('"tool_results" is empty');
  return results.map((result) => ({
    role: "tool",
    tool_call_id: idField(result, "tool_call_id"),
    content: textOf(result["content"]),
  }));
}

function chatMessage(row: JsonObject, role: "user" | "assistant"): JsonObject {
  const calls = optionalObjects(row, "tool_calls");
  const text = textOf(row["content"]);
  if (role === "user" && text === "") throw wrong("content", row["content"], "a non-empty string");
  const reasoning = optionalString(row, "reasoning_content");
  return {
    role,
    content: text === "" && role === "assistant" ? null : text,
    // The dataset keeps it in the history: models that think between tool calls get it back.
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls === null || calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
  };
}

function conversationTurns(
  id: string,
  byTurn: ReadonlyMap<number, Row>,
  account: RowAccount,
): TraceRequest[] {
  const rows = [...byTurn.values()].sort((a, b) => a.turn - b.turn);
  const turns: TraceRequest[] = [];
  const history: JsonObject[] = [];
  let tools: readonly JsonObject[] | null = null;
  let called: readonly string[] = [];
  let run: Row[] = [];
  const issue = (answer: Row | null): void => {
    const last = run.at(-1);
    if (last === undefined) return;
    const think = run.some(({ delay_ms }) => delay_ms !== null)
      ? run.reduce((sum, { delay_ms }) => sum + (delay_ms ?? 0), 0)
      : null;
    const waited = think !== null && run.some(({ role }) => role === "tool") && called.length > 0;
    turns.push(
      newRequest({
        ...chainedTurn(id, turns.length),
        think_ms: think,
        tool: waited ? [{ name: called.join("+"), ms: think }] : null,
        prompt: { kind: "messages", messages: history.slice(), tools },
        max_tokens: last.max_tokens,
        temperature: last.temperature,
        params: last.top_p === null ? null : { top_p: last.top_p },
        response_text: answer === null ? null : textOf(answer.messages[0]?.["content"]) || null,
      }),
    );
    run = [];
  };
  for (const row of rows) {
    tools = row.tools ?? tools;
    if (row.role === "assistant") {
      if (run.length === 0) {
        account.revoke(row.line, `turn ${row.turn} of "${id}" is an answer without a request before it`);
        continue;
      }
      issue(row);
      called = calledTools(row);
    } else {
      if (row.system !== null && history.length === 0) history.push({ role: "system", content: row.system });
      run.push(row);
    }
    history.push(...row.messages);
  }
  issue(null);
  return turns;
}

function calledTools(row: Row): string[] {
  const calls = row.messages[0]?.["tool_calls"];
  if (!Array.isArray(calls)) return [];
  return (calls as JsonObject[]).map((call) => scalarText((call["function"] as JsonObject)["name"]));
}
