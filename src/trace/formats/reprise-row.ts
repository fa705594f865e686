/** One row of our own format, checked field by field. */
import type { JsonObject } from "../../core/json.ts";
import { BadRow } from "../row-account.ts";
import {
  blockIdsField,
  integerField,
  numberField,
  objectField,
  objectsField,
  optionalInteger,
  optionalNumber,
  optionalObject,
  optionalObjects,
  optionalString,
  stringField,
  wrong,
} from "../row-fields.ts";
import type { Recorded, ToolCall, TracePrompt, TraceRequest } from "../trace-request.ts";

const PROMPT_KEYS = ["prompt", "prompt_ids", "messages", "prompt_tokens"] as const;

/** Checks and converts one row; throws {@link BadRow} with the field and the reason. */
export function parseRequestRow(row: JsonObject): TraceRequest {
  const after = row["after"] == null ? null : afterField(row["after"]);
  const recorded = row["recorded"] == null ? null : recordedField(objectField(row, "recorded"));
  const budget_ms = optionalNumber(row, "budget_ms");
  if (budget_ms === 0) throw wrong("budget_ms", 0, "more than 0");
  if (row["arrival_ms"] == null && after === null)
    throw new BadRow('"arrival_ms" is missing (needed unless "after" is given)');
  if (row["max_tokens"] === undefined)
    throw wrong("max_tokens", undefined, "an integer ≥ 1, or null for no cap");
  return {
    request_id: stringField(row, "request_id"),
    job_id: stringField(row, "job_id"),
    turn: optionalInteger(row, "turn"),
    arrival_ms: optionalNumber(row, "arrival_ms"),
    after,
    think_ms: optionalNumber(row, "think_ms"),
    tool: row["tool"] == null ? null : toolField(objectsField(row, "tool")),
    prompt: promptOf(row),
    max_tokens: optionalInteger(row, "max_tokens", 1),
    expected_output_tokens: optionalInteger(row, "expected_output_tokens", 1),
    temperature: optionalNumber(row, "temperature"),
    params: optionalObject(row, "params"),
    budget_ms,
    agent: optionalString(row, "agent"),
    recorded,
    response_text: optionalString(row, "response_text"),
    metadata: optionalObject(row, "metadata"),
  };
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

function recordedField(recorded: JsonObject): Recorded {
  const result = {
    sent_ms: optionalNumber(recorded, "sent_ms"),
    first_token_ms: optionalNumber(recorded, "first_token_ms"),
    end_ms: optionalNumber(recorded, "end_ms"),
    prompt_tokens: optionalInteger(recorded, "prompt_tokens"),
    output_tokens: optionalInteger(recorded, "output_tokens"),
    cached_tokens: optionalInteger(recorded, "cached_tokens"),
  };
  if (result.sent_ms !== null && result.end_ms !== null && result.end_ms < result.sent_ms)
    throw new BadRow(`"recorded" ends (${result.end_ms} ms) before it is sent (${result.sent_ms} ms)`);
  return result;
}

function promptOf(row: JsonObject): TracePrompt {
  let key: (typeof PROMPT_KEYS)[number] | null = null;
  for (const candidate of PROMPT_KEYS) {
    if (row[candidate] == null) continue;
    if (key !== null) throw new BadRow(`"${key}" and "${candidate}" exclude each other`);
    key = candidate;
  }
  if (row["hash_ids"] != null && key !== "prompt_tokens")
    throw new BadRow('"hash_ids" stands beside "prompt_tokens" only');
  if (row["tools"] != null && key !== "messages") throw new BadRow('"tools" stands beside "messages" only');
  switch (key) {
    case null:
      throw new BadRow('a prompt is missing: one of "prompt", "prompt_ids", "messages", "prompt_tokens"');
    case "prompt":
      return { kind: "text", text: stringField(row, "prompt") };
    case "prompt_ids":
      return { kind: "ids", ids: tokenIds(row["prompt_ids"]) };
    case "messages": {
      const messages = objectsField(row, "messages");
      if (messages.length === 0) throw wrong("messages", messages, "at least one message");
      if (messages.some((message) => typeof message["role"] !== "string"))
        throw new BadRow('every message needs a "role"');
      return { kind: "messages", messages, tools: optionalObjects(row, "tools") };
    }
    case "prompt_tokens":
      return lengthPromptOf(row);
  }
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

function lengthPromptOf(row: JsonObject): TracePrompt {
  const tokens = integerField(row, "prompt_tokens", 1);
  if (row["hash_ids"] == null) {
    return { kind: "length", tokens, hash_ids: null, block_tokens: null, hash_scope: null };
  }
  const hash_ids = blockIdsField(row, "hash_ids");
  const block_tokens = integerField(row, "block_tokens", 1);
  const floor = Math.floor(tokens / block_tokens);
  if (hash_ids.length !== floor && hash_ids.length !== Math.ceil(tokens / block_tokens))
    throw new BadRow(
      `${hash_ids.length} hash_ids of ${block_tokens} tokens do not cover ${tokens} prompt tokens (floor or ceil)`,
    );
  return { kind: "length", tokens, hash_ids, block_tokens, hash_scope: optionalString(row, "hash_scope") };
}
