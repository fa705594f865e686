/**
 * Proxies through undici's `dispatch`, behind the same contract as our own transport. Coarser: its clock reads happen
 * after undici has parsed, and the time of a connection is taken from its connector. All of undici's own time limits are
 * off; ours count.
 */
import { subscribe } from "node:diagnostics_channel";
import type { Dispatcher } from "undici";
import { UserError } from "../../core/failure.ts";
import type { Clock } from "../../core/clock.ts";
import { secrets } from "../../core/secret.ts";
import type { Ms } from "../../core/units.ts";
import { socketFailure } from "./socket-failure.ts";
import type { Exchange, ExchangeHandler, RequestParts, Transport, WireRequest } from "./transport.ts";

export interface UndiciOptions {
  readonly origin: URL;
  readonly clock: Clock;
  readonly http2: boolean;
  /** URL of an HTTP proxy; its credentials, if any, go to the proxy only. */
  readonly proxy: string;
  readonly insecure: boolean;
  readonly ca?: string | Buffer;
}

interface UndiciRequest extends WireRequest {
  readonly options: Dispatcher.DispatchOptions;
}

type Undici = typeof import("./undici-parts.ts");

/** Connections that undici made so far, proxied ones included: tells whether a request had to wait for one. */
let connections = 0;
subscribe("undici:client:connected", () => {
  connections++;
});

export class UndiciTransport implements Transport {
  readonly #options: UndiciOptions;
  readonly #dispatcher: Promise<Dispatcher>;
  #ready: Dispatcher | null = null;

  constructor(options: UndiciOptions) {
    checkProxy(options.proxy);
    this.#options = options;
    // Loaded on demand: it takes longer to load than the rest of the client.
    this.#dispatcher = import("./undici-parts.ts").then((undici) => {
      this.#ready = this.#create(undici);
      return this.#ready;
    });
  }

  prepare(parts: RequestParts): UndiciRequest {
    const { method, target, headers, body } = parts;
    return {
      bodyBytes: body?.length ?? 0,
      options: {
        origin: this.#options.origin.origin,
        method,
        path: target,
        headers: headers.flatMap(([name, value]) => [name, value]),
        body,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
    };
  }

  start(request: WireRequest, handler: ExchangeHandler): Exchange {
    const exchange = new UndiciExchange(this.#options.clock, handler);
    const { options } = request as UndiciRequest;
    if (this.#ready !== null) exchange.dispatch(this.#ready, options);
    else void this.#dispatcher.then((dispatcher) => exchange.dispatch(dispatcher, options));
    return exchange;
  }

  async close(): Promise<void> {
    await (await this.#dispatcher).destroy();
  }

  #create(undici: Undici): Dispatcher {
    const { http2, proxy, insecure, ca } = this.#options;
    const tls = { rejectUnauthorized: !insecure, ...(ca === undefined ? {} : { ca }) };
    const limits = {
      headersTimeout: 0,
      bodyTimeout: 0,
      // The longest that a server may keep idle connections is not known to us here; undici heeds its Keep-Alive header.
      keepAliveTimeout: 500,
      keepAliveTimeoutThreshold: 500,
      pipelining: http2 ? 100 : 1,
      allowH2: http2,
    };
    const url = new URL(proxy);
    const credentials = url.username === "" ? null : proxyAuthorization(url);
    url.username = "";
    url.password = "";
    return new undici.ProxyAgent({
      ...limits,
      uri: url.href,
      requestTls: tls,
      proxyTls: tls,
      ...(credentials === null ? {} : { token: credentials }),
    });
  }
}

class UndiciExchange implements Exchange, Dispatcher.DispatchHandler {
  readonly #clock: Clock;
  readonly #handler: ExchangeHandler;
  readonly #started: Ms;
  readonly #connectionsBefore = connections;
  #controller: Dispatcher.DispatchController | null = null;
  #over = false;
  #aborted = false;
  #headSeen = false;

  constructor(clock: Clock, handler: ExchangeHandler) {
    this.#clock = clock;
    this.#handler = handler;
    this.#started = clock.now();
  }

  dispatch(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): void {
    if (!this.#aborted) dispatcher.dispatch(options, this);
  }

  abort(): void {
    this.#over = true;
    this.#aborted = true;
    this.#controller?.abort(new Error("aborted"));
  }

  finish(): void {
    // The rest of the body is read by undici; a server that never ends it holds the connection, so it is cut after a while.
    this.#over = true;
    const controller = this.#controller;
    if (controller === null) return;
    const timer = this.#clock.at(this.#clock.now() + DRAIN_MS, () =>
      controller.abort(new Error("not ended")),
    );
    this.#stopDraining = () => this.#clock.cancel(timer);
  }

  #stopDraining: () => void = () => {};

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) {
      controller.abort(new Error("aborted"));
      return;
    }
    const now = this.#clock.now();
    const waited = connections !== this.#connectionsBefore;
    this.#handler.sent(now, waited ? now - this.#started : 0);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: object): void {
    if (this.#over || status < 200) return;
    this.#headSeen = true;
    const list = Object.entries(headers as Record<string, string | string[]>);
    const map = new Map(
      list.map(([name, value]) => [name.toLowerCase(), Array.isArray(value) ? value.join(", ") : value]),
    );
    this.#handler.head(status, map, this.#clock.now());
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const now = this.#clock.now();
    if (!this.#over) {
      this.#handler.body(chunk, 0, chunk.length, now);
      if (!this.#over) this.#handler.readDone(now);
    }
    this.#clock.poll(now);
  }

  onResponseEnd(): void {
    this.#stopDraining();
    if (this.#over) return;
    this.#over = true;
    this.#handler.end(this.#clock.now());
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#stopDraining();
    if (this.#over) return;
    this.#over = true;
    const { code, message } = undiciFailure(error, this.#controller !== null, this.#headSeen);
    this.#handler.fail(code, message, this.#clock.now());
  }
}

const DRAIN_MS = 1000;

/** Undici wraps what the socket said. */
function undiciFailure(error: Error, sent: boolean, headSeen: boolean): ReturnType<typeof socketFailure> {
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (name === "HTTPParserError" || (code ?? "").startsWith("HPE_")) {
    // Its parser reports a body that was cut as an error of the parser.
    if (code === "HPE_INVALID_EOF_STATE")
      return { code: "truncated", message: "the response ended too early" };
    return { code: "protocol", message };
  }
  if (code === "UND_ERR_SOCKET") {
    if (error.cause instanceof Error) return undiciFailure(error.cause, sent, headSeen);
    const closed = /other side closed|closed/i.test(message);
    return { code: headSeen && closed ? "truncated" : "reset", message };
  }
  if (code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH" || /content-length/i.test(message))
    return { code: "truncated", message };
  return socketFailure(error, sent ? "open" : "connecting");
}

function checkProxy(proxy: string): void {
  const url = URL.canParse(proxy) ? new URL(proxy) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new UserError("the proxy must be an http:// or https:// URL");
  }
}

function proxyAuthorization(url: URL): string {
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  secrets.add(pair);
  secrets.add(decodeURIComponent(url.password));
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}
