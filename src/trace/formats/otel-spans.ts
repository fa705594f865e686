/**
 * Spans in one shape, from the files people have: `{spans[]}` or an array of spans, OTLP JSON (`resourceSpans`), the SDK's
 * console exporter (`context`, `parent_id`), Jaeger (`data[].spans[]` with tags), MLflow (`data.spans[]`). Attribute values lose their OTLP wrapping.
 */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { toInstant, type Instant } from "../instant.ts";
import { isObject, scalarText } from "../openai-messages.ts";
import { BadRow } from "../row-account.ts";
import { fromMlflow } from "./otel-mlflow.ts";

export interface SpanEvent {
  readonly name: string;
  readonly time: Instant | null;
  readonly attributes: JsonObject;
}

export interface Span {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | null;
  readonly name: string;
  readonly start: Instant | null;
  readonly end: Instant | null;
  readonly attributes: JsonObject;
  readonly events: readonly SpanEvent[];
  readonly failed: boolean;
}

export interface PlacedSpan {
  readonly where: string;
  readonly span: unknown;
  /** A trace id of the whole document, for spans that have none. */
  readonly trace_id: string | null;
}

/** The raw spans of a document of any of these shapes; `null` = none of them. */
export function spansOf(document: unknown): PlacedSpan[] | null {
  if (Array.isArray(document)) {
    if (document.length === 0) return null;
    return document.flatMap((item: unknown, at): PlacedSpan[] => {
      const inner = isObject(item) && !isSpan(item) ? spansOf(item) : null;
      return (
        inner?.map((placed) => ({ ...placed, where: `[${at}].${placed.where}` })) ?? [
          { where: `[${at}]`, span: item, trace_id: null },
        ]
      );
    });
  }
  if (!isObject(document)) return null;
  if (isSpan(document)) return [{ where: "span", span: document, trace_id: null }];
  const own = scalarText(document["trace_id"] ?? document["traceId"] ?? document["traceID"]) || null;
  if (Array.isArray(document["spans"])) return place(document["spans"], "spans", own);
  const resources = document["resourceSpans"] ?? document["resource_spans"] ?? document["batches"];
  if (Array.isArray(resources))
    return resources.flatMap((one, at) => ofResource(one, `resourceSpans[${at}]`));
  if (Array.isArray(document["data"]))
    return document["data"].flatMap((one: unknown, at) =>
      isObject(one) && Array.isArray(one["spans"])
        ? place(one["spans"], `data[${at}].spans`, scalarText(one["traceID"]) || null)
        : [],
    );
  // MLflow has them in `data`, Databricks' inference tables a trace in each answer.
  for (const key of ["trace", "data", "databricks_output"])
    if (isObject(document[key])) return spansOf(document[key]);
  return null;
}

function ofResource(resource: unknown, where: string): PlacedSpan[] {
  if (!isObject(resource)) return [];
  const scopes =
    resource["scopeSpans"] ?? resource["scope_spans"] ?? resource["instrumentationLibrarySpans"] ?? [];
  if (!Array.isArray(scopes)) return [];
  return scopes.flatMap((scope: unknown, at) =>
    isObject(scope) && Array.isArray(scope["spans"])
      ? place(scope["spans"], `${where}.scopeSpans[${at}].spans`, null)
      : [],
  );
}

function place(spans: readonly unknown[], where: string, trace_id: string | null): PlacedSpan[] {
  return spans.map((span, at) => ({ where: `${where}[${at}]`, span, trace_id }));
}

/** Whether a value carries a span id, in any of the spellings. */
export function isSpan(value: unknown): boolean {
  if (!isObject(value)) return false;
  return (
    (value["span_id"] ?? value["spanId"] ?? value["spanID"]) !== undefined ||
    [value["context"], value["spanContext"]].some(
      (context) => isObject(context) && (context["span_id"] ?? context["spanId"]) !== undefined,
    )
  );
}

/** One span, or a {@link BadRow}. */
export function parseSpan(raw: JsonObject, fallbackTrace: string | null): Span {
  const told = raw["context"] ?? raw["spanContext"];
  const context = isObject(told) ? told : {};
  const outer = isObject(raw["parentSpanContext"]) ? scalarText(raw["parentSpanContext"]["spanId"]) : "";
  const id = (...keys: readonly string[]): string => {
    for (const key of keys) {
      const text = scalarText(raw[key] ?? context[key]);
      if (text !== "") return text.replace(/^0x/, "");
    }
    return "";
  };
  const span_id = id("span_id", "spanId", "spanID");
  if (span_id === "") throw new BadRow('"span_id" is missing');
  const trace_id = id("trace_id", "traceId", "traceID") || fallbackTrace;
  if (trace_id === null) throw new BadRow('"trace_id" is missing');
  const start = time(raw, "start_time", "startTime", "startTimeUnixNano", "start_time_unix_nano");
  let end = time(raw, "end_time", "endTime", "endTimeUnixNano", "end_time_unix_nano");
  // Jaeger tells µs and a duration.
  if (end === null && start !== null && typeof raw["duration"] === "number")
    end = { epoch_ms: start.epoch_ms, fraction: start.fraction + raw["duration"] / 1000 };
  const status = isObject(raw["status"]) ? raw["status"] : {};
  const code = scalarText(status["code"] ?? status["status_code"] ?? raw["status_code"]);
  return {
    trace_id,
    span_id,
    parent_id:
      id("parent_span_id", "parentSpanId", "parent_id", "parentSpanID") || outer || jaegerParent(raw),
    name: scalarText(raw["name"] ?? raw["operationName"]),
    start,
    end,
    attributes: fromMlflow(attributesOf(raw["attributes"] ?? raw["tags"] ?? raw["span_attributes"])),
    events: eventsOf(raw["events"] ?? raw["logs"]),
    failed: code === "2" || /error/i.test(code),
  };
}

function time(raw: JsonObject, ...keys: readonly string[]): Instant | null {
  for (const key of keys) {
    const value = raw[key];
    if (value == null || value === "") continue;
    const instant = instantOf(value);
    if (instant === null) throw new BadRow(`"${key}" is no instant`);
    return instant;
  }
  return null;
}

/** An instant as logs write it, or (the SDK for JavaScript) as `[seconds, nanoseconds]`. */
function instantOf(value: unknown): Instant | null {
  if (!Array.isArray(value)) return toInstant(value);
  const [seconds, nanos] = value as unknown[];
  if (typeof seconds !== "number" || typeof nanos !== "number") return null;
  if (!Number.isInteger(seconds) || seconds < 0 || !(nanos >= 0 && nanos < 1e9)) return null;
  const ms = Math.floor(nanos / 1e6);
  return { epoch_ms: seconds * 1000 + ms, fraction: nanos / 1e6 - ms };
}

function jaegerParent(raw: JsonObject): string | null {
  const references = raw["references"];
  const first: unknown = Array.isArray(references) ? references[0] : undefined;
  return isObject(first) ? scalarText(first["spanID"]) || null : null;
}

function eventsOf(raw: unknown): SpanEvent[] {
  if (!Array.isArray(raw)) return [];
  return raw.filter(isObject).map((event) => {
    const attributes = attributesOf(event["attributes"] ?? event["fields"]);
    return {
      name: scalarText(event["name"] ?? attributes["event"] ?? attributes["name"]),
      time: instantOf(
        event["timestamp"] ?? event["timeUnixNano"] ?? event["time_unix_nano"] ?? event["time"],
      ),
      attributes,
    };
  });
}

/** A dictionary, a list of `{key, value}` (OTLP's wrapped values, or Jaeger's plain ones), or nested dictionaries. */
function attributesOf(raw: unknown): JsonObject {
  const flat: Record<string, JsonValue | undefined> = {};
  if (Array.isArray(raw)) {
    for (const item of raw.filter(isObject)) flat[scalarText(item["key"])] = unwrap(item["value"]);
  } else if (isObject(raw)) {
    for (const [key, value] of Object.entries(raw)) addFlat(flat, key, unwrap(value));
  }
  return flat;
}

/** Some exporters nest `gen_ai: {request: {model}}`: both the nested value and its dotted names are kept. */
function addFlat(
  flat: Record<string, JsonValue | undefined>,
  key: string,
  value: JsonValue | undefined,
): void {
  flat[key] = value;
  if (
    !isObject(value) ||
    !/^(gen_ai|llm|openinference|input|output|session|agent|request|response|usage|tool)(\.|$)/.test(key)
  )
    return;
  for (const [inner, held] of Object.entries(value)) addFlat(flat, `${key}.${inner}`, held);
}

function unwrap(value: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(value)) return value;
  const keys = Object.keys(value);
  if (keys.length !== 1) return value;
  const [key] = keys as [string];
  const inner = value[key];
  switch (key) {
    case "stringValue":
    case "boolValue":
    case "doubleValue":
    case "bytesValue":
      return inner;
    case "intValue":
      return typeof inner === "string" ? Number(inner) : inner;
    case "arrayValue": {
      const values = isObject(inner) ? inner["values"] : inner;
      return Array.isArray(values) ? values.map((item: JsonValue) => unwrap(item) ?? null) : [];
    }
    case "kvlistValue": {
      const values = isObject(inner) ? inner["values"] : inner;
      return attributesOf(values);
    }
    default:
      return value;
  }
}
