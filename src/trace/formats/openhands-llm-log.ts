/**
 * OpenHands' LLM logs: a JSON file a call (`messages, response, timestamp, latency_sec`); a folder of them is one conversation.
 * `timestamp` is the call's end.
 */
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import { readJsonDocument } from "../document.ts";
import { handleDocument } from "../document-rows.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject, toOpenAiMessages, toOpenAiTools } from "../openai-messages.ts";
import { checkCall, linkCalls, type RecordedCall } from "../recorded-calls.ts";
import { RowAccount } from "../row-account.ts";
import { objectField, optionalInstant, optionalInteger, optionalNumber } from "../row-fields.ts";
import { traceFiles } from "../sample.ts";
import type { Trace } from "../trace.ts";
import { completionUsage } from "./litellm-usage.ts";

export const openhandsLlmLog: TraceFormat = {
  name: "openhands-llm-log",
  title: "OpenHands LLM logs (JSON, a file a call, or a folder of them)",
  readsFolder: true,
  marks: ["messages", "response", "timestamp", "latency_sec"],
  detect(sample) {
    const { document } = sample;
    if (!isObject(document) || !Array.isArray(document["messages"]) || !isObject(document["response"]))
      return 0;
    if (!Array.isArray(document["response"]["choices"])) return 0;
    return "timestamp" in document ? ("latency_sec" in document ? 1 : 0.8) : 0;
  },
  async read(path, options): Promise<Trace> {
    const isFolder = (await stat(path)).isDirectory();
    const account = new RowAccount(path, options);
    const axis = new TimeAxis();
    const names = isFolder ? await traceFiles(path) : [""];
    const job_id = basename(isFolder ? path : (options.name ?? path)).replace(/\.json(\.gz)?$/, "");
    const calls: RecordedCall[] = [];
    let untimed = 0;
    for (const name of names) {
      const file = isFolder ? name : (options.name ?? path);
      const document = await readJsonDocument(isFolder ? join(path, name) : path, { ...options, name: file });
      handleDocument(
        account,
        document,
        (whole) => {
          calls.push(toCall(whole, job_id, isFolder ? name.replace(/\.json(\.gz)?$/, "") : job_id, axis));
          if (whole["latency_sec"] == null) untimed++;
          account.use();
        },
        file,
      );
    }
    const linked = linkCalls(calls, []);
    const placed = fromFirstArrival(linked.requests, axis);
    return newTrace("openhands-llm-log", account, {
      ...placed,
      provenance: {
        ...toldBy(placed.requests),
        arrivals: untimed === 0 ? "recorded" : "inferred",
        order: "inferred",
        think_time: "inferred",
      },
      notes: [
        ...(isFolder ? ["the folder is taken as the calls of one conversation: one job"] : []),
        ...(untimed > 0
          ? [`${untimed} calls tell no latency_sec: they are taken to have been sent when they were logged`]
          : []),
      ],
    });
  },
};

function toCall(document: JsonObject, job_id: string, call_id: string, axis: TimeAxis): RecordedCall {
  const response = objectField(document, "response");
  const kwargs = isObject(document["kwargs"]) ? document["kwargs"] : {};
  const ended = optionalInstant(document, "timestamp");
  const latency = optionalNumber(document, "latency_sec");
  const end_ms = axis.at(ended);
  const choices = Array.isArray(response["choices"]) ? response["choices"].filter(isObject) : [];
  const top_p = optionalNumber(kwargs, "top_p");
  const call: RecordedCall = {
    call_id,
    job_id,
    start_ms: end_ms === null ? null : end_ms - (latency ?? 0) * 1000,
    first_token_ms: null,
    end_ms: latency === null ? null : end_ms,
    input: toOpenAiMessages(document["messages"]),
    output: toOpenAiMessages(choices.slice(0, 1).map((choice) => choice["message"])),
    // With raw_messages the tools were written into the messages and not sent beside them.
    tools:
      document["raw_messages"] === undefined
        ? (toOpenAiTools(document["tools"]) ?? toOpenAiTools(kwargs["tools"]))
        : null,
    ...completionUsage(response["usage"]),
    max_tokens:
      optionalInteger(kwargs, "max_tokens", 1) ??
      optionalInteger(kwargs, "max_completion_tokens", 1) ??
      optionalInteger(kwargs, "max_output_tokens", 1),
    temperature: optionalNumber(kwargs, "temperature"),
    params: top_p === null ? null : { top_p },
    agent: null,
    metadata: typeof response["model"] === "string" ? { model: response["model"] } : null,
  };
  checkCall(call);
  return call;
}
