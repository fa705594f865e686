/** One request from send to observation: attempts, time limit, status, decoding, end. */
import type { Clock, Timer } from "../core/clock.ts";
import { type Failure, type FailureCode, httpFailureCode } from "../core/failure.ts";
import type { Ms } from "../core/units.ts";
import { emptyObservation, type Observation } from "../record/observation.ts";
import type { InFlight, StreamListener } from "./client.ts";
import { canDecode, ContentDecoder, contentCodings, type DecodedSink } from "./http/content-decoder.ts";
import type { ResponseHeaders } from "./http/response-headers.ts";
import type { Exchange, ExchangeHandler, Transport, WireRequest } from "./http/transport.ts";
import type { Protocol } from "./protocol.ts";
import { ResponseObserver } from "./response-observer.ts";
import { cleanMessage, errorBodyMessage } from "./server-message.ts";
import { GrowingBuffer } from "./stream/growing-buffer.ts";
import type { Expiring } from "./timeout-queue.ts";

/** What an exchange needs of its client. */
export interface ExchangeContext {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly protocol: Protocol;
  readonly timeoutMs: Ms;
  readonly retries: number;
  /** Its first byte is on the way. Told once. */
  started(): void;
  /** The exchange is over: its time limit and its place among those in flight are given up. */
  settled(exchange: HttpExchange): void;
}

export interface ExchangeRequest {
  readonly wire: WireRequest;
  readonly keepText: boolean;
  readonly keepChunks: boolean;
}

/** An error body beyond this tells nothing more. */
const MAX_ERROR_BODY = 64 * 1024;
/** A repeated attempt may help against these, and nothing of an answer has been seen yet. */
const RETRIABLE = new Set<FailureCode>(["connect", "dns", "reset", "http_429", "http_5xx"]);
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
/** What follows a finish reason (the usage, the end event, the body's end) comes with it: nothing comes after such a silence. */
const FINISHED_MS = 5000;

export class HttpExchange implements ExchangeHandler, DecodedSink, InFlight, Expiring {
  readonly #context: ExchangeContext;
  readonly #request: ExchangeRequest;
  readonly #done: (observation: Observation) => void;
  readonly #listener: StreamListener | null;
  readonly #startedMs: Ms;
  #observation: Observation;
  #observer: ResponseObserver;
  #transfer: Exchange | null = null;
  #decoder: ContentDecoder | null = null;
  /** The status is outside 2xx: the body is the server's message. */
  #errorBody: GrowingBuffer | null = null;
  #location: string | null = null;
  #retryAfterMs: Ms | null = null;
  #backoff: Timer | null = null;
  /** Runs while the answer is finished and the body is not. */
  #silence: Timer | null = null;
  /** The last event of a finished answer: how many there were by then, and when. */
  #lastEvent = 0;
  #lastEventMs: Ms = 0;
  #sentMs: Ms | null = null;
  #connectMs: Ms | null = null;
  #attempts = 0;
  #bodyDone = false;
  #over = false;

  constructor(
    context: ExchangeContext,
    request: ExchangeRequest,
    done: (observation: Observation) => void,
    listener: StreamListener | null,
    now: Ms,
  ) {
    this.#context = context;
    this.#request = request;
    this.#done = done;
    this.#listener = listener;
    this.#startedMs = now;
    this.#observation = emptyObservation();
    this.#observer = this.#newObserver();
  }

  start(): void {
    this.#attempts++;
    this.#transfer = this.#context.transport.start(this.#request.wire, this);
  }

  /** Bytes have come or may come: used to tell how many streams are open. */
  get started(): boolean {
    return this.#sentMs !== null;
  }

  cancel(code: Extract<FailureCode, "aborted" | "timeout">, message: string): void {
    if (this.#over) return;
    this.#transfer?.abort();
    if (code === "timeout" && this.#errorBody === null && this.#observer.isFinished) {
      this.#leaveOpen();
      return;
    }
    // The status says more than that its message did not end in time.
    const told = code === "timeout" && this.#errorBody !== null;
    this.#settle(this.#context.clock.now(), told ? this.#statusFailure() : this.#failureOf(code, message));
  }

  expire(): void {
    this.cancel("timeout", `no complete response within ${this.#context.timeoutMs / 1000} s`);
  }

  sent(at: Ms, connectMs: Ms): void {
    if (this.#sentMs !== null) return;
    this.#sentMs = at;
    this.#context.started();
    // After attempts that never got a connection, all of the time since the start went into connecting.
    this.#connectMs = this.#attempts === 1 ? connectMs : at - this.#startedMs;
  }

  head(status: number, headers: ResponseHeaders, at: Ms): void {
    const seen = this.#observation;
    seen.headers_ms = at;
    seen.http_status = status;
    const codings = contentCodings(headers.get("content-encoding"));
    if (codings.length > 0) {
      this.#observer.note(`content-encoding ${codings.join(", ")} although identity was asked for`);
      if (canDecode(codings)) this.#decoder = new ContentDecoder(codings[0] as string, this);
      else {
        this.#abortWith("protocol", `cannot decode content-encoding ${codings.join(", ")}`, at);
        return;
      }
    }
    if (status < 200 || status > 299) {
      this.#errorBody = new GrowingBuffer();
      this.#location = headers.get("location") ?? null;
      this.#retryAfterMs = retryAfter(headers);
    } else this.#observer.head((headers.get("content-type") ?? "").toLowerCase());
  }

  body(bytes: Buffer, start: number, end: number, at: Ms): void {
    if (this.#over) return;
    this.#observation.first_byte_ms ??= at;
    if (this.#decoder === null) this.decoded(bytes, start, end, at);
    else this.#decoder.body(bytes, start, end, at);
  }

  readDone(at: Ms): void {
    if (this.#decoder === null) this.decodedRead(at);
    else this.#decoder.readDone(at);
  }

  end(at: Ms): void {
    if (this.#decoder === null) this.decodedEnd(at);
    else this.#decoder.end(at);
  }

  fail(code: FailureCode, message: string, at: Ms): void {
    if (this.#decoder === null) this.decodedFail(code, message, at);
    else this.#decoder.fail(code, message, at);
  }

  decoded(bytes: Buffer, start: number, end: number, at: Ms): void {
    if (this.#over) return;
    if (this.#errorBody === null) {
      this.#bodyDone = this.#observer.body(bytes, start, end, at);
    } else if (this.#errorBody.length < MAX_ERROR_BODY) this.#errorBody.append(bytes, start, end);
  }

  /** After a read: the end event may have been in it. What follows in the same read has been looked at by then. */
  decodedRead(at: Ms): void {
    if (this.#over) return;
    if (!this.#bodyDone) {
      if (this.#errorBody === null && this.#observer.isFinished) this.#awaitEnd(at);
      return;
    }
    this.#transfer?.finish();
    this.#settle(at, null);
  }

  #awaitEnd(at: Ms): void {
    // Comments that keep the connection alive say nothing.
    const { events } = this.#observer;
    if (events === this.#lastEvent) return;
    this.#lastEvent = events;
    this.#lastEventMs = at;
    if (this.#silence !== null) this.#context.clock.cancel(this.#silence);
    this.#silence = this.#context.clock.at(at + FINISHED_MS, () => this.#leaveOpen());
  }

  /** The server has said that it is finished, and keeps the stream open without an end event: over with what it said last. */
  #leaveOpen(): void {
    this.#transfer?.abort();
    this.#observer.note("the stream was left open after the finish reason");
    this.#settle(this.#lastEventMs, null);
  }

  decodedEnd(at: Ms): void {
    if (this.#over) return;
    if (this.#errorBody !== null) {
      this.#endWithStatus(at);
      return;
    }
    this.#observer.end(at);
    this.#settle(at, null);
  }

  decodedFail(code: FailureCode, message: string, at: Ms): void {
    if (this.#over) return;
    // The transfer is over where the transport failed; where decoding failed it is not.
    this.#transfer?.abort();
    // The status says more than how the body ended.
    if (this.#errorBody !== null) this.#endWithStatus(at);
    else if (this.#bodyDone) this.#settle(at, null);
    else if ((code === "truncated" || code === "reset") && this.#observer.completeAtBreak(at))
      this.#settle(at, null);
    else this.#finish(at, this.#failureOf(code, message));
  }

  #endWithStatus(at: Ms): void {
    this.#finish(at, this.#statusFailure());
  }

  #statusFailure(): Failure {
    const status = this.#observation.http_status as number;
    const body = this.#errorBody as GrowingBuffer;
    const said = errorBodyMessage(body.bytes.toString("utf8", 0, body.length));
    const parts = [`HTTP ${status}`];
    if (this.#location !== null) parts.push(`redirects to ${cleanMessage(this.#location)} (not followed)`);
    if (said !== "") parts.push(said);
    return this.#failureOf(httpFailureCode(status), parts.join(": "));
  }

  #abortWith(code: FailureCode, message: string, at: Ms): void {
    this.#transfer?.abort();
    // Never inside the transport's callback for the head, which still has the body in hand.
    this.#settle(at, this.#failureOf(code, message));
  }

  /** The attempt failed: another one, or the end. */
  #finish(at: Ms, failure: Failure): void {
    const again =
      this.#attempts <= this.#context.retries &&
      RETRIABLE.has(failure.code) &&
      this.#observation.first_token_ms === null;
    const wait = this.#retryAfterMs ?? Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (this.#attempts - 1));
    // A wait beyond the time limit would end as a timeout, and hide what the server said.
    if (!again || at + wait >= this.#startedMs + this.#context.timeoutMs) {
      this.#settle(at, failure);
      return;
    }
    this.#transfer = null;
    this.#decoder?.close();
    this.#decoder = null;
    this.#errorBody = null;
    this.#location = null;
    this.#retryAfterMs = null;
    this.#bodyDone = false;
    this.#observation = emptyObservation();
    this.#observer = this.#newObserver();
    this.#backoff = this.#context.clock.at(at + wait, () => {
      this.#backoff = null;
      this.start();
    });
  }

  #settle(at: Ms, failure: Failure | null): void {
    this.#over = true;
    this.#decoder?.close();
    if (this.#backoff !== null) this.#context.clock.cancel(this.#backoff);
    if (this.#silence !== null) this.#context.clock.cancel(this.#silence);
    this.#transfer = null;
    const seen = this.#observation;
    seen.sent_ms = this.#sentMs;
    seen.connect_ms = this.#connectMs ?? Math.max(0, at - this.#startedMs);
    seen.attempts = this.#attempts;
    this.#context.settled(this);
    this.#done(this.#observer.result(at, failure));
  }

  #failureOf(code: FailureCode, message: string): Failure {
    return { code, message: cleanMessage(message), http_status: this.#observation.http_status };
  }

  #newObserver(): ResponseObserver {
    const { keepText, keepChunks } = this.#request;
    return new ResponseObserver(
      { protocol: this.#context.protocol, keepText, keepChunks, listener: this.#listener },
      this.#observation,
    );
  }
}

/** `Retry-After` in seconds, or a date, which counts from the answer's own `Date`; OpenAI's `retry-after-ms` is more exact. */
function retryAfter(headers: ResponseHeaders): Ms | null {
  const exact = headers.get("retry-after-ms");
  if (exact !== undefined && NUMBER.test(exact)) return Number(exact);
  const value = headers.get("retry-after");
  if (value === undefined) return null;
  if (NUMBER.test(value)) return Number(value) * 1000;
  const wait = Date.parse(value) - Date.parse(headers.get("date") ?? "");
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}

const NUMBER = /^\d{1,9}(?:\.\d{1,9})?$/;
