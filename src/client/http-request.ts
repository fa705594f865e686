/** Small plain requests beside the load: readiness, `/tokenize`, `/metrics`, cache resets. On the same transport as the load. */
import type { Clock } from "../core/clock.ts";
import type { FailureCode } from "../core/failure.ts";
import { RealClock } from "../core/real-clock.ts";
import type { Ms } from "../core/units.ts";
import { parseBaseUrl } from "./endpoint.ts";
import { canDecode, ContentDecoder, contentCodings } from "./http/content-decoder.ts";
import { Http1Transport } from "./http/http1-transport.ts";
import type { ResponseHeaders } from "./http/response-headers.ts";
import type { ExchangeHandler } from "./http/transport.ts";
import { BASE_HEADERS, mergeHeaders } from "./request-headers.ts";
import { cleanMessage } from "./server-message.ts";
import { GrowingBuffer } from "./stream/growing-buffer.ts";

export interface HttpRequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Default 10 s. */
  readonly timeoutMs?: Ms;
  readonly clock?: Clock;
  readonly insecure?: boolean;
  readonly ca?: string | Buffer;
  /** Larger bodies are a failure; default 64 MiB. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
}

/** The exchange failed before there was a whole reply. A reply of any status is no such failure. */
export class HttpRequestError extends Error {
  override readonly name = "HttpRequestError";
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string) {
    super(cleanMessage(message));
    this.code = code;
  }
}

/** `GET url`. Credentials in the URL become an Authorization header. Rejects with {@link HttpRequestError}. */
export function httpGet(url: string, options: HttpRequestOptions = {}): Promise<HttpReply> {
  return request("GET", url, null, options);
}

/** `POST url` with a JSON body, or none. */
export function httpPost(url: string, body: unknown, options: HttpRequestOptions = {}): Promise<HttpReply> {
  return request("POST", url, body === undefined ? "" : JSON.stringify(body), options);
}

/** Whether `GET url` answers with a 2xx. */
export async function ping(url: string, options: HttpRequestOptions = {}): Promise<boolean> {
  try {
    const { status } = await httpGet(url, options);
    return status >= 200 && status < 300;
  } catch (error) {
    if (error instanceof HttpRequestError) return false;
    throw error;
  }
}

function request(
  method: "GET" | "POST",
  url: string,
  body: string | null,
  options: HttpRequestOptions,
): Promise<HttpReply> {
  const base = parseBaseUrl(url);
  const clock = options.clock ?? new RealClock();
  const timeoutMs = options.timeoutMs ?? 10_000;
  const transport = new Http1Transport({
    origin: base.origin,
    clock,
    insecure: options.insecure ?? false,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
  const target = new URL(url.includes("://") ? url : `http://${url}`);
  const wire = transport.prepare({
    method,
    target: (target.pathname || "/") + target.search,
    headers: mergeHeaders(
      BASE_HEADERS,
      body === null || body === "" ? null : { "Content-Type": "application/json" },
      base.authorization === null ? null : { Authorization: base.authorization },
      options.headers,
    ),
    body: body === null ? null : Buffer.from(body, "utf8"),
  });
  return new Promise<HttpReply>((resolve, reject) => {
    let over = false;
    const settle = (act: () => void): void => {
      if (over) return;
      over = true;
      clock.cancel(timer);
      options.signal?.removeEventListener("abort", onAbort);
      void transport.close();
      act();
    };
    const fail = (code: FailureCode, message: string): void =>
      settle(() => reject(new HttpRequestError(code, message)));
    const onAbort = (): void => fail("aborted", "aborted");
    const timer = clock.at(clock.now() + timeoutMs, () =>
      fail("timeout", `no complete response within ${timeoutMs / 1000} s`),
    );
    options.signal?.addEventListener("abort", onAbort, { once: true });
    if (options.signal?.aborted === true) onAbort();
    else
      transport.start(
        wire,
        new ReplyReader(options.maxBytes ?? 64 << 20, (reply) => settle(() => resolve(reply)), fail),
      );
  });
}

class ReplyReader implements ExchangeHandler {
  readonly #maxBytes: number;
  readonly #done: (reply: HttpReply) => void;
  readonly #fail: (code: FailureCode, message: string) => void;
  readonly #body = new GrowingBuffer();
  #status = 0;
  #headers: ResponseHeaders = new Map();
  #decoder: ContentDecoder | null = null;

  constructor(
    maxBytes: number,
    done: (reply: HttpReply) => void,
    fail: (code: FailureCode, message: string) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#done = done;
    this.#fail = fail;
  }

  sent(): void {}

  head(status: number, headers: ResponseHeaders): void {
    this.#status = status;
    this.#headers = headers;
    const codings = contentCodings(headers.get("content-encoding"));
    if (codings.length === 0) return;
    if (!canDecode(codings)) {
      this.#fail("protocol", `cannot decode content-encoding ${codings.join(", ")}`);
      return;
    }
    this.#decoder = new ContentDecoder(codings[0] as string, {
      decoded: (bytes, start, end) => this.#add(bytes, start, end),
      decodedRead: () => {},
      decodedEnd: () => this.#finish(),
      decodedFail: (code, message) => this.#fail(code, message),
    });
  }

  body(bytes: Buffer, start: number, end: number, at: Ms): void {
    if (this.#decoder === null) this.#add(bytes, start, end);
    else this.#decoder.body(bytes, start, end, at);
  }

  readDone(): void {}

  end(at: Ms): void {
    if (this.#decoder === null) this.#finish();
    else this.#decoder.end(at);
  }

  fail(code: FailureCode, message: string): void {
    this.#decoder?.close();
    this.#fail(code, message);
  }

  #add(bytes: Buffer, start: number, end: number): void {
    if (this.#body.length + end - start > this.#maxBytes) {
      this.#fail("protocol", `the response is larger than ${this.#maxBytes} bytes`);
    } else this.#body.append(bytes, start, end);
  }

  #finish(): void {
    const text = this.#body.bytes.toString("utf8", 0, this.#body.length);
    this.#done({ status: this.#status, headers: this.#headers, body: text });
  }
}
