/** A record as one line of `records.jsonl`, and back. */
import type { Ms } from "../core/units.ts";
import { redactedJson } from "./redacted-json.ts";
import type { RequestRecord, RequestStatus } from "./request-record.ts";

/** Times are written in whole microseconds: 20 times finer than the error of a time stamp, and a third of the bytes. */
const PER_MS = 1000;

/** The line (with its LF), secrets redacted, times rounded to 1 µs. */
export function recordLine(record: RequestRecord): string {
  const rounded: RequestRecord = {
    ...record,
    intended_ms: round(record.intended_ms),
    slot_ms: round(record.slot_ms),
    sent_ms: round(record.sent_ms),
    connect_ms: round(record.connect_ms) ?? 0,
    headers_ms: round(record.headers_ms),
    first_byte_ms: round(record.first_byte_ms),
    first_token_ms: round(record.first_token_ms),
    first_output_ms: round(record.first_output_ms),
    last_token_ms: round(record.last_token_ms),
    end_ms: round(record.end_ms),
    think_ms: round(record.think_ms) ?? 0,
    ...(record.chunk_ms === undefined
      ? {}
      : { chunk_ms: record.chunk_ms.map((ms) => Math.round(ms * PER_MS) / PER_MS) }),
  };
  return `${redactedJson(rounded)}\n`;
}

function round(ms: Ms | null): Ms | null {
  return ms === null ? null : Math.round(ms * PER_MS) / PER_MS;
}

const STATUSES: ReadonlySet<string> = new Set<RequestStatus>(["ok", "failed", "cancelled", "skipped"]);
const NULLABLE_NUMBERS = [
  "intended_ms",
  "slot_ms",
  "sent_ms",
  "headers_ms",
  "first_byte_ms",
  "first_token_ms",
  "first_output_ms",
  "last_token_ms",
  "end_ms",
  "prompt_tokens",
  "output_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "planned_prompt_tokens",
  "planned_output_tokens",
] as const;
const NULLABLE_OBJECTS = ["failure", "tool_calls", "engine", "finish_reason", "agent"] as const;
const NUMBERS_WITH_DEFAULT = { turn: 0, connect_ms: 0, think_ms: 0, attempts: 1 } as const;

/**
 * Parses one line. Keys that an older version or another tool left out become `null` (or their default). Returns the
 * reason, a string, where the line is no record. Hand-written checks: a schema library costs more than the parsing.
 */
export function parseRecordLine(text: string): RequestRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not JSON (${(error as Error).message})`;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return "not a record";
  const row = value as Record<string, unknown>;
  if (typeof row["request_id"] !== "string") return "request_id is not a string";
  if (typeof row["job_id"] !== "string") row["job_id"] = row["request_id"];
  if (!STATUSES.has(row["status"] as string)) return `status is ${JSON.stringify(row["status"])}`;
  for (const key of NULLABLE_NUMBERS) {
    const item = row[key];
    if (item === undefined) row[key] = null;
    else if (item !== null && !isFiniteNumber(item)) return `${key} is not a number`;
  }
  for (const key of NULLABLE_OBJECTS) if (row[key] === undefined) row[key] = null;
  for (const [key, fallback] of Object.entries(NUMBERS_WITH_DEFAULT)) {
    const item = row[key];
    if (item === undefined || item === null) row[key] = fallback;
    else if (!isFiniteNumber(item)) return `${key} is not a number`;
  }
  const [sent, end] = [row["sent_ms"], row["end_ms"]] as (number | null)[];
  if (typeof sent === "number" && typeof end === "number" && end < sent) return "end_ms is before sent_ms";
  const failure = row["failure"];
  if (failure !== null && (typeof failure !== "object" || typeof field(failure, "code") !== "string"))
    return "failure has no code";
  const engine = row["engine"];
  if (engine !== null && (typeof engine !== "object" || Array.isArray(engine)))
    return "engine is not an object";
  return checkArrays(row) ?? (row as unknown as RequestRecord);
}

function checkArrays(row: Record<string, unknown>): string | null {
  const chunks = row["chunk_ms"];
  if (chunks === null) delete row["chunk_ms"];
  else if (chunks !== undefined && !isNumbers(chunks)) return "chunk_ms is not a list of numbers";
  const tokens = row["chunk_tokens"];
  if (tokens === undefined) row["chunk_tokens"] = null;
  else if (tokens !== null && !isNumbers(tokens)) return "chunk_tokens is not a list of numbers";
  if (!isFiniteNumber(row["chunks"])) row["chunks"] = Array.isArray(chunks) ? chunks.length : 0;
  const after = row["after"];
  if (after === undefined || after === null) row["after"] = [];
  else if (!Array.isArray(after) || after.some((id) => typeof id !== "string"))
    return "after is not a list of ids";
  row["prompt_tokens_source"] ??= row["prompt_tokens"] === null ? "none" : "server";
  row["output_tokens_source"] ??= row["output_tokens"] === null ? "none" : "server";
  return null;
}

function field(object: object, key: string): unknown {
  return (object as Record<string, unknown>)[key];
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && value - value === 0;
}

function isNumbers(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i++) if (!isFiniteNumber(value[i])) return false;
  return true;
}
