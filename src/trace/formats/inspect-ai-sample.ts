/**
 * One sample of an Inspect AI log: its model events as calls, or, without events, its messages as a conversation. Long strings stand
 * once, in `attachments`; repeated inputs once, in a pool of messages.
 */
import type { JsonObject } from "../../core/json.ts";
import { handleItem } from "../document-rows.ts";
import { TimeAxis, toInstant } from "../instant.ts";
import { newRecorded, newRequest } from "../new-request.ts";
import {
  answerText,
  isObject,
  scalarText,
  textOf,
  toOpenAiMessages,
  toOpenAiTools,
} from "../openai-messages.ts";
import { checkCall, type RecordedCall, type ToolRun } from "../recorded-calls.ts";
import { BadRow, type RowAccount } from "../row-account.ts";
import { kindOf } from "../row-reader.ts";
import { optionalInteger, optionalNumber } from "../row-fields.ts";
import type { TraceRequest } from "../trace-request.ts";
import { chainedTurn } from "../turn-chain.ts";
import { unusedName } from "../unused-name.ts";

export class SampleReader {
  readonly calls: RecordedCall[] = [];
  /** Turns of samples that are known by their messages only. */
  readonly conversations: TraceRequest[] = [];
  readonly tools: ToolRun[] = [];
  readonly axis = new TimeAxis();
  /** Samples with neither events nor messages. */
  #silent = 0;
  /** Samples read from their messages. */
  #told = 0;
  #retried = 0;
  readonly #account: RowAccount;
  readonly #jobs = new Set<string>();

  constructor(account: RowAccount) {
    this.#account = account;
  }

  notes(): string[] {
    return [
      ...(this.#told > 0
        ? [
            `${this.#told} samples hold no events: their turns come from their messages; times are unknown, and token counts but for the last call's`,
          ]
        : []),
      ...(this.#silent > 0
        ? [`${this.#silent} samples hold neither events nor messages: nothing of them can be replayed`]
        : []),
      ...(this.#retried > 0
        ? [`${this.#retried} attempts that ended in an error and were made again are left out`]
        : []),
    ];
  }

  sample(sample: unknown, where: string): void {
    if (!isObject(sample)) {
      this.#account.refuse(null, `${where}: must be a JSON object, not ${kindOf(sample)}`);
      return;
    }
    if (Array.isArray(sample["error_retries"])) this.#retried += sample["error_retries"].length;
    // Logs of 2024 hold `transcript: {events, content}`.
    const old = isObject(sample["transcript"]) ? sample["transcript"] : {};
    const events: unknown = sample["events"] ?? old["events"];
    const texts = sample["attachments"] ?? old["content"];
    const attachments = isObject(texts) ? texts : {};
    if (!Array.isArray(events) || events.length === 0) {
      this.#messages(sample, where, attachments);
      return;
    }
    const job_id = this.#jobId(sample);
    const pooled = isObject(sample["events_data"])
      ? sample["events_data"]["messages"]
      : sample["message_pool"];
    const pool: unknown = attached(pooled ?? [], attachments);
    let calls = 0;
    events.forEach((event: unknown, at) =>
      handleItem(this.#account, `${where}.events[${at}]`, event, (row) => {
        const kind = scalarText(row["event"]);
        if (kind === "tool") this.#tool(row, job_id);
        if (kind !== "model") return `event ${kind}`;
        if (row["pending"] === true) return "model event without an end";
        if (row["cache"] === "read") return "model event answered from a local cache";
        const input = inputOf(row, Array.isArray(pool) ? pool : [], attachments);
        const call = this.#call(row, job_id, `${job_id}/${calls}`, input, attachments);
        if (call === null) return "failed model call";
        calls++;
        this.calls.push(call);
        return undefined;
      }),
    );
  }

  #jobId(sample: JsonObject): string {
    const epoch = scalarText(sample["epoch"]) || "1";
    const wanted = `sample-${scalarText(sample["id"]) || this.#jobs.size + 1}-epoch-${epoch}`;
    return unusedName(wanted, this.#jobs);
  }

  #tool(row: JsonObject, job_id: string): void {
    const start_ms = this.axis.at(toInstant(row["timestamp"]));
    const end_ms = this.axis.at(toInstant(row["completed"]));
    if (start_ms === null || end_ms === null || end_ms < start_ms) return;
    this.tools.push({ job_id, name: scalarText(row["function"]) || "tool", start_ms, end_ms });
  }

  /** `null` = the call failed and tells no usage. */
  #call(
    row: JsonObject,
    job_id: string,
    call_id: string,
    input: unknown,
    attachments: JsonObject,
  ): RecordedCall | null {
    const output = isObject(row["output"]) ? row["output"] : {};
    const usage = isObject(output["usage"]) ? output["usage"] : null;
    const failed = scalarText(row["error"] ?? output["error"]) !== "";
    if (failed && usage === null) return null;
    const start_ms = this.axis.at(toInstant(row["timestamp"]));
    if (start_ms === null) throw new BadRow('"timestamp" is no instant');
    const seconds = optionalNumber(output, "time") ?? optionalNumber(row, "working_time");
    const config = isObject(row["config"]) ? row["config"] : {};
    const top_p = optionalNumber(config, "top_p");
    const call: RecordedCall = {
      call_id,
      job_id,
      start_ms,
      first_token_ms: null,
      end_ms:
        this.axis.at(toInstant(row["completed"])) ?? (seconds === null ? null : start_ms + seconds * 1000),
      input: toOpenAiMessages(input),
      output: toOpenAiMessages(answersOf(output).map((message) => attached(message, attachments))),
      tools: toOpenAiTools(attached(row["tools"], attachments)),
      ...(usage === null ? NO_COUNTS : counts(usage)),
      max_tokens: optionalInteger(config, "max_tokens", 1),
      temperature: optionalNumber(config, "temperature"),
      params: top_p === null ? null : { top_p },
      agent: null,
      metadata: typeof row["model"] === "string" ? { model: row["model"] } : null,
    };
    checkCall(call);
    return call;
  }

  /** Every answer among a sample's messages is a turn; one that came with the sample's input was made by no model. */
  #messages(sample: JsonObject, where: string, attachments: JsonObject): void {
    const list: unknown = sample["messages"];
    if (!Array.isArray(list) || list.length === 0) {
      this.#silent++;
      this.#account.skip("sample without events");
      return;
    }
    this.#told++;
    const job_id = this.#jobId(sample);
    const history: JsonObject[] = [];
    const turns: TraceRequest[] = [];
    let unheld = 0;
    list.forEach((item: unknown, at) =>
      handleItem(this.#account, `${where}.messages[${at}]`, item, (raw) => {
        const messages = toOpenAiMessages(attached(raw, attachments));
        unheld++;
        if (raw["role"] === "assistant" && raw["source"] !== "input" && history.length > 0) {
          turns.push(
            newRequest({
              ...chainedTurn(job_id, turns.length),
              prompt: { kind: "messages", messages: history.slice(), tools: null },
              recorded: newRecorded(lastCounts(sample, raw) ?? {}),
              response_text: answerText(messages),
              metadata: typeof raw["model"] === "string" ? { model: raw["model"] } : modelOf(sample),
            }),
          );
          unheld = 0;
        }
        history.push(...messages);
        return undefined;
      }),
    );
    this.conversations.push(...turns);
    if (unheld > 0) this.#account.unuse("message that no request held", unheld);
  }
}

type Counts = Pick<RecordedCall, "prompt_tokens" | "output_tokens" | "cached_tokens">;
const NO_COUNTS: Counts = { prompt_tokens: null, output_tokens: null, cached_tokens: null };

/** Providers differ in whether `input_tokens` holds the cached ones; the total tells. */
function counts(usage: JsonObject): Counts {
  const input = optionalInteger(usage, "input_tokens");
  const output = optionalInteger(usage, "output_tokens");
  const read = optionalInteger(usage, "input_tokens_cache_read");
  const written = optionalInteger(usage, "input_tokens_cache_write");
  const total = optionalInteger(usage, "total_tokens");
  const whole = input === null ? null : input + (read ?? 0) + (written ?? 0);
  const beside = total !== null && output !== null && whole !== null && total >= whole + output;
  return { prompt_tokens: beside ? whole : input, output_tokens: output, cached_tokens: read };
}

/** A sample keeps its last output whole, with the usage of that one call: `null` for any other message. */
function lastCounts(sample: JsonObject, message: JsonObject): Counts | null {
  const output = isObject(sample["output"]) ? sample["output"] : {};
  const last = answersOf(output)[0];
  if (!isObject(last) || !isObject(output["usage"])) return null;
  const key = (one: JsonObject): string =>
    scalarText(one["id"]) || JSON.stringify([textOf(one["content"]), one["tool_calls"] ?? null]);
  const list = sample["messages"] as readonly unknown[];
  const isLast = list.findLast((one) => isObject(one) && one["role"] === "assistant") === message;
  return isLast && key(last) === key(message) ? counts(output["usage"]) : null;
}

function modelOf(sample: JsonObject): JsonObject | null {
  const model = isObject(sample["output"]) ? sample["output"]["model"] : null;
  return typeof model === "string" && model !== "" ? { model } : null;
}

function answersOf(output: JsonObject): readonly unknown[] {
  const choices = Array.isArray(output["choices"]) ? output["choices"].filter(isObject) : [];
  return choices.slice(0, 1).map((choice) => choice["message"]);
}

/** The messages of a call: in the event, or as ranges (end not held) of the sample's pool. */
function inputOf(row: JsonObject, pool: readonly unknown[], attachments: JsonObject): unknown {
  const refs = row["input_refs"];
  if (!Array.isArray(refs) || (Array.isArray(row["input"]) && row["input"].length > 0))
    return attached(row["input"], attachments);
  return refs.flatMap((range) => {
    const [from, to] = Array.isArray(range) ? range : [];
    if (typeof from !== "number" || typeof to !== "number" || from < 0 || to > pool.length || from > to)
      throw new BadRow(
        `"input_refs" ${JSON.stringify(range)} lie outside the ${pool.length} pooled messages`,
      );
    return pool.slice(from, to);
  });
}

/** The same value with every `attachment://hash` replaced by what it stands for. */
function attached(value: unknown, attachments: JsonObject): unknown {
  if (typeof value === "string") {
    if (!value.startsWith("attachment://")) return value;
    const held = attachments[value.slice("attachment://".length)];
    return typeof held === "string" ? held : value;
  }
  if (Array.isArray(value)) return value.map((item: unknown) => attached(item, attachments));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, attached(item, attachments)]));
}
