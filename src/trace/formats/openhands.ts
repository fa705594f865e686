/**
 * OpenHands V0 trajectories: a JSON array of actions and observations. A model's response is repeated on every action and
 * observation that came of it: it is counted once, by its id. Events stamp answers, not requests.
 */
import { basename } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import { readJsonDocument } from "../document.ts";
import { arrayAt, handleItem } from "../document-rows.ts";
import type { Sample, TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import {
  answerText,
  isObject,
  scalarText,
  textOf,
  toOpenAiMessages,
  toOpenAiTools,
} from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { optionalInstant } from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { shareOfRows, takeSample } from "../sample.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";
import { TimedChain } from "../turn-chain.ts";
import { unusedName } from "../unused-name.ts";
import { completionUsage, type CompletionUsage } from "./litellm-usage.ts";

/** Actions of the agent that no model made, or that are part of none of its answers. */
const NOT_FROM_MODEL = new Set([
  "system",
  "recall",
  "change_agent_state",
  "condensation",
  "null",
  "pause",
  "resume",
]);

export const openhands: TraceFormat = {
  name: "openhands",
  title: "OpenHands V0 trajectory (JSON array of events, or an evaluation's output.jsonl)",
  marks: ["action", "observation", "source", "timestamp"],
  detect(sample) {
    if (isOutput(sample)) return shareOfRows(sample, (row) => isHistory(row["history"])) > 0.5 ? 1 : 0;
    const events = isObject(sample.document)
      ? (sample.document["history"] ?? sample.document["trajectory"])
      : sample.document;
    return isHistory(events) ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const axis = new TimeAxis();
    const jobs = new Set<string>();
    const requests: TraceRequest[] = [];
    let hasSystem = true;
    const take = (job: string, events: readonly unknown[], where: string): void => {
      // The same instance may be tried again.
      const reader = new EventReader(axis, unusedName(job, jobs));
      // Before mid-2024 a history was made of pairs, an action with its observation.
      events
        .flat()
        .forEach((event: unknown, at) =>
          handleItem(account, `${where}[${at}]`, event, (row) => reader.take(row)),
        );
      requests.push(...reader.requests);
      hasSystem &&= reader.hasSystem;
    };
    if (isOutput(await takeSample(path, options.name ?? path))) {
      // An evaluation's output: a line an instance.
      await readJsonlRows(path, account, (row, line) => {
        const history = row["history"];
        if (history == null || (Array.isArray(history) && history.length === 0))
          return "instance without a history";
        const job = scalarText(row["instance_id"]) || `instance-${line}`;
        take(job, arrayAt(history, "history"), `line ${line}: history`);
        return "instance";
      });
    } else {
      const document = await readJsonDocument(path, options);
      const name = basename(options.name ?? path).replace(/\.jsonl?(\.gz)?$/, "");
      const events = isObject(document) ? (document["history"] ?? document["trajectory"]) : document;
      try {
        const job = isObject(document) ? scalarText(document["instance_id"]) : "";
        take(job || name, arrayAt(events, "events"), "");
      } catch (error) {
        if (!(error instanceof BadRow)) throw error;
        account.refuse(null, error.message);
      }
    }
    const placed = fromFirstArrival(requests, axis);
    return newTrace("openhands", account, {
      ...placed,
      provenance: { ...toldBy(requests), arrivals: "inferred", order: "recorded", think_time: "inferred" },
      notes: [
        "requests are taken to have been sent when their last input was logged; the log stamps answers only",
        ...(hasSystem
          ? []
          : [
              "system prompt and tool definitions are not in the log: prompts sent are shorter than the recorded ones",
            ]),
      ],
    });
  },
};

function isOutput(sample: Sample): boolean {
  return sample.document === undefined && shareOfRows(sample, (row) => Array.isArray(row["history"])) > 0.5;
}

function isHistory(events: unknown): boolean {
  return (
    Array.isArray(events) &&
    events
      .slice(0, 20)
      .flat()
      .some(
        (event: unknown) =>
          isObject(event) &&
          ("action" in event || "observation" in event) &&
          "source" in event &&
          "timestamp" in event,
      )
  );
}

class EventReader {
  readonly requests: TraceRequest[] = [];
  hasSystem = false;
  readonly #axis: TimeAxis;
  readonly #job: string;
  readonly #history: JsonObject[] = [];
  readonly #answered = new Map<string, Ms | null>();
  readonly #seen = new Set<string>();
  #tools: JsonObject[] | null = null;
  #sent: Ms | null = null;
  readonly #chain = new TimedChain();
  #ran: ToolCall[] = [];

  constructor(axis: TimeAxis, job_id: string) {
    this.#axis = axis;
    this.#job = job_id;
  }

  take(row: JsonObject): string | undefined {
    const time = this.#axis.at(optionalInstant(row, "timestamp"));
    const action = scalarText(row["action"]);
    const observation = scalarText(row["observation"]);
    if (action === "" && observation === "") throw new BadRow('neither "action" nor "observation"');
    if (observation !== "") return this.#observe(row, observation, time);
    const args = isObject(row["args"]) ? row["args"] : {};
    if (action === "system") {
      this.#history.push({ role: "system", content: textOf(args["content"]) });
      this.#tools = toOpenAiTools(args["tools"]);
      this.hasSystem = true;
      return undefined;
    }
    if (row["source"] === "user" && action === "message") {
      this.#history.push({ role: "user", content: textOf(args["content"] ?? row["message"]) });
      this.#input(time);
      return undefined;
    }
    if (row["source"] !== "agent" || NOT_FROM_MODEL.has(action)) return `action ${action}`;
    return this.#act(row, args, time);
  }

  #act(row: JsonObject, args: JsonObject, time: Ms | null): string | undefined {
    const metadata = isObject(row["tool_call_metadata"]) ? row["tool_call_metadata"] : null;
    const response = isObject(metadata?.["model_response"]) ? metadata["model_response"] : null;
    const call = scalarText(metadata?.["tool_call_id"]);
    if (call !== "") this.#answered.set(call, time);
    const id = scalarText(response?.["id"]) || `event ${scalarText(row["id"]) || this.requests.length}`;
    if (this.#seen.has(id)) return undefined;
    this.#seen.add(id);
    const choices = Array.isArray(response?.["choices"]) ? response["choices"].filter(isObject) : [];
    const answer =
      response === null
        ? [{ role: "assistant", content: textOf(args["content"] ?? args["thought"] ?? row["message"]) }]
        : toOpenAiMessages(choices.slice(0, 1).map((choice) => choice["message"]));
    this.#push(answer, completionUsage(response?.["usage"] ?? null), scalarText(response?.["model"]), time);
    return undefined;
  }

  #push(answer: JsonObject[], usage: CompletionUsage, model: string, time: Ms | null): void {
    const messages = this.#history.slice();
    if (messages.length === 0 && usage.prompt_tokens === null)
      throw new BadRow("an answer with neither messages nor prompt tokens before it");
    // Nothing logged in between: the agent asked again at once.
    const sent = this.#sent ?? this.#chain.end;
    this.requests.push(
      newRequest({
        ...this.#chain.next(this.#job, sent, time),
        tool: this.#ran.length > 0 ? this.#ran : null,
        prompt:
          messages.length > 0
            ? { kind: "messages", messages, tools: this.#tools }
            : lengthPrompt(usage.prompt_tokens ?? 0),
        recorded: newRecorded({ sent_ms: sent, end_ms: time, ...usage }),
        response_text: answerText(answer),
        metadata: model === "" ? null : { model },
      }),
    );
    this.#history.push(...answer);
    this.#sent = null;
    this.#ran = [];
  }

  #observe(row: JsonObject, kind: string, time: Ms | null): string | undefined {
    const metadata = isObject(row["tool_call_metadata"]) ? row["tool_call_metadata"] : null;
    const call = scalarText(metadata?.["tool_call_id"]);
    if (call === "") {
      const known = kind === "recall" ? recalledText(row["extras"]) : "";
      if (known !== "") {
        this.#history.push({ role: "user", content: known });
        this.#input(time);
        return undefined;
      }
      if (row["source"] === "user" || kind === "agent_state_changed" || kind === "null" || kind === "recall")
        return `observation ${kind}`;
      if (this.requests.length === 0) return `observation ${kind}`;
      this.#history.push({ role: "user", content: textOf(row["content"] ?? row["message"]) });
      this.#input(time);
      return undefined;
    }
    this.#history.push({
      role: "tool",
      tool_call_id: call,
      content: textOf(row["content"] ?? row["message"]),
    });
    const asked = this.#answered.get(call) ?? null;
    if (asked !== null && time !== null && time >= asked)
      this.#ran.push({ name: scalarText(metadata?.["function_name"]) || kind, ms: time - asked });
    this.#input(time);
    return undefined;
  }

  #input(time: Ms | null): void {
    if (time !== null) this.#sent = Math.max(this.#sent ?? time, time);
  }
}

/** What the agent was told of its workspace; the words around it are the agent's own. */
function recalledText(extras: unknown): string {
  if (!isObject(extras)) return "";
  const pieces = Array.isArray(extras["microagent_knowledge"]) ? extras["microagent_knowledge"] : [];
  return [
    extras["repo_instructions"],
    extras["additional_agent_instructions"],
    extras["conversation_instructions"],
    ...pieces.map((piece) => (isObject(piece) ? piece["content"] : null)),
  ]
    .map(scalarText)
    .filter((text) => text !== "")
    .join("\n\n");
}
