/**
 * One Codex session, row by row: what is said becomes the history, and a request is closed by the usage that is reported for it (or, in
 * logs that report none, by the next input).
 */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import type { Instant, TimeAxis } from "../instant.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { answerText, isObject, scalarText, textOf, toOpenAiMessages } from "../openai-messages.ts";
import { BadRow } from "../row-account.ts";
import {
  integerField,
  objectField,
  optionalInteger,
  optionalIsoInstant,
  stringField,
} from "../row-fields.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";
import { TimedChain } from "../turn-chain.ts";
import { unusedName } from "../unused-name.ts";
import { CodexThread } from "./codex-agents.ts";
import { CopiedHistory, parentOf } from "./codex-fork.ts";

/** What is known of a log only after it was read once. */
export interface CodexMode {
  /** No usage is reported: every answer is a request of unknown length. */
  readonly byAnswers: boolean;
  /** Nothing but time tells where a fork's own rows begin. */
  readonly forkByTime: boolean;
}

/** What a running total grew by; all of it where it began anew. */
function added(total: JsonObject | null, before: JsonObject | null): JsonObject | null {
  if (total === null) return null;
  const keys = ["input_tokens", "cached_input_tokens", "output_tokens"] as const;
  const counts = keys.map((key) => {
    const [now, then] = [total[key], before?.[key] ?? 0];
    return typeof now === "number" && typeof then === "number" ? now - then : null;
  });
  if (counts.some((count) => count !== null && count < 0)) return total;
  return Object.fromEntries(keys.map((key, at) => [key, counts[at] ?? undefined]));
}

export class CodexSession {
  readonly requests: TraceRequest[] = [];
  /** What it said to other agents, and heard of them. */
  readonly thread = new CodexThread();
  readonly #axis: TimeAxis;
  readonly #mode: CodexMode;
  #job: string;
  #id = "";
  /** Jobs of the file so far: a session may be joined to it twice. */
  readonly #jobs: Set<string>;
  #named = false;
  #parent = "";
  #made: Instant | null = null;
  /** The ordinal of its first own row, where it tells that. */
  #ownFrom: number | null = null;
  /** Whether the history before it stands in another file. */
  lacksHistory = false;
  /** The copy of its parent's log that it is still in. */
  #copy: CopiedHistory | null = null;
  #model: string | null = null;
  #total: JsonObject | null = null;
  /** Responses whose own usage was reported; running counts then say it again. */
  #hasRecords = false;
  readonly #responses = new Set<string>();
  /** What the next request holds, and what it waits for. */
  #history: JsonObject[] = [];
  #sent: Ms | null = null;
  #tools: ToolCall[] = [];
  /** The answer in progress; inputs that come before its usage belong to the request after it. */
  #answer: JsonObject[] = [];
  #answering = false;
  #answered: Ms | null = null;
  #next: JsonObject[] = [];
  #nextSent: Ms | null = null;
  #nextTools: ToolCall[] = [];
  readonly #chain = new TimedChain();
  readonly #calls = new Map<string, { readonly name: string; readonly time: Ms | null }>();
  #items = 0;
  /** Requests of the parent that stand in the copy. */
  #copied = 0;
  hasText = false;

  constructor(axis: TimeAxis, name: string, mode: CodexMode, jobs: Set<string>) {
    this.#axis = axis;
    this.#jobs = jobs;
    this.#job = name;
    this.#mode = mode;
  }

  get copied(): number {
    return this.#copied;
  }

  /** Whether everything so far is its parent's. */
  get isCopy(): boolean {
    return this.#copy !== null;
  }

  /** Whether the log holds another session from this `session_meta` on (logs joined in one file). */
  isOther(meta: JsonObject): boolean {
    const id = scalarText(meta["id"]);
    const isBegun = this.#named || this.requests.length > 0;
    // A copy of the parent's log stands before all of its own requests.
    const isCopied = this.#copy !== null || (id === this.#parent && this.requests.length === 0);
    return isBegun && !isCopied && id !== "" && id !== this.#id;
  }

  /** The log has ended. */
  end(): void {
    if (this.#mode.byAnswers && this.#answering) this.#close(null, null, null, null);
  }

  /** Items since the last request: part of no turn. */
  pending(): number {
    return this.#items;
  }

  take(row: JsonObject): string | undefined {
    const type = stringField(row, "type");
    const payload = objectField(row, "payload");
    const instant = optionalIsoInstant(row, "timestamp");
    const time = this.#axis.at(instant);
    if (this.#isOwn(row, type, payload, instant)) this.#begin();
    switch (type) {
      case "session_meta":
        this.#meta(payload, instant);
        return type;
      case "turn_context":
        this.#model = scalarText(payload["model"]) || this.#model;
        this.#input(time);
        return type;
      case "response_item":
        return this.#item(payload, time);
      case "compacted":
        this.#compact(payload);
        return type;
      case "inter_agent_communication":
        this.#items++;
        this.#hear(payload, time);
        return undefined;
      case "token_usage_record":
        return this.#record(payload, time);
      case "event_msg":
        if (payload["type"] === "token_count") return this.#count(payload, time);
        this.thread.started(payload);
        return `event ${scalarText(payload["type"])}`;
      default:
        return type;
    }
  }

  /** Whether the copy of the parent's log has ended before this row. */
  #isOwn(row: JsonObject, type: string, payload: JsonObject, instant: Instant | null): boolean {
    const { ordinal } = row;
    if (this.#ownFrom === null || typeof ordinal !== "number")
      return this.#copy?.endsBefore(type, payload, instant) === true;
    if (ordinal >= this.#ownFrom) return this.#copy !== null;
    if (this.requests.length === 0) this.#copy ??= new CopiedHistory(this.#job, this.#made, false);
    return false;
  }

  #meta(payload: JsonObject, time: Instant | null): void {
    if (this.#named) {
      if (this.requests.length === 0 && this.#parent !== "" && payload["id"] === this.#parent)
        this.#copy ??= new CopiedHistory(this.#job, this.#made, this.#mode.forkByTime);
      return;
    }
    this.#named = true;
    this.#id = scalarText(payload["id"]);
    this.thread.begin(payload);
    this.#ownFrom = optionalInteger(payload, "subagent_history_start_ordinal");
    this.lacksHistory = isObject(payload["history_base"]);
    this.#job = unusedName(this.#id || this.#job, this.#jobs);
    this.#parent = parentOf(payload);
    this.#made = optionalIsoInstant(payload, "timestamp") ?? time;
    const system = textOf(
      isObject(payload["base_instructions"]) ? payload["base_instructions"] : payload["instructions"],
    );
    if (system !== "") this.#history.push({ role: "system", content: system });
  }

  /** The copy has ended: what it said is history, when it said it is not. */
  #begin(): void {
    this.#copy = null;
    this.#proceed();
    this.#sent = null;
    this.#tools = [];
    this.#calls.clear();
  }

  #item(payload: JsonObject, time: Ms | null): string | undefined {
    const kind = scalarText(payload["type"]);
    if (kind === "ghost_snapshot" || kind === "other") return `item ${kind}`;
    this.#items++;
    const messages = toOpenAiMessages(payload);
    if (messages.length > 0) this.hasText = true;
    if (kind === "agent_message") {
      this.#hear(payload, time);
      return undefined;
    }
    if (kind.endsWith("_output")) {
      this.#result(scalarText(payload["call_id"]), time);
      this.thread.started(payload);
    }
    if (kind.endsWith("_output") || (kind === "message" && payload["role"] !== "assistant")) {
      this.thread.hear(payload, this.#answering);
      this.#input(time, messages);
      return undefined;
    }
    const id = scalarText(payload["call_id"] ?? payload["id"]);
    const isCall = kind.endsWith("_call") && id !== "";
    if (isCall) this.#calls.set(id, { name: scalarText(payload["name"]) || kind, time });
    // An answer whose usage never came (it was interrupted): the new one begins after its inputs.
    if (this.#answering && this.#next.length > 0) {
      if (this.#mode.byAnswers && this.#copy === null) this.#close(null, null, null, null);
      else this.#proceed();
    }
    if (isCall) this.thread.call(id, payload);
    this.#answering = true;
    if (time !== null) this.#answered = Math.max(this.#answered ?? time, time);
    this.#answer.push(...messages);
    return undefined;
  }

  /** A message of another agent; its text may be encrypted. */
  #hear(payload: JsonObject, time: Ms | null): void {
    const content = textOf(payload["content"]);
    if (content !== "") this.hasText = true;
    this.thread.hear(payload, this.#answering);
    this.#input(time, content === "" ? [] : [{ role: "user", content }]);
  }

  #input(time: Ms | null, messages: readonly JsonObject[] = []): void {
    if (this.#answering) {
      this.#next.push(...messages);
      if (time !== null) this.#nextSent = Math.max(this.#nextSent ?? time, time);
    } else {
      this.#history.push(...messages);
      if (time !== null) this.#sent = Math.max(this.#sent ?? time, time);
    }
  }

  #result(id: string, time: Ms | null): void {
    const call = this.#calls.get(id);
    if (call === undefined || call.time === null || time === null || time < call.time) return;
    (this.#answering ? this.#nextTools : this.#tools).push({ name: call.name, ms: time - call.time });
  }

  /** The answer and what came after it become the history of the next request. */
  #proceed(): void {
    this.thread.proceed();
    this.#history.push(...toOpenAiMessages(this.#answer), ...this.#next);
    this.#sent = this.#nextSent;
    this.#tools = this.#nextTools;
    this.#answer = [];
    this.#answering = false;
    this.#answered = null;
    this.#next = [];
    this.#nextSent = null;
    this.#nextTools = [];
  }

  #compact(payload: JsonObject): void {
    const held = Array.isArray(payload["replacement_history"])
      ? toOpenAiMessages(payload["replacement_history"])
      : [];
    const system = this.#history.filter(({ role }, at) => role === "system" && at === 0);
    const summary = scalarText(payload["message"]);
    this.#proceed();
    this.#history = [
      ...system,
      ...(held.length > 0 || summary === "" ? held : [{ role: "user", content: summary }]),
    ];
  }

  /** The usage of one response: newer logs have both this and the running count. */
  #record(payload: JsonObject, time: Ms | null): string | undefined {
    if (!isObject(payload["usage"])) return "token_usage_record without usage";
    const id = scalarText(payload["response_id"]);
    if (id !== "" && this.#responses.has(id)) return "token_usage_record repeated";
    if (id !== "") this.#responses.add(id);
    const isFirst = !this.#hasRecords;
    this.#hasRecords = true;
    // The count of the same response may have come before the first record.
    const before = this.requests.at(-1)?.recorded;
    const { input_tokens, output_tokens } = payload["usage"];
    if (
      isFirst &&
      !this.#answering &&
      before?.prompt_tokens === input_tokens &&
      before?.output_tokens === output_tokens
    )
      return "token_usage_record repeated";
    return this.#usage(payload["usage"], time, "token_usage_record");
  }

  #count(payload: JsonObject, time: Ms | null): string | undefined {
    if (!isObject(payload["info"])) return "token_count without usage";
    const info = payload["info"];
    const total = isObject(info["total_token_usage"]) ? info["total_token_usage"] : null;
    const before = this.#total;
    this.#total = total ?? before;
    this.#model = scalarText(info["model"]) || this.#model;
    // Reports are repeated (after every refresh of limits): the same total is no new request.
    const isSame = total !== null && before !== null && JSON.stringify(total) === JSON.stringify(before);
    if (isSame || this.#hasRecords) return "token_count repeated";
    const usage = isObject(info["last_token_usage"]) ? info["last_token_usage"] : added(total, before);
    if (usage === null) return "token_count without usage";
    return this.#usage(usage, time, "token_count");
  }

  #usage(usage: JsonObject, time: Ms | null, row: string): string | undefined {
    const prompt = integerField(usage, "input_tokens");
    const cached = optionalInteger(usage, "cached_input_tokens");
    const output = optionalInteger(usage, "output_tokens");
    if (cached !== null && cached > prompt)
      throw new BadRow(`"cached_input_tokens" ${cached} exceed "input_tokens" ${prompt}`);
    if (prompt === 0 && (output ?? 0) === 0) return `${row} of nothing`;
    if (this.#copy !== null) {
      this.#copied++;
      this.#proceed();
      return `${row} copied from the parent session`;
    }
    this.#close(prompt, cached, output, time);
    return undefined;
  }

  #close(prompt: number | null, cached: number | null, output: number | null, time: Ms | null): void {
    const end = this.#answered ?? time;
    // Nothing logged in between: the agent asked again at once. A log of counts alone tells only when they were reported.
    const sent = this.#sent ?? (this.hasText ? this.#chain.end : null);
    const messages = this.#history.slice();
    const isTold = messages.some(({ role }) => role !== "system");
    // An answer to nothing: neither a prompt nor its length is known.
    if (!isTold && prompt === null) return this.#proceed();
    const turn = this.#chain.next(this.#job, sent, end);
    this.requests.push(
      newRequest({
        ...turn,
        tool: this.#tools.length > 0 ? this.#tools : null,
        prompt: isTold ? { kind: "messages", messages, tools: null } : lengthPrompt(prompt ?? 0),
        recorded: newRecorded({
          sent_ms: sent,
          end_ms: end,
          prompt_tokens: prompt,
          output_tokens: output,
          cached_tokens: cached,
        }),
        response_text: answerText(this.#answer),
        metadata: this.#model === null ? null : { model: this.#model },
      }),
    );
    this.thread.close(turn.request_id);
    this.#items = 0;
    this.#proceed();
  }
}
