/**
 * LiteLLM request logs, JSONL: `id`, `trace_id`, `startTime`, `endTime`, `completionStartTime`, `prompt_tokens`,
 * `completion_tokens`, `messages`. A trace id is a job; what waited for what follows from texts and times.
 */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis, toInstant } from "../instant.ts";
import { newProvenance } from "../new-request.ts";
import { isObject, toOpenAiMessages, toOpenAiTools } from "../openai-messages.ts";
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
import { shareOfRows } from "../sample.ts";
import type { Trace } from "../trace.ts";

export const litellm: TraceFormat = {
  name: "litellm",
  title: "LiteLLM logs JSONL: id, trace_id, startTime, endTime, prompt_tokens, completion_tokens, messages",
  marks: ["id", "startTime", "endTime", "messages"],
  detect: (sample: Sample) =>
    shareOfRows(
      sample,
      (row) =>
        "startTime" in row &&
        "endTime" in row &&
        ("messages" in row || "prompt_tokens" in row) &&
        !("observations" in row),
    ) > 0.5
      ? 0.95
      : 0,
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const axis = new TimeAxis();
    const calls: RecordedCall[] = [];
    const ids = new Set<string>();
    await readJsonlRows(path, account, (row) => {
      if (row["status"] === "failure") return "failed when recorded";
      const call = toCall(row, axis);
      if (ids.has(call.call_id)) throw new BadRow(`id "${call.call_id}" occurred before`);
      checkCall(call);
      ids.add(call.call_id);
      calls.push(call);
      return undefined;
    });
    const linked = linkCalls(calls, []);
    const placed = fromFirstArrival(linked.requests, axis);
    const text = calls.some(({ input }) => input.length > 0) ? "recorded" : "missing";
    return {
      format: "litellm",
      path,
      header: placed.header,
      requests: placed.requests,
      rows: account.counts(),
      faults: account.faults,
      provenance: newProvenance({
        arrivals: "recorded",
        order: "inferred",
        think_time: "inferred",
        prompt_text: text,
        prompt_length: "recorded",
        prefix_sharing: text,
        output_length: "recorded",
        sampling: "recorded",
      }),
      notes: linked.notes,
    };
  },
};

function toCall(row: JsonObject, axis: TimeAxis): RecordedCall {
  const id = idField(row, "id");
  const start = toInstant(row["startTime"]);
  if (start === null) throw wrong("startTime", row["startTime"], "a time");
  const told = isObject(row["model_parameters"]) ? row["model_parameters"] : {};
  const { max_tokens, temperature, stream, stream_options, tools, ...params } = told;
  void [max_tokens, temperature, stream, stream_options];
  const agent = optionalString(row, "end_user");
  const model = optionalString(row, "model");
  return {
    call_id: id,
    job_id: optionalId(row, "trace_id") ?? optionalId(row, "session_id") ?? id,
    start_ms: axis.at(start),
    first_token_ms: axis.at(toInstant(row["completionStartTime"])),
    end_ms: axis.at(toInstant(row["endTime"])),
    input: toOpenAiMessages(row["messages"] ?? []),
    output: answerOf(row["response"]),
    tools: tools == null ? null : toOpenAiTools(tools),
    prompt_tokens: optionalInteger(row, "prompt_tokens", 1),
    output_tokens: optionalInteger(row, "completion_tokens"),
    cached_tokens: null,
    max_tokens: optionalInteger(told, "max_tokens", 1),
    temperature: optionalNumber(told, "temperature"),
    params: Object.keys(params).length > 0 ? params : null,
    agent: agent === "" ? null : agent,
    metadata: model === null ? null : { model },
  };
}

function answerOf(response: unknown): readonly JsonObject[] {
  if (!isObject(response) || !Array.isArray(response["choices"])) return [];
  const choice: unknown = response["choices"][0];
  return isObject(choice) && isObject(choice["message"]) ? toOpenAiMessages([choice["message"]]) : [];
}
