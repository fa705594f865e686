/**
 * A raw TCP server for tests: writes given bytes at given times, keeps sockets open, sends FIN or RST, and records when it did
 * what. A web framework will not do: many faults live in read boundaries, chunk lines and closes.
 */
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

export interface StubStep {
  /** After the request came, ms; the next step waits until then. Default: at once. */
  readonly at?: number;
  readonly bytes?: Buffer | string;
  readonly end?: "fin" | "rst";
}

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** When all of it was there, on `performance.now()`. */
  readonly at: number;
  /** Number of its connection, from 0. */
  readonly connection: number;
  /** When each step was written. */
  readonly writes: number[];
}

export type StubScript = (request: StubRequest, index: number) => readonly StubStep[];

export interface StubServer {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly StubRequest[];
  readonly connections: number;
  /** Closes the server and all of its sockets. */
  close(): Promise<void>;
}

export interface StubOptions {
  readonly host?: string;
  /** Closes a socket on which nothing came for so long. */
  readonly idleMs?: number;
  readonly tls?: { readonly key: string; readonly cert: string };
}

export async function startStub(script: StubScript, options: StubOptions = {}): Promise<StubServer> {
  const requests: StubRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const accept = (socket: Socket): void => {
    const connection = connections++;
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    let idle: NodeJS.Timeout | null = null;
    const rest = (): void => {
      if (options.idleMs !== undefined) idle = setTimeout(() => socket.end(), options.idleMs);
    };
    rest();
    readRequests(socket, connection, (request) => {
      if (idle !== null) clearTimeout(idle);
      requests.push(request);
      void play(socket, request, script(request, requests.length - 1)).then(rest);
    });
  };
  const server: Server =
    options.tls === undefined
      ? createServer({ allowHalfOpen: true }, accept)
      : createTlsServer({ key: readFileSync(options.tls.key), cert: readFileSync(options.tls.cert) }, accept);
  const host = options.host ?? "127.0.0.1";
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${options.tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    requests,
    get connections() {
      return connections;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

async function play(socket: Socket, request: StubRequest, steps: readonly StubStep[]): Promise<void> {
  for (const { at = 0, bytes, end } of steps) {
    const wait = request.at + at - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    if (socket.destroyed) return;
    request.writes.push(performance.now());
    if (bytes !== undefined) socket.write(bytes);
    if (end === "fin") socket.end();
    if (end === "rst") socket.resetAndDestroy();
  }
}

function readRequests(socket: Socket, connection: number, onRequest: (request: StubRequest) => void): void {
  let pending = Buffer.alloc(0);
  socket.on("end", () => socket.end());
  socket.on("data", (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes]);
    for (;;) {
      const headEnd = pending.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      const [line = "", ...lines] = pending.toString("latin1", 0, headEnd).split("\r\n");
      const headers = Object.fromEntries(
        lines.map((one) => {
          const colon = one.indexOf(":");
          return [one.slice(0, colon).toLowerCase(), one.slice(colon + 1).trim()];
        }),
      );
      const end = headEnd + 4 + Number(headers["content-length"] ?? 0);
      if (pending.length < end) return;
      const [method = "", path = ""] = line.split(" ");
      const body = pending.toString("utf8", headEnd + 4, end);
      pending = pending.subarray(end);
      onRequest({ method, path, headers, body, at: performance.now(), connection, writes: [] });
    }
  });
}
