/**
 * HTTP/1.1 on `node:net` with `onread` (PERFORMANCE, "What follows for the hot path"): one connection an exchange at a time,
 * kept alive between them. Nothing is ever sent twice.
 */
import { isIP } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { afterReads } from "../../core/after-reads.ts";
import type { Clock } from "../../core/clock.ts";
import type { Ms } from "../../core/units.ts";
import { Connection, type ConnectionOwner, type Origin } from "./connection.ts";
import { IdleLimit, SETTLED_MS } from "./idle-limit.ts";
import type { ResponseHeaders } from "./response-headers.ts";
import { parseProxy } from "./tunnel.ts";
import type {
  ConnectFailure,
  Exchange,
  ExchangeHandler,
  RequestParts,
  Transport,
  WireRequest,
} from "./transport.ts";

export interface Http1Options {
  /** `http:` or `https:`; only protocol, host name and port are looked at. */
  readonly origin: URL;
  readonly clock: Clock;
  /** Accept any certificate. */
  readonly insecure?: boolean;
  /** PEM of further certificate authorities, used instead of the built-in ones. */
  readonly ca?: string | Buffer;
  /** URL of an HTTP proxy; its credentials, if any, go to the proxy only. */
  readonly proxy?: string | null;
}

/** Idle sockets that may not be used are kept to learn the server's limit from, but not many. */
const MAX_UNUSABLE = 8;

/** A connection that was opened ahead serves its first request within this, or none. */
const UNUSED_MS = 1000;
/** From opening ahead to the request that it is for. */
const SOON_MS = 250;

interface Http1Request extends WireRequest {
  readonly bytes: Buffer;
}

export class Http1Transport implements Transport, ConnectionOwner {
  readonly clock: Clock;
  readonly #origin: Origin;
  readonly #hostHeader: string;
  /** The one idle for the longest first. */
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();
  readonly #limit = new IdleLimit();
  #isClosed = false;

  constructor(options: Http1Options) {
    this.clock = options.clock;
    this.#origin = originOf(options);
    this.#hostHeader = options.origin.host;
  }

  prepare(parts: RequestParts): Http1Request {
    const hasHost = parts.headers.some(([name]) => name.toLowerCase() === "host");
    let head = `${parts.method} ${parts.target} HTTP/1.1\r\n`;
    if (!hasHost) head += `Host: ${this.#hostHeader}\r\n`;
    for (const [name, value] of parts.headers) head += `${name}: ${value}\r\n`;
    const bodyBytes = parts.body?.length ?? 0;
    if (parts.body !== null) head += `Content-Length: ${bodyBytes}\r\n`;
    head += "\r\n";
    const bytes = Buffer.allocUnsafe(head.length + bodyBytes);
    bytes.write(head, 0, "latin1");
    parts.body?.copy(bytes, head.length);
    return { bytes, bodyBytes };
  }

  start(request: WireRequest, handler: ExchangeHandler): Exchange {
    const { bytes } = request as Http1Request;
    const free = this.#takeIdle();
    if (free !== null) {
      free.send(bytes, handler);
      return free;
    }
    const connection = new Connection(this.#origin, this, bytes, handler);
    this.#all.add(connection);
    return connection;
  }

  connect(): Promise<ConnectFailure | null> {
    const now = this.clock.now();
    const last = this.#idle.at(-1);
    if (last !== undefined && last.open && this.#mayUse(last, now + SOON_MS)) return Promise.resolve(null);
    this.dropUnused();
    return new Promise((resolve) => {
      const handler: ExchangeHandler = {
        ...NOTHING,
        end: () => resolve(null),
        fail: (code, message) => resolve({ code, message }),
      };
      this.#all.add(new Connection(this.#origin, this, null, handler));
    });
  }

  dropUnused(): void {
    for (const connection of this.#idle.filter(({ unused }) => unused)) {
      this.#idle.splice(this.#idle.indexOf(connection), 1);
      connection.destroy();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#all) connection.destroy();
  }

  /** Sockets that are open or being opened. */
  get sockets(): number {
    return this.#all.size;
  }

  released(connection: Connection, at: Ms): void {
    if (this.#isClosed) connection.destroy();
    else {
      this.#idle.push(connection);
      if (!connection.unused && !this.#limit.keeps(connection.streamed)) this.#watch(connection, at);
    }
    this.#dropUnusable(at);
  }

  #watch(connection: Connection, at: Ms): void {
    this.clock.at(at + SETTLED_MS, () =>
      afterReads(() => {
        if (connection.open && connection.idleSince === at && this.#idle.includes(connection))
          this.#limit.kept(connection.streamed);
      }),
    );
  }

  gone(connection: Connection, at: Ms): void {
    this.#all.delete(connection);
    const index = this.#idle.lastIndexOf(connection);
    if (index < 0) return;
    this.#idle.splice(index, 1);
    // How long a server bears a connection without a first request says nothing of those that it keeps.
    if (!connection.unused) this.#limit.closed(at - connection.idleSince);
  }

  responseHeaders(headers: ResponseHeaders): void {
    const value = headers.get("keep-alive");
    if (value !== undefined) this.#limit.keepAliveHeader(value);
  }

  staleAfter(idle: Ms): void {
    this.#limit.closed(idle);
  }

  /** The one used last: the others may then be given up by the server in peace. */
  #takeIdle(): Connection | null {
    if (this.#idle.length === 0) return null;
    const now = this.clock.now();
    const first = this.#idle[0] as Connection;
    if (!first.unused) this.#limit.survived(now - first.idleSince);
    const last = this.#idle.at(-1) as Connection;
    if (last.open && this.#mayUse(last, now)) {
      this.#idle.pop();
      return last;
    }
    this.#dropUnusable(now);
    return null;
  }

  #mayUse(connection: Connection, now: Ms): boolean {
    const idle = now - connection.idleSince;
    return connection.unused ? idle <= UNUSED_MS : this.#limit.mayReuse(idle, connection.streamed);
  }

  #dropUnusable(now: Ms): void {
    for (;;) {
      // The oldest is kept longest: it is the one that teaches.
      const index = this.#idle.length > MAX_UNUSABLE ? 1 : 0;
      const oldest = this.#idle[index];
      if (oldest === undefined) return;
      const idle = now - oldest.idleSince;
      const useless = oldest.unused
        ? !this.#mayUse(oldest, now)
        : index === 1
          ? !this.#limit.mayReuse(idle, oldest.streamed)
          : this.#limit.mayDrop(idle);
      if (!useless) return;
      // Taken out first: what we close ourselves teaches nothing about the server.
      this.#idle.splice(index, 1);
      oldest.destroy();
    }
  }
}

const NOTHING = {
  sent: (): void => undefined,
  head: (): void => undefined,
  body: (): void => undefined,
  readDone: (): void => undefined,
};

/** Host, port, TLS context and proxy of an origin. */
export function originOf(options: Http1Options): Origin {
  const { origin, ca, insecure = false } = options;
  const host = origin.hostname.replace(/^\[|\]$/g, "");
  // One context for all connections: making one loads the certificate store, which takes milliseconds.
  const context = (): SecureContext => createSecureContext(ca === undefined ? {} : { ca });
  const proxy = options.proxy == null ? null : parseProxy(options.proxy, context, insecure);
  if (origin.protocol !== "https:") return { host, port: Number(origin.port || 80), tls: null, proxy };
  return {
    host,
    port: Number(origin.port || 443),
    tls: { context: context(), insecure, servername: isIP(host) === 0 ? host : "" },
    proxy,
  };
}
