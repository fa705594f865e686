/**
 * OpenTelemetry GenAI spans. A model span is a turn of its trace's job; what waited for what is inferred (see
 * infer-parents), and tool spans tell the time between turns.
 */
import type { JsonObject } from "../../core/json.ts";
import { parseDocument } from "../document.ts";
import { readText } from "../../core/lines.ts";
import { handleItem } from "../document-rows.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject, scalarText } from "../openai-messages.ts";
import { checkCall, linkCalls, type RecordedCall, type ToolRun } from "../recorded-calls.ts";
import { notJson, RowAccount } from "../row-account.ts";
import { isBlank, kindOf } from "../row-reader.ts";
import { parseLossless } from "../lossless-json.ts";
import type { Trace } from "../trace.ts";
import { adkSettings, decodeJson, inputMessages, outputMessages, toolDefinitions } from "./otel-messages.ts";
import { isSpan, parseSpan, spansOf, type PlacedSpan, type Span } from "./otel-spans.ts";

const MODEL_OPERATIONS = new Set([
  "chat",
  "text_completion",
  "generate_content",
  "completion",
  "chat_completion",
  "messages",
  "responses",
]);
/** Settings that the AI SDK calls otherwise. */
const AI_SDK: Readonly<Record<string, string>> = {
  max_tokens: "maxTokens",
  max_output_tokens: "maxOutputTokens",
  top_p: "topP",
  top_k: "topK",
  frequency_penalty: "frequencyPenalty",
  presence_penalty: "presencePenalty",
};
const HEAD_MARKS =
  /"(gen_ai\.|llm\.(model_name|input_messages|token_count|request)|openinference\.span\.kind|ai\.operationId|mlflow\.spanType)/;

export const otel: TraceFormat = {
  name: "otel",
  title: "OpenTelemetry GenAI spans (JSON, OTLP JSON, one document or JSONL)",
  marks: ["spans", "resourceSpans", "trace_id", "span_id"],
  detect(sample) {
    const first = sample.document ?? sample.rows.find(isObject);
    const spans = first === undefined ? null : spansOf(first);
    if (spans?.some(({ span }) => isObject(span) && isSpan(span)) === true)
      return HEAD_MARKS.test(sample.head) ? 1 : 0.3;
    // A document that is larger than what detection parses.
    return /"(resourceSpans|spans)"\s*:\s*\[/.test(sample.head) && HEAD_MARKS.test(sample.head) ? 0.9 : 0;
  },
  async read(path, options): Promise<Trace> {
    const file = options.name ?? path;
    const account = new RowAccount(path, options);
    const reader = new SpanReader();
    const spans = placedSpans(await readText(path), file, account);
    for (const placed of spans)
      handleItem(account, placed.where, placed.span, (raw) => reader.span(raw, placed.trace_id), file);
    const { calls, tools, wrappers, axis } = reader.result();
    const { requests, by_text, notes: linkNotes } = linkCalls(calls, tools);
    const placed = fromFirstArrival(requests, axis);
    const notes: string[] = [];
    if (requests.length > 1)
      notes.push(
        `dependencies are inferred: ${by_text} requests hold an earlier output, the others follow by time`,
      );
    if (wrappers > 0) {
      account.unuse("span around a model span", wrappers);
      notes.push(`${wrappers} model spans only wrap another one and are not counted again`);
    }
    notes.push(...linkNotes);
    return newTrace("otel", account, {
      ...placed,
      provenance: { ...toldBy(requests), order: "inferred", think_time: "inferred" },
      notes,
    });
  },
};

/** One document, or (as collectors write) one document a line. */
function placedSpans(text: string, file: string, account: RowAccount): PlacedSpan[] {
  const lines = text.split("\n");
  const perLine =
    lines.filter((line) => !isBlank(line)).length > 1 && isJson(lines.find((line) => !isBlank(line)) ?? "");
  if (!perLine) {
    const document = parseDocument(text, file);
    const spans = spansOf(document);
    if (spans === null) account.refuse(null, `no spans in it (${kindOf(document)})`, file);
    return spans ?? [];
  }
  return lines.flatMap((line, at) => {
    if (isBlank(line)) return [];
    try {
      const spans = spansOf(parseLossless(line));
      if (spans !== null)
        return spans.map((placed) => ({ ...placed, where: `line ${at + 1}: ${placed.where}` }));
      account.refuse(at + 1, "no spans in this line", file);
    } catch (error) {
      account.refuse(at + 1, notJson(error), file);
    }
    return [];
  });
}

function isJson(line: string): boolean {
  try {
    parseLossless(line);
    return true;
  } catch {
    return false;
  }
}

class SpanReader {
  readonly #axis = new TimeAxis();
  readonly #calls: { readonly span: Span; readonly call: RecordedCall }[] = [];
  readonly #tools: ToolRun[] = [];
  readonly #parents = new Map<string, string | null>();

  /** A kind that is no turn, or nothing for a model span. */
  span(raw: JsonObject, trace_id: string | null): string | undefined {
    const span = parseSpan(raw, trace_id);
    const key = `${span.trace_id}/${span.span_id}`;
    if (this.#parents.has(key)) return "span exported twice";
    this.#parents.set(key, span.parent_id);
    const kind = spanKind(span);
    if (kind === "tool") this.#addTool(span);
    if (kind !== "model") return kind === "tool" ? "tool span" : "other span";
    const call = this.#toCall(span, key);
    if (span.failed && call.output.length === 0 && call.output_tokens === null) return "failed model call";
    checkCall(call);
    this.#calls.push({ span, call });
    return undefined;
  }

  result(): { calls: RecordedCall[]; tools: readonly ToolRun[]; wrappers: number; axis: TimeAxis } {
    const wrapping = this.#wrapping();
    const outerOf = new Map(
      [...wrapping].flatMap(([outer, inner]) => (inner.length === 1 ? [[inner[0], outer]] : [])),
    );
    const byId = this.#byId();
    const calls = this.#calls
      .filter(({ call }) => !wrapping.has(call.call_id))
      .map(({ call }) => completed(call, byId.get(outerOf.get(call.call_id) ?? "")));
    return { calls, tools: this.#tools, wrappers: wrapping.size, axis: this.#axis };
  }

  #byId(): Map<string, RecordedCall> {
    return new Map(this.#calls.map(({ call }) => [call.call_id, call]));
  }

  /** Model spans that hold other model spans inside their time, and those: two instrumentations of one call. */
  #wrapping(): Map<string, string[]> {
    const byId = this.#byId();
    const wrapping = new Map<string, string[]>();
    for (const { span, call } of this.#calls) {
      const seen = new Set<string>();
      for (
        let id = span.parent_id;
        id !== null && !seen.has(id);
        id = this.#parents.get(`${span.trace_id}/${id}`) ?? null
      ) {
        seen.add(id);
        const outer = byId.get(`${span.trace_id}/${id}`);
        if (outer !== undefined && contains(outer, call))
          wrapping.set(outer.call_id, [...(wrapping.get(outer.call_id) ?? []), call.call_id]);
      }
    }
    return wrapping;
  }

  #addTool(span: Span): void {
    const [start_ms, end_ms] = [this.#axis.at(span.start), this.#axis.at(span.end)];
    if (start_ms === null || end_ms === null || end_ms < start_ms) return;
    const name =
      text(span, "gen_ai.tool.name", "tool.name", "ai.toolCall.name") ??
      span.name.replace(/^execute_tool\s+/, "");
    this.#tools.push({ job_id: span.trace_id, name, start_ms, end_ms });
  }

  #toCall(span: Span, call_id: string): RecordedCall {
    const { attributes } = span;
    const parameters = decodeJson(attributes["llm.invocation_parameters"]);
    const asked = isObject(parameters) ? parameters : adkSettings(span);
    const setting = (name: string): number | null =>
      number(attributes[`gen_ai.request.${name}`]) ??
      number(asked[name]) ??
      number(attributes[`ai.settings.${AI_SDK[name] ?? name}`]);
    return {
      call_id,
      job_id: span.trace_id,
      start_ms: this.#axis.at(span.start),
      first_token_ms: this.#firstToken(span),
      end_ms: this.#axis.at(span.end),
      input: inputMessages(span),
      output: outputMessages(span),
      tools: toolDefinitions(span),
      prompt_tokens: count(
        span,
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "llm.usage.prompt_tokens",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
      ),
      output_tokens: count(
        span,
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "llm.usage.completion_tokens",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
      ),
      cached_tokens: count(
        span,
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cached_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.inputTokenDetails.cacheReadTokens",
        "ai.usage.cachedInputTokens",
      ),
      max_tokens: setting("max_tokens") ?? setting("max_completion_tokens") ?? setting("max_output_tokens"),
      temperature: setting("temperature"),
      params: passedThrough(setting, attributes["gen_ai.request.stop_sequences"] ?? asked["stop"]),
      agent: text(span, "gen_ai.agent.name", "agent.name"),
      metadata: pick(span, {
        model: ["gen_ai.request.model", "llm.model_name", "gen_ai.response.model"],
        session: ["gen_ai.conversation.id", "session.id"],
      }),
    };
  }

  #firstToken(span: Span): number | null {
    const start = this.#axis.at(span.start);
    const seconds =
      number(span.attributes["gen_ai.response.time_to_first_chunk"]) ??
      number(span.attributes["gen_ai.server.time_to_first_token"]);
    if (seconds !== null && start !== null) return start + seconds * 1000;
    const ms = number(span.attributes["ai.response.msToFirstChunk"]);
    if (ms !== null && start !== null) return start + ms;
    const event = span.events.find(({ name }) => /first[ _]token/i.test(name));
    return event === undefined ? null : this.#axis.at(event.time);
  }
}

/** One call told by two spans: what the inner does not say, the outer may. */
function completed(inner: RecordedCall, outer: RecordedCall | undefined): RecordedCall {
  if (outer === undefined) return inner;
  const told = Object.entries(inner).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return { ...outer, ...(Object.fromEntries(told) as Partial<RecordedCall>) };
}

function contains(outer: RecordedCall, inner: RecordedCall): boolean {
  return (
    outer.start_ms !== null &&
    outer.end_ms !== null &&
    inner.start_ms !== null &&
    inner.end_ms !== null &&
    outer.start_ms <= inner.start_ms &&
    outer.end_ms >= inner.end_ms
  );
}

function spanKind(span: Span): "model" | "tool" | "other" {
  const { attributes } = span;
  const kind = scalarText(
    attributes["openinference.span.kind"] ?? attributes["traceloop.span.kind"],
  ).toUpperCase();
  // The AI SDK wraps each call (`ai.streamText.doStream`) in a span of the whole loop.
  const step = attributes["ai.operationId"];
  if (typeof step === "string" && step !== "") {
    if (/\.do(Generate|Stream)$/.test(step)) return "model";
    return step === "ai.toolCall" ? "tool" : "other";
  }
  const operation = attributes["gen_ai.operation.name"];
  if (typeof operation === "string" && operation !== "") {
    if (MODEL_OPERATIONS.has(operation)) return "model";
    return operation === "execute_tool" ? "tool" : "other";
  }
  if (kind === "LLM") return "model";
  if (kind === "TOOL") return "tool";
  if (kind !== "") return "other";
  const type = attributes["llm.request.type"];
  if (type === "chat" || type === "completion") return "model";
  const model = attributes["gen_ai.request.model"] ?? attributes["llm.model_name"];
  const talks = Object.keys(attributes).some((key) =>
    /^(gen_ai\.(input|output|prompt|completion)|gcp\.vertex\.agent\.llm_response|llm\.(input|output)_messages|gen_ai\.usage\.(output|completion)_tokens)/.test(
      key,
    ),
  );
  return model !== undefined && type === undefined && talks ? "model" : "other";
}

function number(value: unknown): number | null {
  const parsed = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof parsed === "number" && Number.isFinite(parsed) ? parsed : null;
}

function count(span: Span, ...keys: readonly string[]): number | null {
  for (const key of keys) {
    const value = number(span.attributes[key]);
    if (value !== null && value >= 0 && Number.isInteger(value)) return value;
  }
  return null;
}

function text(span: Span, ...keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = span.attributes[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

function pick(span: Span, names: Readonly<Record<string, readonly string[]>>): JsonObject | null {
  const found = Object.entries(names).flatMap(([name, keys]) => {
    const value = text(span, ...keys);
    return value === null ? [] : [[name, value] as const];
  });
  return found.length > 0 ? Object.fromEntries(found) : null;
}

function passedThrough(setting: (name: string) => number | null, stop: unknown): JsonObject | null {
  const params: Record<string, number | string[]> = {};
  for (const name of ["top_p", "top_k", "seed", "frequency_penalty", "presence_penalty"]) {
    const value = setting(name);
    if (value !== null) params[name] = value;
  }
  const stops = decodeJson(stop);
  if (Array.isArray(stops) && stops.length > 0 && stops.every((item) => typeof item === "string"))
    params["stop"] = stops as string[];
  return Object.keys(params).length > 0 ? params : null;
}
