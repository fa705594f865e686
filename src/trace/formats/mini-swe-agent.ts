/**
 * mini-SWE-agent trajectories: `{info, messages, trajectory_format}`. What an answer cost stands in its `extra`, with the instant when it was
 * complete; an answer of the wrong form is thrown away and told by the complaint that takes its place.
 */
import type { JsonObject } from "../../core/json.ts";
import { arrayAt, handleItem } from "../document-rows.ts";
import type { TimeAxis } from "../instant.ts";
import { isObject, scalarText, toOpenAiMessages } from "../openai-messages.ts";
import { BadRow, type RowAccount } from "../row-account.ts";
import { optionalInstant } from "../row-fields.ts";
import { TimedConversation } from "../timed-conversation.ts";
import type { TraceRequest } from "../trace-request.ts";
import { completionUsage } from "./litellm-usage.ts";

export function isMiniSweAgent(document: unknown): document is JsonObject {
  if (!isObject(document) || !Array.isArray(document["messages"])) return false;
  const info = document["info"];
  return (
    scalarText(document["trajectory_format"]).startsWith("mini-swe-agent") ||
    (isObject(info) && "model_stats" in info && "exit_status" in info)
  );
}

export function miniRequests(
  document: JsonObject,
  job_id: string,
  account: RowAccount,
  axis: TimeAxis,
): TraceRequest[] {
  const conversation = new TimedConversation(job_id);
  const settings = modelSettings(document["info"]);
  arrayAt(document["messages"], "messages").forEach((item, at) =>
    handleItem(account, `messages[${at}]`, item, (row) => take(row, conversation, axis, settings)),
  );
  return conversation.requests;
}

function take(
  row: JsonObject,
  conversation: TimedConversation,
  axis: TimeAxis,
  settings: Pick<TraceRequest, "temperature"> & { readonly model: string },
): string | undefined {
  if (row["role"] === "exit") return "exit";
  const extra = isObject(row["extra"]) ? row["extra"] : {};
  const time = axis.at(optionalInstant(extra, "timestamp") ?? optionalInstant(row, "timestamp"));
  // The Responses API's answers stand as they came.
  const items = row["object"] === "response" && Array.isArray(row["output"]) ? row["output"] : null;
  const messages = toOpenAiMessages(items ?? row);
  const response = isObject(extra["response"]) ? extra["response"] : items === null ? null : row;
  const isAnswer = row["role"] === "assistant" || items !== null;
  if (!isAnswer && response === null) {
    conversation.hear(messages, time);
    return undefined;
  }
  if (conversation.isEmpty) throw new BadRow("an answer with no messages before it");
  const model = scalarText(response?.["model"]) || settings.model;
  const told = {
    ...completionUsage(response?.["usage"]),
    end_ms: time,
    took_ms: null,
    more: { temperature: settings.temperature, metadata: model === "" ? null : { model } },
  };
  if (isAnswer) conversation.answer(messages, told);
  else {
    const choices = Array.isArray(response?.["choices"]) ? response["choices"].filter(isObject) : [];
    conversation.answer(
      toOpenAiMessages(choices.slice(0, 1).map((choice) => choice["message"])),
      told,
      false,
    );
    conversation.hear(messages, time);
  }
  return undefined;
}

function modelSettings(raw: unknown): Pick<TraceRequest, "temperature"> & { readonly model: string } {
  const info = isObject(raw) ? raw : {};
  const config = isObject(info["config"]) ? info["config"] : {};
  const model = isObject(config["model"]) ? config["model"] : {};
  const kwargs = isObject(model["model_kwargs"]) ? model["model_kwargs"] : {};
  return {
    temperature: typeof kwargs["temperature"] === "number" ? kwargs["temperature"] : null,
    model: scalarText(model["model_name"]),
  };
}
