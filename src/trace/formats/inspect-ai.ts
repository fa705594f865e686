/**
 * Inspect AI logs (JSON): each sample is a job, its model events are turns. Long strings stand once, in `attachments`. Only
 * logs written with events can be replayed.
 */
import type { JsonObject } from "../../core/json.ts";
import { readJsonDocument } from "../document.ts";
import { arrayAt, handleItem } from "../document-rows.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis, toInstant } from "../instant.ts";
import { newProvenance } from "../new-request.ts";
import { isObject, scalarText, toOpenAiMessages, toOpenAiTools } from "../openai-messages.ts";
import { checkCall, linkCalls, type RecordedCall, type ToolRun } from "../recorded-calls.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { kindOf } from "../row-reader.ts";
import { optionalInteger, optionalNumber } from "../row-fields.ts";
import type { Trace } from "../trace.ts";

export const inspectAi: TraceFormat = {
  name: "inspect-ai",
  title: "Inspect AI log (JSON)",
  marks: ["eval", "samples", "status", "version"],
  detect(sample) {
    if (isObject(sample.document))
      return isObject(sample.document["eval"]) && "status" in sample.document && "version" in sample.document
        ? 1
        : 0;
    return /^\s*\{\s*"version"\s*:/.test(sample.head) &&
      /"status"\s*:/.test(sample.head) &&
      /"eval"\s*:\s*\{/.test(sample.head)
      ? 0.9
      : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const document = await readJsonDocument(path, options);
    const reader = new SampleReader(account);
    try {
      if (!isObject(document)) throw new BadRow(`must be a JSON object, not ${kindOf(document)}`);
      arrayAt(document["samples"] ?? [], "samples").forEach((sample, at) =>
        reader.sample(sample, `samples[${at}]`),
      );
    } catch (error) {
      if (!(error instanceof BadRow)) throw error;
      account.refuse(null, error.message);
    }
    const { calls, tools, axis } = reader;
    const linked = linkCalls(calls, tools);
    const placed = fromFirstArrival(linked.requests, axis);
    return {
      format: "inspect-ai",
      path,
      header: placed.header,
      requests: placed.requests,
      rows: account.counts(),
      faults: account.faults,
      provenance: newProvenance({
        arrivals: "recorded",
        order: "inferred",
        think_time: "inferred",
        prompt_text: "recorded",
        prompt_length: calls.some(({ prompt_tokens }) => prompt_tokens !== null) ? "recorded" : "missing",
        prefix_sharing: "recorded",
        output_length: calls.some(({ output_tokens }) => output_tokens !== null) ? "recorded" : "missing",
        sampling: calls.some(({ temperature }) => temperature !== null) ? "recorded" : "missing",
      }),
      notes:
        reader.silent > 0 ? [`${reader.silent} samples hold no events: nothing of them can be replayed`] : [],
    };
  },
};

class SampleReader {
  readonly calls: RecordedCall[] = [];
  readonly tools: ToolRun[] = [];
  readonly axis = new TimeAxis();
  /** Samples without events. */
  silent = 0;
  readonly #account: RowAccount;
  readonly #jobs = new Set<string>();

  constructor(account: RowAccount) {
    this.#account = account;
  }

  sample(sample: unknown, where: string): void {
    if (!isObject(sample)) {
      this.#account.refuse(null, `${where}: must be a JSON object, not ${kindOf(sample)}`);
      return;
    }
    const events: unknown = sample["events"];
    if (!Array.isArray(events) || events.length === 0) {
      this.silent++;
      this.#account.skip("sample without events");
      return;
    }
    const job_id = this.#jobId(sample);
    const attachments = isObject(sample["attachments"]) ? sample["attachments"] : {};
    let calls = 0;
    events.forEach((event: unknown, at) =>
      handleItem(this.#account, `${where}.events[${at}]`, event, (row) => {
        const kind = scalarText(row["event"]);
        if (kind === "tool") this.#tool(row, job_id);
        if (kind !== "model") return `event ${kind}`;
        if (row["pending"] === true) return "model event without an end";
        if (row["cache"] === "read") return "model event answered from a local cache";
        const call = this.#call(row, job_id, `${job_id}/${calls}`, attachments);
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
    let id = wanted;
    for (let copy = 2; this.#jobs.has(id); copy++) id = `${wanted}#${copy}`;
    this.#jobs.add(id);
    return id;
  }

  #tool(row: JsonObject, job_id: string): void {
    const start_ms = this.axis.at(toInstant(row["timestamp"]));
    const end_ms = this.axis.at(toInstant(row["completed"]));
    if (start_ms === null || end_ms === null || end_ms < start_ms) return;
    this.tools.push({ job_id, name: scalarText(row["function"]) || "tool", start_ms, end_ms });
  }

  /** `null` = the call failed and tells no usage. */
  #call(row: JsonObject, job_id: string, call_id: string, attachments: JsonObject): RecordedCall | null {
    const output = isObject(row["output"]) ? row["output"] : {};
    const usage = isObject(output["usage"]) ? output["usage"] : null;
    const failed = scalarText(row["error"] ?? output["error"]) !== "";
    if (failed && usage === null) return null;
    const start_ms = this.axis.at(toInstant(row["timestamp"]));
    if (start_ms === null) throw new BadRow('"timestamp" is no instant');
    const seconds = optionalNumber(output, "time") ?? optionalNumber(row, "working_time");
    const config = isObject(row["config"]) ? row["config"] : {};
    const top_p = optionalNumber(config, "top_p");
    const choices = Array.isArray(output["choices"]) ? output["choices"].filter(isObject) : [];
    const call: RecordedCall = {
      call_id,
      job_id,
      start_ms,
      first_token_ms: null,
      end_ms:
        this.axis.at(toInstant(row["completed"])) ?? (seconds === null ? null : start_ms + seconds * 1000),
      input: toOpenAiMessages(attached(row["input"], attachments)),
      output: toOpenAiMessages(choices.slice(0, 1).map((choice) => attached(choice["message"], attachments))),
      tools: toOpenAiTools(attached(row["tools"], attachments)),
      ...(usage === null ? { prompt_tokens: null, output_tokens: null, cached_tokens: null } : counts(usage)),
      max_tokens: optionalInteger(config, "max_tokens", 1),
      temperature: optionalNumber(config, "temperature"),
      params: top_p === null ? null : { top_p },
      agent: null,
      metadata: typeof row["model"] === "string" ? { model: row["model"] } : null,
    };
    checkCall(call);
    return call;
  }
}

/** Providers differ in whether `input_tokens` holds the cached ones; the total tells. */
function counts(usage: JsonObject): Pick<RecordedCall, "prompt_tokens" | "output_tokens" | "cached_tokens"> {
  const input = optionalInteger(usage, "input_tokens");
  const output = optionalInteger(usage, "output_tokens");
  const read = optionalInteger(usage, "input_tokens_cache_read");
  const written = optionalInteger(usage, "input_tokens_cache_write");
  const total = optionalInteger(usage, "total_tokens");
  const whole = input === null ? null : input + (read ?? 0) + (written ?? 0);
  const beside = total !== null && output !== null && whole !== null && total >= whole + output;
  return { prompt_tokens: beside ? whole : input, output_tokens: output, cached_tokens: read };
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
