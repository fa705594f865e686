/** A way through an HTTP proxy: after CONNECT the bytes are the server's. One attempt a connection: a proxy that hangs up is a failure. */
import { connect as netConnect, type Socket } from "node:net";
import { connect as tlsConnect, type SecureContext } from "node:tls";
import { UserError } from "../../core/failure.ts";
import { secrets } from "../../core/secret.ts";
import { socketFailure, type SocketFailure } from "./socket-failure.ts";

export interface Proxy {
  readonly host: string;
  readonly port: number;
  /** The proxy itself is spoken to over TLS. */
  readonly tls: { readonly context: SecureContext; readonly insecure: boolean } | null;
  /** `Basic …` for the proxy alone. */
  readonly authorization: string | null;
}

/** A head beyond this is none. */
const MAX_HEAD = 64 * 1024;

/** `http://user:pass@host:8080`. Credentials are registered as secrets. */
export function parseProxy(text: string, context: () => SecureContext, insecure: boolean): Proxy {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new UserError("the proxy must be an http:// or https:// URL");
  const isTls = url.protocol === "https:";
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || (isTls ? 443 : 80)),
    tls: isTls ? { context: context(), insecure } : null,
    authorization: url.username === "" ? null : basicOf(url),
  };
}

function basicOf(url: URL): string {
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  secrets.add(pair);
  secrets.add(decodeURIComponent(url.password));
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

/**
 * Begins a tunnel to `host:port` and returns its socket. `done` is told once: `null` when the socket is the server's, else what
 * went wrong; the socket is then destroyed. Not told where the caller destroys it.
 */
export function openTunnel(
  proxy: Proxy,
  host: string,
  port: number,
  done: (failure: SocketFailure | null) => void,
): Socket {
  const address = { host: proxy.host, port: proxy.port, autoSelectFamilyAttemptTimeout: 2500 };
  const secure = proxy.tls && {
    ...address,
    secureContext: proxy.tls.context,
    rejectUnauthorized: !proxy.tls.insecure,
    servername: proxy.host,
  };
  const socket: Socket = secure === null ? netConnect(address) : tlsConnect(secure);
  socket.setNoDelay(true);
  const name = `proxy ${proxy.host}:${proxy.port}`;
  let head = Buffer.alloc(0);
  let isOver = false;
  const finish = (failure: SocketFailure | null): void => {
    if (isOver) return;
    isOver = true;
    socket.off("data", onData);
    socket.off("end", onEnd);
    socket.off("close", onEnd);
    if (failure !== null) socket.destroy();
    done(failure);
  };
  const refuse = (message: string): void => finish({ code: "connect", message: `${name}: ${message}` });
  const onEnd = (): void => refuse("it closed the connection");
  const onData = (bytes: Buffer): void => {
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) {
      if (
        head.length > MAX_HEAD ||
        !"HTTP/1.".startsWith(head.toString("latin1", 0, Math.min(7, head.length)))
      )
        refuse("it does not speak HTTP");
      return;
    }
    const status = /^HTTP\/1\.[01] (\d{3})(?: ([^\r]*))?/.exec(head.toString("latin1", 0, end));
    if (status === null) refuse("it does not speak HTTP");
    else if (!(status[1] as string).startsWith("2"))
      refuse(`it answers ${status[1]} ${status[2] ?? ""}`.trimEnd());
    else {
      const rest = head.subarray(end + 4);
      // Paused, so that nothing is lost before the next reader is there.
      socket.pause();
      if (rest.length > 0) socket.unshift(rest);
      finish(null);
    }
  };
  socket.on("error", (error) => {
    const { code, message } = socketFailure(error, "connecting");
    finish({ code: code === "reset" ? "connect" : code, message: `${name}: ${message}` });
  });
  socket.on("data", onData);
  socket.once("end", onEnd);
  socket.once("close", onEnd);
  socket.once(secure === null ? "connect" : "secureConnect", () => {
    const target = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    const authorization =
      proxy.authorization === null ? "" : `Proxy-Authorization: ${proxy.authorization}\r\n`;
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  });
  return socket;
}
