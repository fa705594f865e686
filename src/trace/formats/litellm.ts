/**
 * LiteLLM request logs: `id`, `trace_id`, `startTime`, `endTime`, `completionStartTime`, `prompt_tokens`, `completion_tokens`, `messages`; a row a
 * line, one JSON array (spend logs, with `request_id`), or an object a file (logs in a bucket). A trace id is a job; what waited for
 * what follows from texts and times.
 */
import type { JsonObject } from "../../core/json.ts";
import { readJsonDocument } from "../document.ts";
import { handleItem } from "../document-rows.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis, toInstant } from "../instant.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject, scalarText, toOpenAiMessages, toOpenAiTools } from "../openai-messages.ts";
import { checkCall, linkCalls, type RecordedCall } from "../recorded-calls.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import {
  idField,
  optionalId,
  optionalInteger,
  optionalNumber,
  optionalString,
  wrong,
} from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { shareOfRows, takeSample } from "../sample.ts";
import type { Trace } from "../trace.ts";
import { completionUsage } from "./litellm-usage.ts";
import { decodeJson } from "./otel-messages.ts";

/** Calls that make text; others (embeddings, images, transcripts, ...) are no turns. */
const TURNS = /completion|responses|messages|generate_content|pass_through/;

export const litellm: TraceFormat = {
  name: "litellm",
  title: "LiteLLM logs (JSONL or JSON): id, trace_id, startTime, endTime, prompt_tokens, messages",
  marks: ["id", "startTime", "endTime", "messages"],
  detect(sample: Sample) {
    const { document } = sample;
    const first: unknown = Array.isArray(document) ? document[0] : document;
    if (document !== undefined) return isObject(first) && isLog(first) ? 0.95 : 0;
    return shareOfRows(sample, isLog) > 0.5 ? 0.95 : 0;
  },
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const axis = new TimeAxis();
    const calls: RecordedCall[] = [];
    const ids = new Set<string>();
    const take = (row: JsonObject): string | undefined => {
      if (row["status"] === "failure") return "failed when recorded";
      if (row["cache_hit"] === true || /^true$/i.test(scalarText(row["cache_hit"])))
        return "answered from the proxy's cache";
      const type = optionalString(row, "call_type");
      if (type !== null && type !== "" && !TURNS.test(type)) return `call of type ${type}`;
      const call = toCall(row, axis);
      if (ids.has(call.call_id)) throw new BadRow(`id "${call.call_id}" occurred before`);
      checkCall(call);
      ids.add(call.call_id);
      calls.push(call);
      return undefined;
    };
    if ((await takeSample(path, options.name ?? path)).document === undefined)
      await readJsonlRows(path, account, take);
    else {
      const document = await readJsonDocument(path, options);
      const rows: readonly unknown[] = Array.isArray(document) ? document : [document];
      rows.forEach((row, at) => handleItem(account, `[${at}]`, row, take));
    }
    const linked = linkCalls(calls, []);
    const placed = fromFirstArrival(linked.requests, axis);
    return newTrace("litellm", account, {
      ...placed,
      provenance: {
        ...toldBy(placed.requests),
        order: "inferred",
        think_time: "inferred",
        sampling: "recorded",
      },
      notes: linked.notes,
    });
  },
};

function isLog(row: Readonly<Record<string, unknown>>): boolean {
  return (
    "startTime" in row &&
    "endTime" in row &&
    ("messages" in row || "prompt_tokens" in row) &&
    !("observations" in row)
  );
}

function toCall(row: JsonObject, axis: TimeAxis): RecordedCall {
  const id = idField(row, row["id"] == null && row["request_id"] != null ? "request_id" : "id");
  const start = toInstant(row["startTime"]);
  if (start === null) throw wrong("startTime", row["startTime"], "a time");
  const told = isObject(row["model_parameters"]) ? row["model_parameters"] : {};
  const { max_tokens, temperature, stream, stream_options, tools, ...params } = told;
  void [max_tokens, temperature, stream, stream_options];
  // Spend logs keep the request (where they are told to keep it) as it came to the proxy.
  const asked = decodeJson(row["proxy_server_request"]);
  const request = isObject(asked) ? asked : {};
  const own = decodeJson(row["messages"]);
  const said = isObject(own) && Object.keys(own).length === 0 ? [] : toOpenAiMessages(own ?? []);
  const response = decodeJson(row["response"]);
  const prompt = optionalInteger(row, "prompt_tokens");
  const agent = optionalString(row, "end_user");
  const model = optionalString(row, "model");
  return {
    call_id: id,
    job_id: optionalId(row, "trace_id") ?? optionalId(row, "session_id") ?? id,
    start_ms: axis.at(start),
    first_token_ms: axis.at(toInstant(row["completionStartTime"])),
    end_ms: axis.at(toInstant(row["endTime"])),
    input:
      said.length > 0
        ? said
        : toOpenAiMessages({ system: request["system"], messages: request["messages"] ?? [] }),
    output: answerOf(response),
    tools: toOpenAiTools(tools ?? request["tools"]),
    // 0 stands for "not counted".
    prompt_tokens: prompt === 0 ? null : prompt,
    output_tokens: optionalInteger(row, "completion_tokens"),
    cached_tokens:
      completionUsage({ prompt_tokens_details: row["prompt_tokens_details"] }).cached_tokens ??
      completionUsage(isObject(response) ? response["usage"] : null).cached_tokens,
    max_tokens: optionalInteger(told, "max_tokens", 1),
    temperature: optionalNumber(told, "temperature"),
    params: Object.keys(params).length > 0 ? params : null,
    agent: agent === "" ? null : agent,
    metadata: model === null ? null : { model },
  };
}

function answerOf(response: unknown): readonly JsonObject[] {
  if (!isObject(response)) return [];
  // The Responses API, and Anthropic's messages.
  if (Array.isArray(response["output"])) return toOpenAiMessages(response["output"]);
  if (response["role"] === "assistant" && response["content"] !== undefined)
    return toOpenAiMessages([response]);
  if (!Array.isArray(response["choices"])) return [];
  const choice: unknown = response["choices"][0];
  return isObject(choice) && isObject(choice["message"]) ? toOpenAiMessages([choice["message"]]) : [];
}
