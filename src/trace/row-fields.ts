/**
 * Fast checks of one row's fields. Each returns a typed value or throws {@link BadRow} with the field's name; `optional*`
 * take an absent or `null` field as `null`.
 */
import type { JsonObject } from "../core/json.ts";
import { shortText } from "../core/terminal-text.ts";
import { parseIsoInstant, toInstant, type Instant } from "./instant.ts";
import { BadRow } from "./row-account.ts";
import type { BlockId } from "./trace-request.ts";

/**
 * No time, length or count is larger, in any unit (Unix time in ns is 2e18); a larger one would overflow when its unit is
 * changed or it is squared.
 */
export const MAX_NUMBER = 1e21;

/**
 * A number ≥ `min` and below {@link MAX_NUMBER}. Throws on anything else, a numeric string included, unless it is an integer
 * beyond 2^53 (Unix time in ns), which comes as a string of digits.
 */
export function numberField(row: JsonObject, key: string, min = 0): number {
  const found = row[key];
  const value = typeof found === "string" && /^\d{16,21}$/.test(found) ? Number(found) : found;
  if (typeof value === "number" && value >= min && value < MAX_NUMBER) return value;
  throw wrong(
    key,
    value,
    `a number ≥ ${min}${typeof value === "number" && value > min ? " and below 1e21" : ""}`,
  );
}

export function optionalNumber(row: JsonObject, key: string, min = 0): number | null {
  return row[key] == null ? null : numberField(row, key, min);
}

/** An integer ≥ `min` that a double holds exactly (`3.0` is one). */
export function integerField(row: JsonObject, key: string, min = 0): number {
  const value = row[key];
  if (typeof value === "number" && value >= min && Number.isSafeInteger(value)) return value;
  throw wrong(key, value, `an integer ≥ ${min}`);
}

export function optionalInteger(row: JsonObject, key: string, min = 0): number | null {
  return row[key] == null ? null : integerField(row, key, min);
}

/** A non-empty string. */
export function stringField(row: JsonObject, key: string): string {
  const value = row[key];
  if (typeof value === "string" && value.length > 0) return value;
  throw wrong(key, value, "a non-empty string");
}

export function optionalString(row: JsonObject, key: string): string | null {
  const value = row[key];
  if (value == null) return null;
  if (typeof value === "string") return value;
  throw wrong(key, value, "a string");
}

/** An id: a non-empty string, or an integer, which becomes its digits. */
export function idField(row: JsonObject, key: string): string {
  const value = row[key];
  if (typeof value === "string" && value.length > 0) return value;
  if (typeof value === "number" && Number.isInteger(value)) return String(value);
  throw wrong(key, value, "an id (a string or an integer)");
}

export function optionalId(row: JsonObject, key: string): string | null {
  return row[key] == null ? null : idField(row, key);
}

/** An instant in any form that logs use ({@link toInstant}). */
export function optionalInstant(row: JsonObject, key: string): Instant | null {
  if (row[key] == null) return null;
  const instant = toInstant(row[key]);
  if (instant === null) throw new BadRow(`"${key}" is no instant`);
  return instant;
}

/** An instant as ISO 8601 text only. */
export function optionalIsoInstant(row: JsonObject, key: string): Instant | null {
  const value = row[key];
  if (value == null) return null;
  const instant = typeof value === "string" ? parseIsoInstant(value) : null;
  if (instant === null) throw wrong(key, value, "an ISO 8601 instant");
  return instant;
}

export function objectField(row: JsonObject, key: string): JsonObject {
  const value = row[key];
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw wrong(key, value, "an object");
}

export function optionalObject(row: JsonObject, key: string): JsonObject | null {
  return row[key] == null ? null : objectField(row, key);
}

/** An array of objects. */
export function objectsField(row: JsonObject, key: string): readonly JsonObject[] {
  const value = row[key];
  if (!Array.isArray(value)) throw wrong(key, value, "an array of objects");
  for (const item of value as unknown[]) {
    if (typeof item !== "object" || item === null || Array.isArray(item))
      throw new BadRow(`"${key}" must hold objects only`);
  }
  return value as readonly JsonObject[];
}

export function optionalObjects(row: JsonObject, key: string): readonly JsonObject[] | null {
  return row[key] == null ? null : objectsField(row, key);
}

/** Block ids: integers ≥ 0 or strings (integers beyond 2^53 come as strings of digits). */
export function blockIdsField(row: JsonObject, key: string): readonly BlockId[] {
  const value = row[key];
  if (!Array.isArray(value)) throw wrong(key, value, "an array of block ids");
  for (const id of value as unknown[]) {
    if (typeof id === "string" ? id.length === 0 : !Number.isSafeInteger(id))
      throw new BadRow(`"${key}" must hold integers or strings, not ${show(id)}`);
  }
  return value as readonly BlockId[];
}

export function optionalBlockIds(row: JsonObject, key: string): readonly BlockId[] | null {
  return row[key] == null ? null : blockIdsField(row, key);
}

/** The fault of one field: names it, what was wanted, and what stood there. */
export function wrong(key: string, value: unknown, wanted: string): BadRow {
  return new BadRow(
    value === undefined
      ? `"${key}" is missing (${wanted})`
      : `"${key}" must be ${wanted}, not ${show(value)}`,
  );
}

function show(value: unknown): string {
  return shortText(JSON.stringify(value) ?? String(value), 40);
}
