/**
 * Turns the body of a response into an {@link Observation}: first token, chunk times, counts, terminal signal, errors
 * inside a 200. The rules are those of METRICS, "The record of one request".
 */
import type { Failure, FailureCode } from "../core/failure.ts";
import { secrets } from "../core/secret.ts";
import type { Ms } from "../core/units.ts";
import type { EngineTimes, Observation, ToolCallRecord } from "../record/observation.ts";
import { ChunkTokenCounter } from "./chunk-token-counter.ts";
import type { StreamListener } from "./client.ts";
import type { Delta, Protocol, ResponseReader } from "./protocol.ts";
import { cleanMessage } from "./server-message.ts";
import { EventSkimmer } from "./stream/event-skimmer.ts";
import type { EventSink, EventSplitter } from "./stream/event-splitter.ts";
import { GrowingBuffer } from "./stream/growing-buffer.ts";
import { NdjsonSplitter } from "./stream/ndjson-splitter.ts";
import { SseSplitter } from "./stream/sse-splitter.ts";
import { ToolCallJoiner } from "./tool-call-joiner.ts";

export interface ObserverOptions {
  readonly protocol: Protocol;
  readonly keepText: boolean;
  readonly keepChunks: boolean;
  readonly listener: StreamListener | null;
  /** Parse every event, also where only its text is new. For the test that holds both ways equal. */
  readonly parseAll?: boolean;
}

/** What was asked for arrives as events, or as one JSON text where streaming was off or ignored. */
type BodyKind = "unknown" | "events" | "json";

const MAX_NOTES = 8;

export class ResponseObserver implements EventSink {
  readonly #options: ObserverOptions;
  readonly #reader: ResponseReader;
  readonly #observation: Observation;
  readonly #chunkMs: Ms[] = [];
  readonly #tokens = new ChunkTokenCounter();
  readonly #skimmer: EventSkimmer | null;
  #toolCalls: ToolCallJoiner | null = null;
  #texts: string[] | null = null;
  #reasoning: string[] | null = null;
  #contentType = "";
  #kind: BodyKind = "unknown";
  #splitter: EventSplitter | null = null;
  #json: GrowingBuffer | null = null;
  /** White space before the first byte that tells what the body is: keep-alives of a server that is still thinking. */
  #blank: GrowingBuffer | null = null;
  #at: Ms = 0;
  #events = 0;
  #bodyBytes = 0;
  /** The protocol's own end, an error, or data that makes no sense: nothing more is to be read. */
  #over = false;
  /** The first line that belongs to no event: a gateway's error page, perhaps. */
  #stray: string | null = null;
  #terminal = false;
  /** Payload came after a finish reason. */
  #wentOn = false;
  #failure: Failure | null = null;

  constructor(options: ObserverOptions, observation: Observation) {
    this.#options = options;
    this.#reader = options.protocol.reader();
    this.#observation = observation;
    if (options.keepText) {
      this.#texts = [];
      this.#reasoning = [];
    }
    const skims = options.protocol.independentEvents === true && options.parseAll !== true;
    this.#skimmer = skims ? new EventSkimmer(() => options.protocol.reader()) : null;
  }

  /** The response head of a 2xx. */
  head(contentType: string): void {
    this.#contentType = contentType;
  }

  /** Takes body bytes. Returns `true` once nothing more is to be read. */
  body(bytes: Buffer, start: number, end: number, at: Ms): boolean {
    if (this.#over || start === end) return this.#over;
    this.#at = at;
    this.#bodyBytes += end - start;
    if (this.#kind === "unknown") this.#sniff(bytes, start, end);
    if (this.#kind === "unknown") (this.#blank ??= new GrowingBuffer()).append(bytes, start, end);
    else if (this.#kind === "json") (this.#json ??= new GrowingBuffer()).append(bytes, start, end);
    else if (this.#kind === "events") this.#splitter?.push(bytes, start, end);
    return this.#over;
  }

  /** The body is complete. */
  end(at: Ms): void {
    if (this.#over) return;
    this.#at = at;
    if (this.#kind === "json") this.#readJson();
    else this.#splitter?.end();
    if (this.#over || this.#terminal) return;
    if (this.#options.protocol.endsWithBody === true && this.#events > 0) return;
    const type = this.#contentType.split(";", 1)[0] ?? "";
    if (this.#events === 0 && this.#bodyBytes > 0 && !type.includes("event-stream")) {
      this.#fail(
        "bad_payload",
        `the answer (${type || "no content type"}) is not of the ${this.#options.protocol.name} protocol`,
      );
    } else {
      this.#fail(
        "truncated",
        this.#bodyBytes === 0
          ? "the response has no body"
          : `the stream ended without a finish reason or an end event${this.#stray === null ? "" : `: ${this.#stray}`}`,
      );
    }
  }

  /**
   * The connection broke or closed before the body's end. Returns whether the answer was complete all the same: its terminal signal
   * (METRICS: a finish reason, or the end event) had come, if only without the blank line after it.
   */
  completeAtBreak(at: Ms): boolean {
    this.#at = at;
    if (!this.#over) this.#splitter?.end();
    if (!this.#terminal || this.#failure !== null) return false;
    this.note("the connection closed before the body's end, after the terminal signal");
    return true;
  }

  /** What was observed, with its failure: the one given, else the one found in the body. */
  result(at: Ms, failure: Failure | null): Observation {
    const seen = this.#observation;
    seen.end_ms = at;
    seen.failure = failure ?? this.#failure;
    seen.chunk_ms = this.#chunkMs;
    seen.chunk_tokens = this.#tokens.counts;
    seen.tool_calls = this.#toolCalls?.calls.map(redactCall) ?? null;
    seen.text = this.#texts === null ? null : secrets.redact(this.#texts.join(""));
    if (this.#reasoning !== null && this.#reasoning.length > 0)
      seen.reasoning = secrets.redact(this.#reasoning.join(""));
    if (seen.prompt_tokens !== null) seen.prompt_tokens_source = "server";
    if (
      seen.cached_tokens !== null &&
      seen.prompt_tokens !== null &&
      seen.cached_tokens > seen.prompt_tokens
    ) {
      this.note(`cached_tokens ${seen.cached_tokens} of a prompt of ${seen.prompt_tokens}: not taken`);
      seen.cached_tokens = null;
      if (seen.engine !== null) seen.engine = { ...seen.engine, cached_tokens: null };
    }
    // A server that counts 0 tokens in an answer that has some does not count.
    if (seen.output_tokens === 0 && seen.chunks > 0) seen.output_tokens = null;
    if (seen.output_tokens === null) seen.output_tokens = this.#tokens.ownTotal;
    if (seen.output_tokens !== null) seen.output_tokens_source = "server";
    else if (seen.chunks > 0) {
      seen.output_tokens = seen.chunks;
      seen.output_tokens_source = "chunks";
    }
    return seen;
  }

  get events(): number {
    return this.#events;
  }

  /** A finish reason came, no failure, and no payload after it: some servers give one with every chunk. */
  get isFinished(): boolean {
    return this.#terminal && !this.#wentOn && this.#failure === null;
  }

  /** The failure found in the body so far. */
  get failure(): Failure | null {
    return this.#failure;
  }

  event(name: string, bytes: Buffer, start: number, end: number, whole: boolean): void {
    if (this.#over) return;
    if (name === "") {
      // A server that fails in the middle of a stream may forget that it is one.
      const text = bytes.toString("utf8", start, end);
      const error = this.#reader.event("message", text)?.error ?? null;
      if (error !== null) this.#fail("server_error", error);
      else this.#stray ??= text.slice(0, 300);
      return;
    }
    let from = start;
    let to = end;
    while (from < to && (bytes[from] as number) <= 32) from++;
    while (to > from && (bytes[to - 1] as number) <= 32) to--;
    if (from === to && name !== "error") return;
    this.#events++;
    const skimmer = name === "message" ? this.#skimmer : null;
    if (skimmer !== null && skimmer.matches(bytes, from, to)) {
      this.#skim(skimmer, bytes);
      return;
    }
    const data = bytes.toString("utf8", from, to);
    const delta = this.#reader.event(name, data);
    if (delta === null) {
      // What the end of the body cut off is a truncation, not nonsense.
      if (whole)
        this.#fail(
          "bad_payload",
          `not an event of the ${this.#options.protocol.name} protocol: ${data.slice(0, 300)}`,
        );
      return;
    }
    skimmer?.learn(bytes, from, to, delta);
    // JSON lines differ from one JSON text in the number of lines alone: a first one that is also the end was not streamed.
    const isWhole = this.#events === 1 && delta.done && this.#isOneJsonText();
    this.#take(delta, !isWhole);
  }

  #isOneJsonText(): boolean {
    return (
      this.#options.protocol.framing === "ndjson" &&
      (this.#contentType.split(";", 1)[0] ?? "").trim() === "application/json"
    );
  }

  /** An event of which only the text is new. */
  #skim(skimmer: EventSkimmer, bytes: Buffer): void {
    if (skimmer.start === skimmer.end) return;
    const isText = skimmer.kind === "text";
    this.#payload(isText, null, null);
    const kept = isText ? this.#texts : this.#reasoning;
    if (kept !== null) kept.push(skimmer.text(bytes));
  }

  #sniff(bytes: Buffer, start: number, end: number): void {
    if (this.#options.protocol.framing === "ndjson") {
      this.#kind = "events";
      this.#splitter = new NdjsonSplitter(this);
      return;
    }
    let at = start;
    while (at < end && isBlankOrBom(bytes[at] as number)) at++;
    // Blank lines and a BOM tell nothing yet; the splitter and JSON know what to do with them.
    if (at === end) return;
    const first = bytes[at];
    const blank = this.#blank;
    this.#blank = null;
    if (first === 0x7b || first === 0x5b) {
      this.#kind = "json";
      this.#json = blank;
    } else {
      this.#kind = "events";
      this.#splitter = new SseSplitter(this);
      if (blank !== null) this.#splitter.push(blank.bytes, 0, blank.length);
    }
  }

  #readJson(): void {
    const bytes = this.#json as GrowingBuffer;
    const text = bytes.bytes.toString("utf8", 0, bytes.length).replace(/^\ufeff/, "");
    bytes.clear();
    this.#events++;
    const delta = this.#reader.body(text);
    if (delta === null) {
      if (isCutJson(text)) this.#fail("truncated", "the JSON answer ends in the middle");
      else
        this.#fail(
          "bad_payload",
          `not an answer of the ${this.#options.protocol.name} protocol: ${text.slice(0, 300)}`,
        );
      return;
    }
    this.#take(delta, false);
    this.#terminal = true;
  }

  #take(delta: Delta, streamed: boolean): void {
    const seen = this.#observation;
    // An empty fragment, or one with nothing but an id that the server made up, is no output of the model.
    const hasCall = delta.tool_calls?.some((call) => call.name !== null || call.arguments !== "") === true;
    const hasOutput = isText(delta.text) || hasCall;
    const hasPayload = hasOutput || isText(delta.reasoning) || delta.other_choice;
    if (hasPayload && streamed) {
      this.#payload(hasOutput || delta.other_choice, delta.chunk_tokens, delta.output_tokens);
    } else this.#tokens.silent(delta.chunk_tokens);
    if (delta.text !== null) this.#texts?.push(delta.text);
    if (isText(delta.reasoning)) this.#reasoning?.push(delta.reasoning);
    if (delta.tool_calls?.some((call) => call.id !== null || call.name !== null || call.arguments !== "")) {
      (this.#toolCalls ??= new ToolCallJoiner()).add(delta.tool_calls);
    }
    // There is no prompt without a token, and a cumulative count does not fall back to 0: both stand for "not counted".
    if (delta.prompt_tokens !== null && delta.prompt_tokens > 0) seen.prompt_tokens = delta.prompt_tokens;
    if (delta.output_tokens !== null && (delta.output_tokens > 0 || seen.output_tokens === null))
      seen.output_tokens = delta.output_tokens;
    if (delta.cached_tokens !== null) seen.cached_tokens = delta.cached_tokens;
    if (delta.reasoning_tokens !== null) seen.reasoning_tokens = delta.reasoning_tokens;
    if (delta.engine !== null) seen.engine = mergeEngine(seen.engine, delta.engine);
    if (delta.note !== null) this.note(delta.note);
    if (isText(delta.finish_reason)) {
      seen.finish_reason = cleanMessage(delta.finish_reason);
      this.#terminal = true;
    }
    if (delta.error !== null) this.#fail("server_error", delta.error);
    else if (delta.done) {
      this.#terminal = true;
      this.#over = true;
    }
  }

  /** A chunk with payload came: `isOutput` unless it is all reasoning. */
  #payload(isOutput: boolean, own: number | null, cumulative: number | null): void {
    const seen = this.#observation;
    const { listener, keepChunks } = this.#options;
    if (this.#terminal) this.#wentOn = true;
    if (seen.first_token_ms === null) {
      seen.first_token_ms = this.#at;
      listener?.onFirstToken?.(this.#at);
    }
    if (isOutput) seen.first_output_ms ??= this.#at;
    seen.last_token_ms = this.#at;
    seen.chunks++;
    if (keepChunks) this.#chunkMs.push(this.#at);
    listener?.onChunk?.(this.#at);
    this.#tokens.payload(own, cumulative);
  }

  note(text: string): void {
    const notes = this.#observation.notes as string[];
    const clean = cleanMessage(text);
    if (notes.length < MAX_NOTES && !notes.includes(clean)) notes.push(clean);
  }

  #fail(code: FailureCode, message: string): void {
    this.#over = true;
    this.#failure = { code, message: cleanMessage(message), http_status: this.#observation.http_status };
  }
}

function isText(value: string | null): value is string {
  return value !== null && value !== "";
}

/** A server may echo a secret anywhere. */
function redactCall(call: ToolCallRecord): ToolCallRecord {
  const { id, name } = call;
  return {
    id: id === null ? null : secrets.redact(id),
    name: name === null ? null : secrets.redact(name),
    arguments: secrets.redact(call.arguments),
  };
}

/** Whether brackets or a string are still open at the end. */
function isCutJson(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
  }
  return inString || depth > 0;
}

/** White space and the bytes of a BOM. */
function isBlankOrBom(byte: number): boolean {
  return byte <= 32 || byte === 0xef || byte === 0xbb || byte === 0xbf;
}

/** Facts of later events replace earlier ones; `null` never erases. */
function mergeEngine(before: EngineTimes | null, now: EngineTimes): EngineTimes {
  if (before === null || before === now) return now;
  const told = Object.entries(now).filter(([, value]) => value !== null && value !== undefined);
  return { ...before, ...Object.fromEntries(told) };
}
