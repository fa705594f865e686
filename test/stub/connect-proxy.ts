/** An HTTP proxy that knows CONNECT and nothing else. */
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

export interface ConnectProxy {
  readonly url: string;
  /** Heads of the requests, in order. */
  readonly heads: readonly string[];
  close(): Promise<void>;
}

export interface ConnectProxyOptions {
  /** What it says instead of opening a way: bytes, or `null` to hang up. */
  readonly answer?: string | null;
  readonly tls?: { readonly key: string; readonly cert: string };
}

export async function startConnectProxy(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  };
  const accept = (socket: Socket): void => {
    keep(socket);
    socket.once("data", (bytes) => {
      const head = bytes.toString("latin1");
      heads.push(head);
      if (options.answer !== undefined) {
        if (options.answer !== null) socket.write(options.answer);
        socket.end();
        return;
      }
      const [, host = "", port = ""] = /^CONNECT \[?([^\]\s]+?)\]?:(\d+) /.exec(head) ?? [];
      const up = connect({ host, port: Number(port) });
      keep(up);
      let isOpen = false;
      up.once("connect", () => {
        isOpen = true;
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(up).pipe(socket);
      });
      up.once("error", (error) => isOpen || socket.end(`HTTP/1.1 502 Bad Gateway\r\n\r\n${error.message}`));
      // A reset of the server reaches the client as one.
      up.once("close", (hadError) => (hadError && isOpen ? socket.resetAndDestroy() : socket.end()));
      socket.once("close", () => up.destroy());
    });
  };
  const server =
    options.tls === undefined
      ? createServer(accept)
      : createTlsServer({ key: readFileSync(options.tls.key), cert: readFileSync(options.tls.cert) }, accept);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heads,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
