/** An HTTP proxy that knows CONNECT and nothing else. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface ConnectProxy {
  readonly url: string;
  /** Heads of the requests, in order. */
  readonly heads: readonly string[];
  close(): Promise<void>;
}

export async function startConnectProxy(): Promise<ConnectProxy> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((socket) => {
    keep(socket);
    socket.once("data", (bytes) => {
      const head = bytes.toString("latin1");
      heads.push(head);
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
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heads,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
