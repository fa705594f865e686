/**
 * Langfuse exports: `{trace, observations[]}` (or the API's trace with its observations inside, or a list of either, or rows of
 * observations). GENERATION rows are turns, in any order; tools tell the time between them. `latency` is seconds or
 * milliseconds depending on the version, so only instants count.
 */
import type { JsonObject } from "../../core/json.ts";
import { readText } from "../../core/lines.ts";
import { handleItem } from "../document-rows.ts";
import { parseDocument } from "../document.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis, toInstant } from "../instant.ts";
import { parseLossless } from "../lossless-json.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject, scalarText, toolCall, toOpenAiMessages, toOpenAiTools } from "../openai-messages.ts";
import { checkCall, linkCalls, type RecordedCall, type ToolRun } from "../recorded-calls.ts";
import { BadRow, notJson, RowAccount } from "../row-account.ts";
import { isBlank, kindOf } from "../row-reader.ts";
import { idField, optionalInstant } from "../row-fields.ts";
import type { Trace } from "../trace.ts";
import { decodeJson } from "./otel-messages.ts";

interface Placed {
  readonly where: string;
  readonly item: unknown;
  readonly trace_id: string | null;
}

export const langfuse: TraceFormat = {
  name: "langfuse",
  title: "Langfuse export (JSON trace with observations)",
  marks: ["trace", "observations"],
  detect(sample) {
    const first = sample.document ?? sample.rows.find(isObject);
    const found = observationsOf(first)?.find(({ item }) => isObject(item))?.item;
    return isObject(found) && isObservation(found) ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const file = options.name ?? path;
    const account = new RowAccount(path, options);
    const axis = new TimeAxis();
    const seen = new Set<string>();
    const spans: Span[] = [];
    const calls: RecordedCall[] = [];
    for (const { where, item, trace_id } of placedObservations(await readText(path), file, account)) {
      handleItem(account, where, item, (raw) => {
        const row = camelCased(raw);
        const span = parseObservation(row, trace_id, axis);
        if (seen.has(span.key)) return "observation exported twice";
        seen.add(span.key);
        spans.push(span);
        if (span.type !== "GENERATION") return span.type.toLowerCase();
        const call = toCall(span, row, axis);
        if (row["input"] == null && row["output"] == null && call.prompt_tokens === null)
          return "generation without content";
        if (row["level"] === "ERROR" && call.output_tokens === null && call.output.length === 0)
          return "failed generation";
        checkCall(call);
        calls.push(call);
        return undefined;
      });
    }
    const wrapping = wrappingGenerations(spans);
    const own = calls.filter(({ call_id }) => !wrapping.has(call_id));
    const wrappers = calls.length - own.length;
    if (wrappers > 0) account.unuse("generation around another", wrappers);
    const linked = linkCalls(own, toolRuns(spans));
    const placed = fromFirstArrival(linked.requests, axis);
    const told = toldBy(placed.requests);
    return newTrace("langfuse", account, {
      ...placed,
      provenance: {
        ...told,
        order: "inferred",
        think_time: told.arrivals === "missing" ? "missing" : "inferred",
      },
      notes: [
        ...(own.length > 1
          ? [
              `dependencies are inferred: ${linked.by_text} generations hold an earlier output, the others follow by time`,
            ]
          : []),
        ...(wrappers > 0 ? [`${wrappers} generations only wrap another one and are not counted again`] : []),
        ...linked.notes,
      ],
    });
  },
};

function isObservation(raw: JsonObject): boolean {
  const row = camelCased(raw);
  return (
    typeof row["type"] === "string" &&
    "startTime" in row &&
    ("traceId" in row || "parentObservationId" in row)
  );
}

/** The export to a bucket names its columns in snake_case, the API and the page in camelCase. */
function camelCased(row: JsonObject): JsonObject {
  if (row["start_time"] === undefined || row["startTime"] !== undefined) return row;
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

function observationsOf(document: unknown, where = ""): Placed[] | null {
  if (Array.isArray(document)) {
    const found = document.map((item: unknown, at) =>
      isObject(item) && isObservation(item)
        ? [{ where: `${where}[${at}]`, item, trace_id: null }]
        : observationsOf(item, `${where}[${at}].`),
    );
    return found.every((one) => one === null) ? null : found.flatMap((one) => one ?? []);
  }
  if (!isObject(document)) return null;
  if (isObservation(document)) return [{ where: "observation", item: document, trace_id: null }];
  const trace = isObject(document["trace"]) ? document["trace"] : document;
  const list = document["observations"] ?? trace["observations"] ?? document["data"];
  if (!Array.isArray(list)) return null;
  const id = scalarText(trace["id"]) || null;
  return list.map((item: unknown, at) => ({ where: `${where}observations[${at}]`, item, trace_id: id }));
}

function placedObservations(text: string, file: string, account: RowAccount): Placed[] {
  const lines = text.split("\n");
  const filled = lines.filter((line) => !isBlank(line));
  let perLine = filled.length > 1;
  if (perLine) {
    try {
      parseLossless(filled[0] ?? "");
    } catch {
      perLine = false;
    }
  }
  if (!perLine) {
    const document = parseDocument(text, file);
    const found = observationsOf(document);
    if (found === null) account.refuse(null, `no observations in it (${kindOf(document)})`);
    return found ?? [];
  }
  return lines.flatMap((line, at) => {
    if (isBlank(line)) return [];
    try {
      const found = observationsOf(parseLossless(line));
      if (found !== null) return found.map((one) => ({ ...one, where: `line ${at + 1}: ${one.where}` }));
      account.refuse(at + 1, "no observation in this line");
    } catch (error) {
      account.refuse(at + 1, notJson(error));
    }
    return [];
  });
}

interface Span {
  readonly key: string;
  readonly job_id: string;
  readonly id: string;
  readonly parent_id: string | null;
  readonly type: string;
  readonly name: string;
  readonly start_ms: number | null;
  readonly end_ms: number | null;
}

function parseObservation(row: JsonObject, trace_id: string | null, axis: TimeAxis): Span {
  const id = idField(row, "id");
  const job_id = scalarText(row["traceId"]) || trace_id;
  if (job_id === null) throw new BadRow('"traceId" is missing');
  const type = scalarText(row["type"]).toUpperCase();
  if (type === "") throw new BadRow('"type" is missing');
  const time = (key: string): number | null => axis.at(optionalInstant(row, key));
  return {
    key: `${job_id}/${id}`,
    job_id,
    id,
    parent_id: scalarText(row["parentObservationId"]) || null,
    type,
    name: scalarText(row["name"]) || type.toLowerCase(),
    start_ms: time("startTime"),
    end_ms: time("endTime"),
  };
}

function toCall(span: Span, row: JsonObject, axis: TimeAxis): RecordedCall {
  const settings = decodeJson(row["modelParameters"]);
  const parameters = isObject(settings) ? settings : {};
  const setting = (name: string): number | null => {
    const value = parameters[name];
    const parsed = typeof value === "string" && value !== "" ? Number(value) : value;
    return typeof parsed === "number" && Number.isFinite(parsed) ? parsed : null;
  };
  const prompt = readInput(row["input"], parameters["instructions"]);
  const model = row["model"] ?? row["providedModelName"];
  const top_p = setting("top_p");
  const first = toInstant(row["completionStartTime"]);
  return {
    call_id: span.key,
    job_id: span.job_id,
    start_ms: span.start_ms,
    first_token_ms: axis.at(first),
    end_ms: span.end_ms,
    input: prompt.messages,
    output: readOutput(row),
    tools: prompt.tools ?? toolsOfMetadata(row["metadata"]),
    ...usage(row),
    max_tokens: setting("max_tokens") ?? setting("max_completion_tokens") ?? setting("max_output_tokens"),
    temperature: setting("temperature"),
    params: top_p === null ? null : { top_p },
    agent: null,
    metadata: typeof model === "string" && model !== "" ? { model } : null,
  };
}

/** LangChain's tracer puts tool definitions among the messages, as if tools had said them. */
function readInput(
  raw: unknown,
  instructions: unknown,
): { readonly messages: JsonObject[]; readonly tools: JsonObject[] | null } {
  const input = decodeJson(raw);
  const tools = isObject(input) ? toOpenAiTools(decodeJson(input["tools"])) : null;
  const all: unknown = isObject(input) ? (decodeJson(input["messages"]) ?? input) : input;
  if (!Array.isArray(all)) return { messages: withInstructions(toOpenAiMessages(all), instructions), tools };
  const flat = all.length > 0 && all.every(Array.isArray) ? all.flat() : all;
  const isDefinition = (message: unknown): boolean => {
    const content = isObject(message) && message["role"] === "tool" ? decodeJson(message["content"]) : null;
    return isObject(content) && content["type"] === "function" && isObject(content["function"]);
  };
  const definitions = flat
    .filter(isDefinition)
    .map((message) => decodeJson((message as JsonObject)["content"]));
  const messages = toOpenAiMessages(flat.filter((message) => !isDefinition(message)));
  return { messages: withInstructions(messages, instructions), tools: tools ?? toOpenAiTools(definitions) };
}

/** What came over OpenTelemetry keeps its attributes in the metadata. */
function toolsOfMetadata(raw: unknown): JsonObject[] | null {
  const metadata = decodeJson(raw);
  const attributes = isObject(metadata) ? decodeJson(metadata["attributes"]) : null;
  return isObject(attributes) ? toOpenAiTools(decodeJson(attributes["gen_ai.tool.definitions"])) : null;
}

/** The Responses API carries the system prompt beside the input. */
function withInstructions(messages: JsonObject[], instructions: unknown): JsonObject[] {
  if (typeof instructions !== "string" || instructions === "" || messages.length === 0) return messages;
  if (messages.some(({ role }) => role === "system")) return messages;
  return [{ role: "system", content: instructions }, ...messages];
}

function readOutput(row: JsonObject): JsonObject[] {
  const output = decodeJson(row["output"]);
  const held = isObject(output) && Array.isArray(output["output"]) ? output["output"] : output;
  const messages = toOpenAiMessages(
    typeof held === "string" ? [{ role: "assistant", content: held }] : held,
  ).map((message) => (message["role"] === "user" ? { ...message, role: "assistant" } : message));
  if (messages.some((message) => message["tool_calls"] !== undefined)) return messages;
  const calls = Array.isArray(row["toolCalls"])
    ? row["toolCalls"].map((call: unknown) => decodeJson(call)).filter(isObject)
    : [];
  return calls.length === 0
    ? messages
    : [...messages, { role: "assistant", content: null, tool_calls: calls.map(toolCall) }];
}

/**
 * Counts, cached and reasoning tokens counted in. Some SDKs put cached tokens beside `input` (the total then exceeds input +
 * output), others inside it.
 */
function usage(row: JsonObject): Pick<RecordedCall, "prompt_tokens" | "output_tokens" | "cached_tokens"> {
  const details = firstObject(row["usageDetails"], row["usage"]);
  const value = (...keys: readonly string[]): number | null => {
    for (const key of keys) {
      const told = details[key];
      const found = typeof told === "string" && /^\d+$/.test(told) ? Number(told) : told;
      if (typeof found === "number" && found >= 0 && Number.isInteger(found)) return found;
    }
    return null;
  };
  const input = value("input", "promptTokens", "prompt_tokens", "input_tokens");
  const output = value("output", "completionTokens", "completion_tokens", "output_tokens");
  const total = value("total", "totalTokens", "total_tokens");
  const cachedKeys = Object.keys(details).filter((key) => /cache/i.test(key) && !/output/i.test(key));
  const readKeys = cachedKeys.filter((key) => !/creat|writ/i.test(key));
  const sum = (keys: readonly string[]): number => keys.reduce((all, key) => all + (value(key) ?? 0), 0);
  const beside = total !== null && input !== null && output !== null && total > input + output;
  const reasoning = Object.keys(details).filter((key) => /^output_.*reasoning|^reasoning/i.test(key));
  return {
    prompt_tokens: input === null ? null : beside ? input + sum(cachedKeys) : input,
    output_tokens:
      output === null ? null : beside ? Math.min(output + sum(reasoning), total - input) : output,
    cached_tokens: readKeys.length > 0 ? sum(readKeys) : null,
  };
}

function firstObject(...candidates: readonly unknown[]): JsonObject {
  for (const candidate of candidates) {
    const decoded = decodeJson(candidate);
    if (isObject(decoded) && Object.keys(decoded).length > 0) return decoded;
  }
  return {};
}

/** Generations that hold another one inside their time: an SDK logged one call twice, or a run of calls as one. */
function wrappingGenerations(spans: readonly Span[]): Set<string> {
  const byKey = new Map(spans.map((span) => [span.key, span]));
  const wrapping = new Set<string>();
  for (const inner of spans) {
    if (inner.type !== "GENERATION") continue;
    const seen = new Set<string>([inner.key]);
    for (let id = inner.parent_id; id !== null;) {
      const outer = byKey.get(`${inner.job_id}/${id}`);
      if (outer === undefined || seen.has(outer.key)) break;
      seen.add(outer.key);
      if (outer.type === "GENERATION" && holds(outer, inner)) wrapping.add(outer.key);
      id = outer.parent_id;
    }
  }
  return wrapping;
}

function holds(outer: Span, inner: Span): boolean {
  if (outer.start_ms === null || outer.end_ms === null || inner.start_ms === null || inner.end_ms === null)
    return false;
  return outer.start_ms <= inner.start_ms && outer.end_ms >= inner.end_ms;
}

/** TOOL rows; and SPAN rows that hold nothing and take time (frameworks without tool rows name them after the tool). */
function toolRuns(spans: readonly Span[]): ToolRun[] {
  const holders = new Set(
    spans.flatMap(({ job_id, parent_id }) => (parent_id === null ? [] : [`${job_id}/${parent_id}`])),
  );
  return spans.flatMap(({ key, job_id, name, type, start_ms, end_ms }) => {
    if (start_ms === null || end_ms === null || end_ms < start_ms) return [];
    const isTool = type === "TOOL" || (type === "SPAN" && !holders.has(key) && end_ms > start_ms);
    return isTool ? [{ job_id, name, start_ms, end_ms }] : [];
  });
}
