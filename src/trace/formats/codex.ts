/**
 * Codex session logs (rollout JSONL). A `token_count` with new usage closes a request; its input counts the cached tokens in and
 * its output the reasoning. What is said is logged twice (as item and as event): items count.
 */
import { basename } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, gapAfter, parseIsoInstant, TimeAxis } from "../instant.ts";
import { lengthPrompt, newProvenance, newRecorded, newRequest } from "../new-request.ts";
import { answerText, isObject, scalarText, textOf, toOpenAiMessages } from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { integerField, objectField, optionalInteger, stringField, wrong } from "../row-fields.ts";
import { hasRecordMarks, readSessionRecords, sampleRecords } from "../session-records.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";

const RECORDS = new Set(["session_meta", "turn_context", "response_item", "event_msg", "compacted"]);

const CUT_RECORD = /"type"\s*:\s*"(session_meta|turn_context|response_item|event_msg)",\s*"payload"\s*:\s*\{/;

export const codex: TraceFormat = {
  name: "codex",
  title: "Codex session (rollout JSONL)",
  marks: ["timestamp", "type", "payload"],
  detect(sample) {
    const records = sampleRecords(sample);
    const known = records.filter((row) => RECORDS.has(scalarText(row["type"])) && isObject(row["payload"]));
    if (known.length > 0) return 1;
    // The first pretty-printed record can be longer than what detection sees.
    return records.length === 0 && hasRecordMarks(sample) && CUT_RECORD.test(sample.head) ? 0.9 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const axis = new TimeAxis();
    const session = new Session(axis, basename(options.name ?? path).replace(/\.jsonl?(\.gz)?$/, ""));
    await readSessionRecords(path, account, (row) => session.take(row));
    const placed = fromFirstArrival(session.requests, axis);
    const rows = account.counts();
    const unused = session.pending();
    return {
      format: "codex",
      path,
      header: placed.header,
      requests: placed.requests,
      rows:
        unused === 0
          ? rows
          : {
              ...rows,
              used: rows.used - unused,
              skipped: { ...rows.skipped, "item after the last request": unused },
            },
      faults: account.faults,
      provenance: newProvenance({
        arrivals: "inferred",
        order: "recorded",
        think_time: "inferred",
        prompt_text: session.hasText ? "recorded" : "missing",
        prompt_length: "recorded",
        prefix_sharing: session.hasText ? "recorded" : "missing",
        output_length: "recorded",
      }),
      notes: [
        "requests are taken to have been sent when their last input was logged",
        "tool definitions are not in the log: prompts sent are shorter than the recorded ones",
      ],
    };
  },
};

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

class Session {
  readonly requests: TraceRequest[] = [];
  readonly #axis: TimeAxis;
  #job: string;
  #named = false;
  #model: string | null = null;
  #total: JsonObject | null = null;
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
  #last: { readonly id: string; readonly end: Ms | null; readonly arrival: Ms | null } | null = null;
  readonly #calls = new Map<string, { readonly name: string; readonly time: Ms | null }>();
  #items = 0;
  hasText = false;

  constructor(axis: TimeAxis, name: string) {
    this.#axis = axis;
    this.#job = name;
  }

  /** Items since the last request: part of no turn. */
  pending(): number {
    return this.#items;
  }

  take(row: JsonObject): string | undefined {
    const type = stringField(row, "type");
    const payload = objectField(row, "payload");
    const time = this.#time(row);
    switch (type) {
      case "session_meta":
        this.#meta(payload);
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
      case "event_msg":
        if (payload["type"] === "token_count") return this.#usage(payload, time);
        return `event ${scalarText(payload["type"])}`;
      default:
        return type;
    }
  }

  #meta(payload: JsonObject): void {
    // A forked session copies the metadata of the one it came from after its own.
    if (this.#named) return;
    this.#named = true;
    this.#job = scalarText(payload["id"]) || this.#job;
    const system = textOf(
      isObject(payload["base_instructions"]) ? payload["base_instructions"] : payload["instructions"],
    );
    if (system !== "") this.#history.push({ role: "system", content: system });
  }

  #item(payload: JsonObject, time: Ms | null): string | undefined {
    const kind = scalarText(payload["type"]);
    if (kind === "ghost_snapshot" || kind === "other") return `item ${kind}`;
    this.#items++;
    const messages = toOpenAiMessages(payload);
    if (messages.length > 0) this.hasText = true;
    if (kind.endsWith("_output")) {
      this.#result(scalarText(payload["call_id"]), time);
      this.#input(time, messages);
      return undefined;
    }
    if (kind === "message" && payload["role"] !== "assistant") {
      this.#input(time, messages);
      return undefined;
    }
    const id = scalarText(payload["call_id"] ?? payload["id"]);
    if (kind.endsWith("_call") && id !== "")
      this.#calls.set(id, { name: scalarText(payload["name"]) || kind, time });
    // An answer whose usage never came (it was interrupted): the new one begins after its inputs.
    if (this.#answering && this.#next.length > 0) this.#proceed();
    this.#answering = true;
    if (time !== null) this.#answered = Math.max(this.#answered ?? time, time);
    this.#answer.push(...messages);
    return undefined;
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

  #usage(payload: JsonObject, time: Ms | null): string | undefined {
    if (!isObject(payload["info"])) return "token_count without usage";
    const info = payload["info"];
    const total = isObject(info["total_token_usage"]) ? info["total_token_usage"] : null;
    const before = this.#total;
    // Reports are repeated (after every refresh of limits): the same total is no new request.
    if (total !== null && before !== null && JSON.stringify(total) === JSON.stringify(before))
      return "token_count repeated";
    this.#total = total ?? before;
    const usage = isObject(info["last_token_usage"]) ? info["last_token_usage"] : added(total, before);
    if (usage === null) return "token_count without usage";
    const prompt = integerField(usage, "input_tokens");
    const cached = optionalInteger(usage, "cached_input_tokens");
    const output = optionalInteger(usage, "output_tokens");
    if (cached !== null && cached > prompt)
      throw new BadRow(`"cached_input_tokens" ${cached} exceed "input_tokens" ${prompt}`);
    if (prompt === 0 && (output ?? 0) === 0) return "token_count of nothing";
    this.#model = scalarText(info["model"]) || this.#model;
    this.#close(prompt, cached, output, time);
    return undefined;
  }

  #close(prompt: number, cached: number | null, output: number | null, time: Ms | null): void {
    const id = `${this.#job}/${this.requests.length}`;
    const end = this.#answered ?? time;
    // Nothing logged in between: the agent asked again at once. A log of counts alone tells only when they were reported.
    const sent = this.#sent ?? (this.hasText ? (this.#last?.end ?? null) : null);
    const asked = sent ?? end;
    const arrival = asked === null ? null : Math.max(asked, this.#last?.arrival ?? asked);
    const messages = this.#history.slice();
    this.requests.push(
      newRequest({
        request_id: id,
        job_id: this.#job,
        turn: this.requests.length,
        arrival_ms: arrival,
        after: this.#last === null ? [] : [this.#last.id],
        think_ms: this.#last === null || sent === null ? null : gapAfter(sent, [this.#last.end]),
        tool: this.#tools.length > 0 ? this.#tools : null,
        prompt: messages.some(({ role }) => role !== "system")
          ? { kind: "messages", messages, tools: null }
          : lengthPrompt(prompt),
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
    this.#last = { id, end, arrival };
    this.#items = 0;
    this.#proceed();
  }

  #time(row: JsonObject): Ms | null {
    const text = row["timestamp"];
    if (text == null) return null;
    const instant = typeof text === "string" ? parseIsoInstant(text) : null;
    if (instant === null) throw wrong("timestamp", text, "an ISO 8601 instant");
    return this.#axis.at(instant);
  }
}
