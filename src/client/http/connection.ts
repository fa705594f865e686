/** One socket, one exchange at a time. */
import { connect as netConnect, type Socket } from "node:net";
import { connect as tlsConnect, type SecureContext } from "node:tls";
import type { Clock, Timer } from "../../core/clock.ts";
import type { Ms } from "../../core/units.ts";
import { ResponseParser, type ResponseSink } from "./response-parser.ts";
import type { ResponseHeaders } from "./response-headers.ts";
import { type ConnectPhase, socketFailure } from "./socket-failure.ts";
import type { Exchange, ExchangeHandler } from "./transport.ts";
import { openTunnel, type Proxy } from "./tunnel.ts";

export interface Origin {
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly tls: {
    readonly context: SecureContext;
    readonly insecure: boolean;
    readonly servername: string;
  } | null;
  readonly proxy: Proxy | null;
}

/** Where a connection goes when it is free again, and who hears that it is gone. */
export interface ConnectionOwner {
  readonly clock: Clock;
  released(connection: Connection, at: Ms): void;
  gone(connection: Connection, at: Ms): void;
  responseHeaders(headers: ResponseHeaders): void;
  /** A request on a connection that had been idle for `idle` met its end, and was lost. */
  staleAfter(idle: Ms): void;
}

/** How long the rest of a body is waited for once the exchange is over. */
const DRAIN_MS = 1000;

/** All sockets of a thread read into this one; nothing in it outlives the read callback. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

export class Connection implements ResponseSink, Exchange {
  readonly #owner: ConnectionOwner;
  #socket: Socket;
  readonly #parser: ResponseParser;
  #phase: ConnectPhase = "connecting";
  #handler: ExchangeHandler | null = null;
  #request: Buffer | null;
  readonly #started: Ms;
  #readAt: Ms = 0;
  /** The exchange is over for its owner; what is left of the response is dropped. */
  #finished = false;
  #drain: Timer | null = null;
  #reading = false;
  #closed = false;
  #idle = false;
  /** Since when it waits for work. */
  idleSince: Ms = 0;
  /** It was opened ahead and has served nothing yet. */
  unused = false;
  /** Whether its last response came without a length, as streams do. */
  streamed = false;
  /** How long it had been idle when the exchange under way began; `null` for its first. */
  #idleBefore: Ms | null = null;

  /** Opens a connection and sends `request` as soon as it is ready; `null`: it is then idle, and the handler told `end`. */
  constructor(origin: Origin, owner: ConnectionOwner, request: Buffer | null, handler: ExchangeHandler) {
    this.#owner = owner;
    this.#parser = new ResponseParser(this);
    this.#request = request;
    this.#handler = handler;
    this.#started = owner.clock.now();
    if (origin.proxy !== null) {
      this.#socket = openTunnel(origin.proxy, origin.host, origin.port, (failure) => {
        if (this.#closed) return;
        if (failure === null) this.#takeTunnel(origin);
        else this.#end(failure.code, failure.message, owner.clock.now());
      });
      return;
    }
    const options = {
      host: origin.host,
      port: origin.port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      // Node gives up on one address of several after 250 ms, which a busy loop alone can use up.
      autoSelectFamilyAttemptTimeout: 2500,
      onread: {
        buffer: READ_BUFFER,
        callback: (length: number, bytes: Uint8Array): boolean => {
          const now = owner.clock.now();
          this.#read(bytes as Buffer, length, now);
          owner.clock.poll(now);
          return true;
        },
      },
    };
    if (origin.tls === null) {
      this.#socket = netConnect(options);
      this.#socket.once("connect", () => this.#ready());
    } else {
      this.#socket = tlsConnect({ ...options, ...secureOptions(origin.tls) });
      this.#socket.once("connect", () => {
        this.#phase = "tls";
      });
      this.#socket.once("secureConnect", () => this.#ready());
    }
    this.#listen();
  }

  /** The socket leads to the server now. It reads into buffers of its own: the shared one can be given to a new socket only. */
  #takeTunnel(origin: Origin): void {
    const { clock } = this.#owner;
    if (origin.tls !== null) {
      this.#phase = "tls";
      this.#socket = tlsConnect({ socket: this.#socket, ...secureOptions(origin.tls) });
      this.#socket.once("secureConnect", () => this.#ready());
    }
    this.#listen();
    this.#socket.on("data", (bytes: Buffer) => {
      const now = clock.now();
      this.#read(bytes, bytes.length, now);
      clock.poll(now);
    });
    this.#socket.resume();
    if (origin.tls === null) this.#ready();
  }

  #listen(): void {
    const { clock } = this.#owner;
    this.#socket.on("end", () => this.#ended(clock.now()));
    this.#socket.on("error", (error) => this.#failed(error, clock.now()));
    this.#socket.on("close", () => this.#ended(clock.now()));
  }

  get open(): boolean {
    return !this.#closed;
  }

  /** Sends the next request on an idle connection. */
  send(request: Buffer, handler: ExchangeHandler): void {
    this.#parser.reset();
    this.#idle = false;
    this.unused = false;
    this.#finished = false;
    this.#handler = handler;
    this.#socket.ref();
    const now = this.#owner.clock.now();
    this.#idleBefore = now - this.idleSince;
    handler.sent(now, 0);
    this.#socket.write(request);
  }

  abort(): void {
    this.#handler = null;
    this.destroy();
  }

  finish(): void {
    this.#handler = null;
    if (this.#closed || this.#idle) return;
    this.#finished = true;
    // Mostly the end of the body is in the same read, and no timer is needed.
    if (!this.#reading) this.#startDraining(this.#owner.clock.now());
  }

  destroy(): void {
    if (this.#closed) return;
    this.#close(this.#owner.clock.now());
  }

  head(status: number, headers: ResponseHeaders): void {
    this.streamed = headers.get("content-length") === undefined;
    this.#owner.responseHeaders(headers);
    this.#handler?.head(status, headers, this.#readAt);
  }

  body(bytes: Buffer, start: number, end: number): void {
    this.#handler?.body(bytes, start, end, this.#readAt);
  }

  #ready(): void {
    this.#phase = "open";
    const request = this.#request;
    this.#request = null;
    if (this.#closed) return;
    const now = this.#owner.clock.now();
    if (request === null) {
      this.unused = true;
      this.#rest(now);
      return;
    }
    this.#handler?.sent(now, now - this.#started);
    this.#socket.write(request);
  }

  #read(bytes: Buffer, length: number, now: Ms): void {
    this.#readAt = now;
    if (this.#closed) return;
    if (this.#idle) {
      // Bytes that nobody asked for (a 408 before closing): such a connection is not used again.
      this.#close(now);
      return;
    }
    const parser = this.#parser;
    this.#reading = true;
    const taken = parser.push(bytes, 0, length);
    this.#reading = false;
    if (this.#closed) return;
    if (parser.error !== null) this.#end("protocol", parser.error, now);
    else if (parser.complete) this.#complete(taken === length, now);
    else if (this.#finished) this.#startDraining(now);
    else this.#handler?.readDone(now);
  }

  /** The response is whole. The connection goes back before its handler hears of it, so that the next request finds it. */
  #complete(clean: boolean, now: Ms): void {
    this.#stopDraining();
    if (clean && this.#parser.reusable && this.#socket.writableLength === 0) {
      this.#rest(now);
      return;
    }
    const handler = this.#handler;
    this.#handler = null;
    this.#close(now);
    handler?.end(now);
  }

  #rest(now: Ms): void {
    const handler = this.#handler;
    this.#handler = null;
    this.#idle = true;
    this.idleSince = now;
    this.#socket.unref();
    this.#owner.released(this, now);
    handler?.end(now);
  }

  #end(code: Parameters<ExchangeHandler["fail"]>[0], message: string, now: Ms): void {
    const handler = this.#handler;
    this.#handler = null;
    if (code === "reset" && this.#idleBefore !== null && !this.#parser.started)
      this.#owner.staleAfter(this.#idleBefore);
    this.#close(now);
    handler?.fail(code, message, now);
  }

  /** The peer closed its side (FIN), or the socket is gone. */
  #ended(now: Ms): void {
    if (this.#closed) return;
    if (this.#handler === null) {
      this.#close(now);
      return;
    }
    if (this.#parser.started && this.#parser.close()) {
      const handler = this.#handler;
      this.#handler = null;
      this.#close(now);
      handler.end(now);
      return;
    }
    if (this.#phase === "tls")
      this.#end("tls", "the server closed the connection during the TLS handshake", now);
    else if (this.#phase === "connecting")
      this.#end("connect", "the connection was closed while it was opened", now);
    else if (this.#parser.started)
      this.#end("truncated", "the server closed the connection before the response was complete", now);
    else this.#end("reset", "the server closed the connection without a response", now);
  }

  #failed(error: Error, now: Ms): void {
    if (this.#closed) return;
    const { code, message } = socketFailure(error, this.#phase);
    this.#end(code, message, now);
  }

  #startDraining(now: Ms): void {
    this.#drain ??= this.#owner.clock.at(now + DRAIN_MS, () => this.destroy());
  }

  #stopDraining(): void {
    if (this.#drain === null) return;
    this.#owner.clock.cancel(this.#drain);
    this.#drain = null;
  }

  #close(now: Ms): void {
    this.#closed = true;
    this.#stopDraining();
    this.#request = null;
    this.#socket.destroy();
    this.#owner.gone(this, now);
  }
}

function secureOptions({ context, insecure, servername }: NonNullable<Origin["tls"]>) {
  return {
    secureContext: context,
    rejectUnauthorized: !insecure,
    ALPNProtocols: ["http/1.1"],
    ...(servername === "" ? {} : { servername }),
  };
}
