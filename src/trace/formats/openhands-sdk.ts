/**
 * OpenHands SDK (V1) conversations: events, a line each. A response is named by `llm_response_id`; usage comes only as running
 * totals of the conversation, from which a request's own counts follow where two totals enclose just it.
 */
import { basename } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import type { Ms, Tokens } from "../../core/units.ts";
import { BlockNamer, cutPieces, sumTokens, type Piece } from "../block-namer.ts";
import { readJsonDocument } from "../document.ts";
import { handleItem } from "../document-rows.ts";
import { readFolder } from "../folder.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { parsePythonJson } from "../lossless-json.ts";
import { newRecorded, newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
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
import { isFolder, shareOfRows, traceFiles } from "../sample.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";
import { TimedChain } from "../turn-chain.ts";
import { conversationsIn, type Usage } from "./openhands-sdk-folder.ts";

export const openhandsSdk: TraceFormat = {
  name: "openhands-sdk",
  title: "OpenHands SDK conversation (V1 events: JSONL, or the folder that it is kept in)",
  readsFolder: true,
  marks: ["kind", "source", "timestamp", "id"],
  detect(sample) {
    const { document, files, isFolder } = sample;
    if (isFolder && files.some((file) => STATE.test(file) || EVENT.test(file))) return 1;
    if (isObject(document) && isEvent(document)) return 1;
    return shareOfRows(sample, isEvent) > 0.5 ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const axis = new TimeAxis();
    const readers: EventReader[] = [];
    if (await isFolder(path)) {
      const kept = await conversationsIn(path, options.name ?? path);
      if (kept.length === 0) return readFolder(path, await traceFiles(path), openhandsSdk, options);
      for (const conversation of kept) {
        const reader = new EventReader(axis, conversation.id, conversation.usage);
        readers.push(reader);
        for (const { file, name } of conversation.events) {
          const event = await readJsonDocument(file, { ...options, name }, parsePythonJson);
          handleItem(account, "event", event, (row) => reader.take(row), name);
        }
      }
    } else {
      const job = basename(options.name ?? path).replace(/\.jsonl?(\.gz)?$/, "");
      const reader = new EventReader(axis, job, new Map());
      readers.push(reader);
      await readJsonlRows(path, account, (row) => reader.take(row));
    }
    const requests: TraceRequest[] = [];
    for (const reader of readers) {
      const finished = reader.finish();
      requests.push(...finished.requests);
      for (let at = 0; at < finished.bare; at++)
        account.revoke(null, "an answer with neither messages nor token counts before it: the log is cut");
    }
    const isCut = readers.some((reader) => reader.isCut);
    const isTold = readers.every((reader) => reader.isTold);
    const placed = fromFirstArrival(requests, axis);
    const told = requests.filter(({ recorded }) => recorded?.prompt_tokens != null).length;
    return newTrace("openhands-sdk", account, {
      ...placed,
      provenance: {
        arrivals: "inferred",
        order: "recorded",
        think_time: "inferred",
        prompt_text: isCut ? "missing" : "recorded",
        prompt_length: told === 0 ? "missing" : isTold ? "recorded" : "inferred",
        prefix_sharing: isCut ? "inferred" : "recorded",
        output_length: told === 0 ? "missing" : isTold ? "recorded" : "inferred",
      },
      notes: [
        ...(isTold
          ? []
          : [
              `usage is told as running totals: ${told} of ${requests.length} requests get their own counts from them`,
            ]),
        ...(isCut
          ? [
              "the log does not hold the start of the conversation: prompts are made up by length, each taken to extend the one before",
            ]
          : []),
      ],
    });
  },
};

const STATE = /(^|\/)base_state\.json$/;
const EVENT = /(^|\/)event-\d+-[^/]*\.json$/;

function isEvent(row: Readonly<Record<string, unknown>>): boolean {
  return /Event$|^Condensation/.test(scalarText(row["kind"])) && "source" in row;
}

interface Draft {
  readonly messages: readonly JsonObject[];
  readonly answer: JsonObject[];
  readonly sent: Ms | null;
  end: Ms | null;
  readonly tools: readonly ToolCall[];
  readonly usage: Usage | null;
}

class EventReader {
  isCut = false;
  readonly #axis: TimeAxis;
  readonly #job: string;
  readonly #drafts: Draft[] = [];
  readonly #seen = new Map<string, Draft>();
  #history: { readonly id: string; readonly message: JsonObject }[] = [];
  #definitions: JsonObject[] | null = null;
  #sent: Ms | null = null;
  #ran: ToolCall[] = [];
  readonly #called = new Map<string, Ms | null>();
  #totals: Readonly<Record<"prompt" | "output" | "cached", Tokens>> | null = null;
  #fresh: Usage | null = null;

  readonly #told: ReadonlyMap<string, Usage>;

  /** `told` is the usage by response, where the conversation's state keeps it. */
  constructor(axis: TimeAxis, job_id: string, told: ReadonlyMap<string, Usage>) {
    this.#axis = axis;
    this.#job = job_id;
    this.#told = told;
  }

  get isTold(): boolean {
    return this.#told.size > 0;
  }

  take(row: JsonObject): string | undefined {
    const kind = scalarText(row["kind"]);
    if (kind === "") throw new BadRow('"kind" is missing');
    const time = this.#axis.at(optionalInstant(row, "timestamp"));
    const id = scalarText(row["id"]);
    if (kind === "ConversationStateUpdateEvent") {
      this.#stats(row);
      return kind;
    }
    if (kind === "SystemPromptEvent") {
      this.#add(id, [{ role: "system", content: textOf(row["system_prompt"]) }]);
      this.#definitions = toOpenAiTools(row["tools"]);
      return undefined;
    }
    if (kind === "ActionEvent") return this.#action(row, id, time);
    if (kind === "MessageEvent") return this.#message(row, id, time);
    if (kind === "Condensation" || kind === "CondensationEvent") {
      this.#condense(row);
      return kind;
    }
    if (/(Observation|AgentError|UserReject)/.test(kind) && row["tool_call_id"] !== undefined) {
      this.#observe(row, id, time);
      return undefined;
    }
    return kind;
  }

  #add(id: string, messages: readonly JsonObject[]): void {
    for (const message of messages) this.#history.push({ id, message });
  }

  #action(row: JsonObject, id: string, time: Ms | null): string | undefined {
    const call = isObject(row["tool_call"])
      ? row["tool_call"]
      : { id: row["tool_call_id"], name: row["tool_name"] };
    this.#called.set(scalarText(row["tool_call_id"] ?? call["id"]), time);
    const answer = toOpenAiMessages([
      { role: "assistant", content: row["thought"] ?? null, tool_calls: [call] },
    ]);
    this.#answer(scalarText(row["llm_response_id"]) || id, id, answer, time);
    return undefined;
  }

  #message(row: JsonObject, id: string, time: Ms | null): string | undefined {
    const messages = toOpenAiMessages(row["llm_message"]);
    if (row["source"] === "agent") {
      this.#answer(scalarText(row["llm_response_id"]) || id, id, messages, time);
      return undefined;
    }
    this.#add(id, messages);
    this.#input(time);
    return undefined;
  }

  /** Calls made in one response come as one event each. */
  #answer(response: string, id: string, answer: JsonObject[], time: Ms | null): void {
    const known = this.#seen.get(response);
    if (known !== undefined) {
      known.answer.push(...answer);
      if (time !== null) known.end = Math.max(known.end ?? time, time);
    } else {
      const draft: Draft = {
        messages: joined(this.#history.map(({ message }) => message)),
        answer: [...answer],
        sent: this.#sent,
        end: time,
        tools: this.#ran,
        usage: this.isTold ? (this.#told.get(response) ?? null) : this.#fresh,
      };
      this.#seen.set(response, draft);
      this.#drafts.push(draft);
      this.#sent = null;
      this.#ran = [];
      this.#fresh = null;
    }
    this.#add(id, answer);
  }

  #observe(row: JsonObject, id: string, time: Ms | null): void {
    const call = scalarText(row["tool_call_id"]);
    const held = isObject(row["observation"]) ? row["observation"] : {};
    this.#add(id, [
      {
        role: "tool",
        tool_call_id: call,
        content: textOf(held["content"] ?? held["output"] ?? row["error"] ?? ""),
      },
    ]);
    const asked = this.#called.get(call) ?? null;
    if (asked !== null && time !== null && time >= asked)
      this.#ran.push({ name: scalarText(row["tool_name"]) || "tool", ms: time - asked });
    this.#input(time);
  }

  #input(time: Ms | null): void {
    if (time !== null) this.#sent = Math.max(this.#sent ?? time, time);
  }

  /** Events that were forgotten leave the history; their summary takes their place. */
  #condense(row: JsonObject): void {
    const ids: unknown = row["forgotten_event_ids"];
    const forgotten = new Set(Array.isArray(ids) ? ids.map(scalarText) : []);
    const at = this.#history.findIndex(({ id }) => forgotten.has(id));
    this.#history = this.#history.filter(({ id }) => !forgotten.has(id));
    const summary = scalarText(row["summary"]);
    if (summary === "") return;
    const offset = typeof row["summary_offset"] === "number" ? row["summary_offset"] : at;
    this.#history.splice(Math.max(0, offset), 0, {
      id: "summary",
      message: { role: "user", content: summary },
    });
  }

  /** What one call added to the totals, if the event's own count of the last call agrees. */
  #stats(row: JsonObject): void {
    const stats =
      row["key"] === "full_state" && isObject(row["value"]) ? row["value"]["stats"] : row["value"];
    if ((row["key"] !== "stats" && row["key"] !== "full_state") || !isObject(stats)) return;
    const all = isObject(stats["usage_to_metrics"]) ? stats["usage_to_metrics"] : {};
    const metrics = isObject(all["default"]) ? all["default"] : (Object.values(all).find(isObject) ?? {});
    const usage = isObject(metrics["accumulated_token_usage"]) ? metrics["accumulated_token_usage"] : null;
    if (usage === null) return;
    const value = (key: string): number => (typeof usage[key] === "number" ? usage[key] : 0);
    const now = {
      prompt: value("prompt_tokens"),
      output: value("completion_tokens"),
      cached: value("cache_read_tokens"),
    };
    const before = this.#totals ?? { prompt: 0, output: 0, cached: 0 };
    const own = {
      prompt: now.prompt - before.prompt,
      output: now.output - before.output,
      cached: now.cached - before.cached,
    };
    this.#totals = now;
    const counts = Object.values(own).every((count) => Number.isInteger(count) && count >= 0);
    if (counts && own.prompt > 0 && own.prompt + own.output === value("per_turn_token")) this.#fresh = own;
  }

  finish(): { readonly requests: TraceRequest[]; readonly bare: number } {
    // A conversation begins with a system prompt or a message; a log without either is cut.
    this.isCut = this.#drafts[0] !== undefined && this.#drafts[0].messages.length === 0;
    const usable = this.isCut ? this.#drafts.filter(({ usage }) => usage !== null) : this.#drafts;
    const namer = new BlockNamer();
    let held: readonly Piece[] = [];
    const chain = new TimedChain();
    const requests: TraceRequest[] = [];
    for (const draft of usable) {
      if (this.isCut) held = extended(held, draft.usage?.prompt ?? 0, `${this.#job} ${requests.length}`);
      // Nothing logged in between: the agent asked again at once.
      const sent = draft.sent ?? chain.end;
      requests.push(
        newRequest({
          ...chain.next(this.#job, sent, draft.end),
          tool: draft.tools.length > 0 ? draft.tools : null,
          prompt: this.isCut
            ? namer.prompt(held)
            : { kind: "messages", messages: draft.messages, tools: this.#definitions },
          recorded: newRecorded({
            sent_ms: sent,
            end_ms: draft.end,
            prompt_tokens: draft.usage?.prompt ?? null,
            output_tokens: draft.usage?.output ?? null,
            cached_tokens: draft.usage?.cached ?? null,
          }),
          response_text: answerText(toOpenAiMessages(draft.answer)),
        }),
      );
    }
    return { requests, bare: this.#drafts.length - usable.length };
  }
}

/** A prompt that grew holds the one before; one that shrank holds its beginning. */
function extended(held: readonly Piece[], tokens: Tokens, text: string): readonly Piece[] {
  const kept = cutPieces(held, tokens);
  const more = tokens - sumTokens(kept);
  return more > 0 ? [...kept, { text, tokens: more }] : kept;
}

/** Answers that came as several events become one message. */
function joined(messages: readonly JsonObject[]): JsonObject[] {
  return toOpenAiMessages(messages);
}
