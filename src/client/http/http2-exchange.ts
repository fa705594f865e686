/** One exchange on a stream of an HTTP/2 session. */
import {
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2";
import type { Clock, Timer } from "../../core/clock.ts";
import type { FailureCode } from "../../core/failure.ts";
import type { Ms } from "../../core/units.ts";
import { socketFailure } from "./socket-failure.ts";
import type { Exchange, ExchangeHandler } from "./transport.ts";

export interface Http2Request {
  /** Pseudo-headers included. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** How long the rest of a body is waited for once the exchange is over. */
const DRAIN_MS = 1000;

export class Http2Exchange implements Exchange {
  readonly #clock: Clock;
  readonly #handler: ExchangeHandler;
  readonly #request: Http2Request;
  readonly #startHttp1: (handler: ExchangeHandler) => Exchange;
  /** Told where it is given up before it has a stream. */
  readonly #abandoned: () => void;
  #stream: ClientHttp2Stream | null = null;
  /** Carries it instead, where the server speaks HTTP/1.1 only. */
  #other: Exchange | null = null;
  #drain: Timer | null = null;
  #over = false;

  constructor(
    clock: Clock,
    handler: ExchangeHandler,
    request: Http2Request,
    startHttp1: (handler: ExchangeHandler) => Exchange,
    abandoned: () => void,
  ) {
    this.#clock = clock;
    this.#handler = handler;
    this.#request = request;
    this.#startHttp1 = startHttp1;
    this.#abandoned = abandoned;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** `freed` is called once the stream is gone. */
  open(session: ClientHttp2Session, connectMs: Ms, freed: () => void): void {
    const { headers, body } = this.#request;
    const stream = session.request(headers, { endStream: body === null });
    this.#stream = stream;
    stream.once("close", () => {
      this.#stopDraining();
      freed();
      const now = this.#clock.now();
      this.fail("reset", `the stream was reset (${nameOf(stream.rstCode ?? 0)})`, now);
    });
    stream.on("error", (error: Error) => {
      const rst = stream.rstCode ?? constants.NGHTTP2_NO_ERROR;
      const { code, message } = socketFailure(error, "open");
      const isTold = rst === constants.NGHTTP2_NO_ERROR || code === "client_resource";
      this.fail(
        isTold ? code : "reset",
        isTold ? message : `the stream was reset (${nameOf(rst)})`,
        this.#clock.now(),
      );
    });
    stream.on("response", (head) => {
      if (!this.#over) this.#handler.head(Number(head[":status"]), plainHeaders(head), this.#clock.now());
    });
    stream.on("data", (bytes: Buffer) => {
      const now = this.#clock.now();
      if (!this.#over) this.#handler.body(bytes, 0, bytes.length, now);
      if (!this.#over) this.#handler.readDone(now);
      this.#clock.poll(now);
    });
    stream.once("end", () => {
      // A stream that was reset ends too.
      if (this.#over || stream.aborted || (stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR) return;
      this.#over = true;
      this.#handler.end(this.#clock.now());
    });
    this.#handler.sent(this.#clock.now(), connectMs);
    if (body !== null) stream.end(body);
  }

  /** The wait until now belongs to connecting. */
  fallBack(waitedMs: Ms): void {
    if (this.#over) return;
    const handler = this.#handler;
    this.#other = this.#startHttp1({
      sent: (at, connectMs) => handler.sent(at, connectMs + waitedMs),
      head: (status, headers, at) => handler.head(status, headers, at),
      body: (bytes, start, end, at) => handler.body(bytes, start, end, at),
      readDone: (at) => handler.readDone(at),
      end: (at) => handler.end(at),
      fail: (code, message, at) => handler.fail(code, message, at),
    });
  }

  fail(code: FailureCode, message: string, at: Ms): void {
    if (this.#over) return;
    this.#over = true;
    this.#handler.fail(code, message, at);
  }

  abort(): void {
    this.#over = true;
    this.#other?.abort();
    if (this.#stream === null) this.#abandoned();
    else this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  finish(): void {
    this.#over = true;
    this.#other?.finish();
    const stream = this.#stream;
    if (stream === null || stream.closed) return;
    this.#drain = this.#clock.at(this.#clock.now() + DRAIN_MS, () => stream.close(constants.NGHTTP2_CANCEL));
  }

  #stopDraining(): void {
    if (this.#drain !== null) this.#clock.cancel(this.#drain);
    this.#drain = null;
  }
}

function plainHeaders(head: IncomingHttpHeaders): Map<string, string> {
  const plain = new Map<string, string>();
  for (const [name, value] of Object.entries(head)) {
    if (value === undefined || name.startsWith(":")) continue;
    plain.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return plain;
}

/** `INTERNAL_ERROR` for 2. */
function nameOf(code: number): string {
  return ERROR_NAMES[code] ?? `code ${code}`;
}

/** RFC 9113, section 7. */
const ERROR_NAMES = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED",
];
