/**
 * HTTP/2 over TLS on `node:http2`: many exchanges at a time on one connection, another one only where the server allows no more
 * streams, or takes its leave of the one there is (GOAWAY) while streams of it go on. Nothing is ever sent twice. A server
 * that does not offer HTTP/2 is spoken to in HTTP/1.1.
 */
import { type ClientHttp2Session, connect as http2Connect } from "node:http2";
import type { Socket } from "node:net";
import { connect as tlsConnect, type TLSSocket } from "node:tls";
import type { Clock } from "../../core/clock.ts";
import type { Ms } from "../../core/units.ts";
import type { Origin } from "./connection.ts";
import { type Http1Options, Http1Transport, originOf } from "./http1-transport.ts";
import { Http2Exchange, type Http2Request } from "./http2-exchange.ts";
import { type ConnectPhase, type SocketFailure, socketFailure } from "./socket-failure.ts";
import type { Exchange, ExchangeHandler, RequestParts, Transport, WireRequest } from "./transport.ts";
import { openTunnel } from "./tunnel.ts";

/** Windows wide enough that a stream never waits for us. */
const STREAM_WINDOW = 4 << 20;
const SESSION_WINDOW = 64 << 20;
/** Of the connection, not of a request. */
const HOP_HEADERS = new Set([
  "host",
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

interface Prepared extends WireRequest {
  readonly http1: WireRequest;
  readonly http2: Http2Request;
}

interface Waiting {
  readonly exchange: Http2Exchange;
  readonly started: Ms;
}

export class Http2Transport implements Transport {
  readonly #options: Http1Options;
  readonly #clock: Clock;
  readonly #origin: Origin & { readonly tls: NonNullable<Origin["tls"]> };
  readonly #http1: Http1Transport;
  readonly #sessions: OpenSession[] = [];
  readonly #sockets = new Set<Socket>();
  /** For a connection that is being opened. */
  #waiting: Waiting[] = [];
  /** The connection that is being opened. */
  #opening: Socket | null = null;
  #speaksHttp1 = false;

  constructor(options: Http1Options) {
    const { tls, ...address } = originOf(options);
    if (tls === null) throw new Error("HTTP/2 is spoken over TLS only");
    this.#origin = { ...address, tls };
    this.#options = options;
    this.#clock = options.clock;
    this.#http1 = new Http1Transport(options);
  }

  prepare(parts: RequestParts): Prepared {
    const authority = parts.headers.find(([name]) => name.toLowerCase() === "host")?.[1];
    const headers: Record<string, string> = {
      ":method": parts.method,
      ":scheme": "https",
      ":authority": authority ?? this.#options.origin.host,
      ":path": parts.target,
    };
    for (const [name, value] of parts.headers)
      if (!HOP_HEADERS.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
    if (parts.body !== null) headers["content-length"] = String(parts.body.length);
    return {
      bodyBytes: parts.body?.length ?? 0,
      http1: this.#http1.prepare(parts),
      http2: { headers, body: parts.body },
    };
  }

  start(request: WireRequest, handler: ExchangeHandler): Exchange {
    const { http1, http2 } = request as Prepared;
    if (this.#speaksHttp1) return this.#http1.start(http1, handler);
    const exchange = new Http2Exchange(
      this.#clock,
      handler,
      http2,
      (wrapped) => this.#http1.start(http1, wrapped),
      () => this.#abandon(),
    );
    const session = this.#sessions.find((one) => one.hasRoom);
    if (session !== undefined) session.start(exchange, 0);
    else {
      this.#waiting.push({ exchange, started: this.#clock.now() });
      this.#open();
    }
    return exchange;
  }

  async close(): Promise<void> {
    for (const { session } of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await this.#http1.close();
  }

  #open(): void {
    if (this.#opening !== null) return;
    const { host, port, proxy } = this.#origin;
    if (proxy === null) {
      this.#secure({ host, port });
      return;
    }
    const tunnel = openTunnel(proxy, host, port, (failure) => {
      if (failure === null) this.#secure({ socket: tunnel });
      else this.#refused(tunnel, failure);
    });
    this.#sockets.add(tunnel);
    this.#opening = tunnel;
    tunnel.once("close", () => this.#sockets.delete(tunnel));
  }

  #secure(way: { readonly host: string; readonly port: number } | { readonly socket: Socket }): void {
    let phase: ConnectPhase = "socket" in way ? "tls" : "connecting";
    const { tls } = this.#origin;
    const options = {
      ...way,
      secureContext: tls.context,
      rejectUnauthorized: !tls.insecure,
      ALPNProtocols: ["h2", "http/1.1"],
      autoSelectFamilyAttemptTimeout: 2500,
      ...(tls.servername === "" ? {} : { servername: tls.servername }),
    };
    const socket = tlsConnect(options);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    this.#opening = socket;
    const onError = (error: Error): void => this.#refused(socket, socketFailure(error, phase));
    const onClose = (): void =>
      this.#refused(
        socket,
        phase === "tls"
          ? { code: "tls", message: "the server closed the connection during the TLS handshake" }
          : { code: "connect", message: "the connection was closed while it was opened" },
      );
    socket.on("error", onError);
    socket.once("close", onClose);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.once("connect", () => {
      phase = "tls";
    });
    socket.once("secureConnect", () => {
      socket.off("error", onError);
      socket.off("close", onClose);
      if (socket.alpnProtocol === "h2") this.#ready(socket);
      else {
        this.#opening = null;
        socket.on("error", () => {});
        socket.destroy();
        this.#speaksHttp1 = true;
        for (const { exchange, started } of this.#take(Infinity))
          exchange.fallBack(this.#clock.now() - started);
      }
    });
  }

  #ready(socket: TLSSocket): void {
    const session = http2Connect(this.#options.origin.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    });
    session.once("connect", () => session.setLocalWindowSize(SESSION_WINDOW));
    const open = new OpenSession(session);
    const gone = (): void => {
      const at = this.#sessions.indexOf(open);
      // What has begun is told by its own stream.
      if (at >= 0) this.#sessions.splice(at, 1);
      else
        this.#refused(socket, {
          code: "reset",
          message: "the server closed the connection before its settings",
        });
    };
    // How many streams it allows is in its settings: those beyond would be refused.
    session.once("remoteSettings", () => {
      this.#opening = null;
      session.unref();
      this.#sessions.push(open);
      this.#serve(open);
      session.on("remoteSettings", () => this.#serve(open));
    });
    session.on("error", gone);
    session.once("goaway", gone);
    session.once("close", gone);
  }

  #serve(open: OpenSession): void {
    const now = this.#clock.now();
    for (const { exchange, started } of this.#take(open.room)) open.start(exchange, now - started);
    if (this.#waiting.length > 0) this.#open();
  }

  /** A connection that does not come about, and for which nobody waits any more, must not be what the next one waits for. */
  #abandon(): void {
    if (this.#opening === null || this.#waiting.some(({ exchange }) => !exchange.isOver)) return;
    const hanging = this.#opening;
    this.#opening = null;
    this.#waiting = [];
    hanging.destroy();
  }

  #take(count: number): Waiting[] {
    this.#waiting = this.#waiting.filter(({ exchange }) => !exchange.isOver);
    return this.#waiting.splice(0, count);
  }

  /** Of the connection that is being opened, not of one before it. */
  #refused(socket: Socket, { code, message }: SocketFailure): void {
    if (this.#opening !== socket) return;
    this.#opening = null;
    const now = this.#clock.now();
    for (const { exchange } of this.#take(Infinity)) exchange.fail(code, message, now);
  }
}

/** A session that takes new streams. */
class OpenSession {
  readonly session: ClientHttp2Session;
  #open = 0;

  constructor(session: ClientHttp2Session) {
    this.session = session;
  }

  get room(): number {
    if (this.session.closed || this.session.destroyed) return 0;
    return Math.max(0, (this.session.remoteSettings?.maxConcurrentStreams ?? 100) - this.#open);
  }

  get hasRoom(): boolean {
    return this.room > 0;
  }

  start(exchange: Http2Exchange, connectMs: Ms): void {
    if (this.#open++ === 0) this.session.ref();
    exchange.open(this.session, connectMs, () => {
      if (--this.#open === 0 && !this.session.destroyed) this.session.unref();
    });
  }
}
