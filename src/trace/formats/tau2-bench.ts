/**
 * τ²-bench results: `{info, simulations: [{task_id, trial, messages}]}`, or one simulation a file. Messages are stamped and carry usage. The
 * user is simulated by a model, too: its own tool calls and their results never reach the agent.
 */
import type { JsonObject } from "../../core/json.ts";
import { arrayAt, handleItem } from "../document-rows.ts";
import type { TimeAxis } from "../instant.ts";
import { isObject, scalarText, textOf, toOpenAiMessages } from "../openai-messages.ts";
import type { RowAccount } from "../row-account.ts";
import { optionalId, optionalInstant, optionalNumber, stringField } from "../row-fields.ts";
import { TimedConversation } from "../timed-conversation.ts";
import type { TraceRequest } from "../trace-request.ts";
import { unusedName } from "../unused-name.ts";
import { completionUsage } from "./litellm-usage.ts";

export function isTau2(document: unknown): document is JsonObject {
  if (!isObject(document)) return false;
  const list: unknown = document["simulations"];
  if (Array.isArray(list))
    return "info" in document && list.every((one) => isObject(one) && "task_id" in one);
  if (isHeadOnly(document)) return true;
  const isOne = "task_id" in document && "termination_reason" in document;
  return isOne && (Array.isArray(document["messages"]) || Array.isArray(document["ticks"]));
}

/** `results.json` of a run whose simulations stand beside it, a file each. */
function isHeadOnly(document: JsonObject): boolean {
  const info = document["info"];
  return (
    isObject(info) && "agent_info" in info && "environment_info" in info && Array.isArray(document["tasks"])
  );
}

export function tau2Requests(document: JsonObject, account: RowAccount, axis: TimeAxis): TraceRequest[] {
  const whole = Array.isArray(document["simulations"]);
  if (!whole && isHeadOnly(document)) {
    account.skip("a run's head, its simulations are files of their own");
    return [];
  }
  const info = isObject(document["info"]) && whole ? document["info"] : {};
  const agent = isObject(info["agent_info"]) ? info["agent_info"] : {};
  const settings = isObject(agent["llm_args"]) ? agent["llm_args"] : {};
  const environment = isObject(info["environment_info"]) ? info["environment_info"] : {};
  const policy = textOf(environment["policy"]);
  const model = scalarText(agent["llm"]);
  const more: Partial<TraceRequest> = {
    temperature: typeof settings["temperature"] === "number" ? settings["temperature"] : null,
    metadata: model === "" ? null : { model },
  };
  const requests: TraceRequest[] = [];
  const jobs = new Set<string>();
  const list = whole ? arrayAt(document["simulations"], "simulations") : [document];
  list.forEach((simulation, at) => {
    const where = whole ? `simulations[${at}].messages` : "messages";
    if (!isObject(simulation) || !Array.isArray(simulation["messages"])) {
      account.skip(
        isObject(simulation) && Array.isArray(simulation["ticks"])
          ? "simulation of a voice agent, ticks of audio instead of requests"
          : "simulation without messages",
      );
      return;
    }
    const trial = optionalId(simulation, "trial");
    const task = scalarText(simulation["task_id"]) || String(at);
    const wanted = trial === null ? `task-${task}` : `task-${task}-trial-${trial}`;
    const job_id = unusedName(wanted, jobs);
    const conversation = new TimedConversation(job_id);
    if (policy !== "") conversation.hear([{ role: "system", content: policy }], null);
    simulation["messages"].forEach((item: unknown, index) =>
      handleItem(account, `${where}[${index}]`, item, (row) => take(row, conversation, axis, more)),
    );
    requests.push(...conversation.requests);
  });
  return requests;
}

function take(
  row: JsonObject,
  conversation: TimedConversation,
  axis: TimeAxis,
  more: Partial<TraceRequest>,
): string | undefined {
  const role = stringField(row, "role");
  const time = axis.at(optionalInstant(row, "timestamp"));
  if (role === "user" && Array.isArray(row["tool_calls"]) && row["tool_calls"].length > 0)
    return "the user's own tool call";
  if (role === "tool" && row["requestor"] === "user") return "the user's own tool result";
  // Results of several calls may stand in one message.
  const messages = toOpenAiMessages(Array.isArray(row["tool_messages"]) ? row["tool_messages"] : row);
  // An agent's greeting is a fixed text that no model made.
  const isGreeting =
    row["usage"] == null && row["generation_time_seconds"] == null && conversation.requests.length === 0;
  if (role !== "assistant" || (isGreeting && !conversation.wasAsked)) {
    conversation.hear(messages, time);
    return undefined;
  }
  const seconds = optionalNumber(row, "generation_time_seconds");
  conversation.answer(messages, {
    ...completionUsage(row["usage"]),
    end_ms: time,
    took_ms: seconds === null ? null : seconds * 1000,
    more,
  });
  return undefined;
}
