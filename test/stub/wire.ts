/** Responses as bytes. */

export type Framing = "chunked" | "length" | "close";

export interface HeadOptions {
  readonly status?: string;
  readonly type?: string | null;
  readonly headers?: readonly string[];
}

export function head(framing: Framing | "none", length = 0, options: HeadOptions = {}): string {
  const lines = [`HTTP/1.1 ${options.status ?? "200 OK"}`];
  const type = options.type === undefined ? "text/event-stream; charset=utf-8" : options.type;
  if (type !== null) lines.push(`Content-Type: ${type}`);
  if (framing === "chunked") lines.push("Transfer-Encoding: chunked");
  if (framing === "length") lines.push(`Content-Length: ${length}`);
  if (framing === "close") lines.push("Connection: close");
  return [...lines, ...(options.headers ?? []), "", ""].join("\r\n");
}

/** One chunk of a chunked body. */
export function chunk(data: string | Buffer, extension = ""): Buffer {
  const bytes = Buffer.from(data as string);
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
}

export const LAST_CHUNK = "0\r\n\r\n";

/** A whole response with these body pieces. */
export function response(
  pieces: readonly (string | Buffer)[],
  framing: Framing = "chunked",
  options: HeadOptions = {},
): Buffer {
  const bodies = pieces.map((piece) => Buffer.from(piece as string));
  const length = bodies.reduce((sum, body) => sum + body.length, 0);
  const framed =
    framing === "chunked" ? [...bodies.map((body) => chunk(body)), Buffer.from(LAST_CHUNK)] : bodies;
  return Buffer.concat([Buffer.from(head(framing, length, options)), ...framed]);
}
