/**
 * One row of our own format, checked field by field: what a row may be. Plain rows of large traces take a shorter way
 * (reprise-scan.ts) to the same end.
 */
import type { JsonObject } from "../../core/json.ts";
import { withLargeIntegers } from "../lossless-json.ts";
import { lengthPrompt } from "../new-request.ts";
import { BadRow } from "../row-account.ts";
import { MAX_NUMBER, numberField, objectsField, stringField, wrong } from "../row-fields.ts";
import type { BlockId, Recorded, ToolCall, TracePrompt, TraceRequest } from "../trace-request.ts";

/**
 * Parses a line. Integers beyond 2^53 can stand in block names and in what is passed through; only rows that have such
 * fields pay for the second look.
 */
export function parseLine(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) return value;
  const row = value as JsonObject;
  const passed =
    row["metadata"] ?? row["params"] ?? row["messages"] ?? row["reprise_trace"] ?? row["tools"] ?? null;
  if (passed !== null) return withLargeIntegers(value, text);
  const ids = row["hash_ids"];
  return Array.isArray(ids) && ids.some((id) => typeof id === "number" && !Number.isSafeInteger(id))
    ? withLargeIntegers(value, text)
    : value;
}

/** Checks and converts one row; throws {@link BadRow} with the field and the reason. */
export function parseRequestRow(row: JsonObject): TraceRequest {
  const after = row["after"] == null ? null : afterField(row["after"]);
  const arrival_ms = nonNegative(row["arrival_ms"], "arrival_ms");
  if (arrival_ms === null && after === null)
    throw new BadRow('"arrival_ms" is missing (needed unless "after" is given)');
  const max_tokens = row["max_tokens"];
  if (max_tokens === undefined) throw wrong("max_tokens", undefined, "an integer ≥ 1, or null for no cap");
  const budget_ms = nonNegative(row["budget_ms"], "budget_ms");
  if (budget_ms === 0) throw wrong("budget_ms", 0, "more than 0");
  return {
    request_id: id(row["request_id"], "request_id"),
    job_id: id(row["job_id"], "job_id"),
    turn: integer(row["turn"], "turn", 0),
    arrival_ms,
    after,
    think_ms: nonNegative(row["think_ms"], "think_ms"),
    tool: row["tool"] == null ? null : toolField(objectsField(row, "tool")),
    prompt: promptOf(row),
    max_tokens: integer(max_tokens, "max_tokens", 1),
    expected_output_tokens: integer(row["expected_output_tokens"], "expected_output_tokens", 1),
    temperature: nonNegative(row["temperature"], "temperature"),
    params: object(row["params"], "params"),
    budget_ms,
    agent: text(row["agent"], "agent"),
    recorded: recordedField(object(row["recorded"], "recorded")),
    response_text: text(row["response_text"], "response_text"),
    metadata: object(row["metadata"], "metadata"),
  };
}

function id(value: unknown, key: string): string {
  if (typeof value === "string" && value.length > 0) return value;
  throw wrong(key, value, "a non-empty string");
}

function text(value: unknown, key: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value;
  throw wrong(key, value, "a string");
}

function nonNegative(value: unknown, key: string): number | null {
  if (typeof value === "number" && value >= 0 && value < MAX_NUMBER) return value;
  if (value === undefined || value === null) return null;
  throw wrong(key, value, "a number ≥ 0");
}

function integer(value: unknown, key: string, min: number): number | null {
  if (typeof value === "number" && value >= min && Number.isSafeInteger(value)) return value;
  if (value === undefined || value === null) return null;
  throw wrong(key, value, `an integer ≥ ${min}`);
}

function object(value: unknown, key: string): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "object" && !Array.isArray(value)) return value as JsonObject;
  throw wrong(key, value, "an object");
}

function afterField(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((id) => typeof id === "string" && id.length > 0))
    return value as readonly string[];
  throw wrong("after", value, "an array of request ids");
}

function toolField(tools: readonly JsonObject[]): readonly ToolCall[] {
  return tools.map((tool) => {
    try {
      return { name: stringField(tool, "name"), ms: numberField(tool, "ms") };
    } catch (error) {
      if (error instanceof BadRow) throw new BadRow(`in "tool": ${error.message}`);
      throw error;
    }
  });
}

function recordedField(recorded: JsonObject | null): Recorded | null {
  if (recorded === null) return null;
  const result = {
    sent_ms: nonNegative(recorded["sent_ms"], "recorded.sent_ms"),
    first_token_ms: nonNegative(recorded["first_token_ms"], "recorded.first_token_ms"),
    end_ms: nonNegative(recorded["end_ms"], "recorded.end_ms"),
    prompt_tokens: integer(recorded["prompt_tokens"], "recorded.prompt_tokens", 0),
    output_tokens: integer(recorded["output_tokens"], "recorded.output_tokens", 0),
    cached_tokens: integer(recorded["cached_tokens"], "recorded.cached_tokens", 0),
  };
  if (result.sent_ms !== null && result.end_ms !== null && result.end_ms < result.sent_ms)
    throw new BadRow(`"recorded" ends (${result.end_ms} ms) before it is sent (${result.sent_ms} ms)`);
  return result;
}

function promptOf(row: JsonObject): TracePrompt {
  const prompt = row["prompt"] ?? null;
  const ids = row["prompt_ids"] ?? null;
  const messages = row["messages"] ?? null;
  const tokens = row["prompt_tokens"] ?? null;
  const forms =
    (prompt === null ? 0 : 1) +
    (ids === null ? 0 : 1) +
    (messages === null ? 0 : 1) +
    (tokens === null ? 0 : 1);
  if (forms !== 1)
    throw new BadRow(
      `${forms === 0 ? "a prompt is missing" : "several prompts"}: exactly one of "prompt", "prompt_ids", "messages", "prompt_tokens"`,
    );
  if (row["hash_ids"] != null && tokens === null)
    throw new BadRow('"hash_ids" stands beside "prompt_tokens" only');
  if (row["tools"] != null && messages === null) throw new BadRow('"tools" stands beside "messages" only');
  if (prompt !== null) return { kind: "text", text: id(prompt, "prompt") };
  if (ids !== null) return { kind: "ids", ids: tokenIds(ids) };
  if (messages !== null) return messagesPrompt(row);
  return lengthPromptOf(row, tokens);
}

function messagesPrompt(row: JsonObject): TracePrompt {
  const messages = objectsField(row, "messages");
  if (messages.length === 0) throw wrong("messages", messages, "at least one message");
  if (messages.some((message) => typeof message["role"] !== "string"))
    throw new BadRow('every message needs a "role"');
  return { kind: "messages", messages, tools: row["tools"] == null ? null : objectsField(row, "tools") };
}

function tokenIds(value: unknown): readonly number[] {
  if (!Array.isArray(value) || value.length === 0)
    throw wrong("prompt_ids", value, "a non-empty array of integers");
  for (const id of value as unknown[]) {
    if (typeof id !== "number" || id < 0 || !Number.isSafeInteger(id))
      throw new BadRow('"prompt_ids" must hold integers ≥ 0');
  }
  return value as readonly number[];
}

function lengthPromptOf(row: JsonObject, told: unknown): TracePrompt {
  if (typeof told !== "number" || told < 1 || !Number.isSafeInteger(told))
    throw wrong("prompt_tokens", told, "an integer ≥ 1");
  const ids = row["hash_ids"];
  if (ids === undefined || ids === null) return lengthPrompt(told);
  if (!Array.isArray(ids)) throw wrong("hash_ids", ids, "an array of block ids");
  for (const block of ids as unknown[]) {
    if (typeof block === "string" ? block.length === 0 : !Number.isSafeInteger(block))
      throw new BadRow('"hash_ids" must hold integers or non-empty strings');
  }
  const block_tokens = integer(row["block_tokens"], "block_tokens", 1);
  if (block_tokens === null)
    throw wrong("block_tokens", row["block_tokens"], 'an integer ≥ 1 beside "hash_ids"');
  const floor = Math.floor(told / block_tokens);
  if (ids.length !== floor && ids.length !== Math.ceil(told / block_tokens))
    throw new BadRow(
      `${ids.length} hash_ids of ${block_tokens} tokens do not cover ${told} prompt tokens (floor or ceil)`,
    );
  return {
    kind: "length",
    tokens: told,
    hash_ids: ids as readonly BlockId[],
    block_tokens,
    hash_scope: text(row["hash_scope"], "hash_scope"),
  };
}
