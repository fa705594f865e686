/**
 * A strict, incremental reader of HTTP/1.x responses on bytes (RFC 9112): any cut, any size. It allocates nothing per
 * body piece: pieces are handed on as ranges of the buffer they came in.
 */
import { HeaderLines, type ResponseHeaders } from "./response-headers.ts";

export interface ResponseSink {
  /** A final response head (1xx are skipped). */
  head(status: number, headers: ResponseHeaders): void;
  /** A piece of the body, chunk framing removed. The bytes are valid during this call only. */
  body(bytes: Buffer, start: number, end: number): void;
}

const STATE = {
  statusLine: 0,
  headerLine: 1,
  length: 2,
  untilClose: 3,
  chunkSize: 4,
  chunkData: 5,
  chunkEnd: 6,
  trailerLine: 7,
  complete: 8,
  failed: 9,
} as const;
type State = (typeof STATE)[keyof typeof STATE];

const CR = 13;
const LF = 10;
const MAX_HEAD_BYTES = 256 * 1024;
const MAX_CHUNK_LINE = 16 * 1024;

export class ResponseParser {
  #state: State = STATE.statusLine;
  readonly #sink: ResponseSink;
  /** Bytes left of a length-delimited body or of the current chunk. */
  #left = 0;
  /** The beginning of a line that was cut by a read. */
  #carry = Buffer.alloc(0);
  #carried = 0;
  #headBytes = 0;
  #crSeen = false;
  #status = 0;
  #minor = 1;
  #lines = new HeaderLines();
  #persistent = true;
  /** Why the bytes are not a response; `null` as long as they are. */
  error: string | null = null;
  /** Some byte of this response has come. */
  started = false;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** Makes ready for the next response on the same connection. */
  reset(): void {
    this.#state = STATE.statusLine;
    this.#carried = 0;
    this.#headBytes = 0;
    this.#crSeen = false;
    this.#persistent = true;
    this.error = null;
    this.started = false;
  }

  get complete(): boolean {
    return this.#state === STATE.complete;
  }

  /** The message's end was told by its framing and the peer did not ask to close: the connection may be used again. */
  get reusable(): boolean {
    return this.#state === STATE.complete && this.#persistent;
  }

  /** Takes bytes; returns the offset of the first one that is not part of this response. */
  push(bytes: Buffer, start: number, end: number): number {
    let at = start;
    if (at < end) this.started = true;
    while (at < end) {
      switch (this.#state) {
        case STATE.length:
        case STATE.chunkData: {
          const stop = Math.min(end, at + this.#left);
          this.#left -= stop - at;
          if (this.#left === 0) this.#state = this.#state === STATE.length ? STATE.complete : STATE.chunkEnd;
          this.#sink.body(bytes, at, stop);
          at = stop;
          break;
        }
        case STATE.untilClose:
          this.#sink.body(bytes, at, end);
          return end;
        case STATE.chunkSize:
          at = this.#chunkSize(bytes, at, end);
          break;
        case STATE.chunkEnd:
          at = this.#chunkEnd(bytes, at);
          break;
        case STATE.statusLine:
        case STATE.headerLine:
        case STATE.trailerLine:
          at = this.#line(bytes, at, end);
          break;
        case STATE.complete:
        case STATE.failed:
          return at;
      }
    }
    return at;
  }

  /** The peer closed its side. Returns `true` when that is where this response rightly ends. */
  close(): boolean {
    if (this.#state === STATE.untilClose) this.#state = STATE.complete;
    return this.#state === STATE.complete;
  }

  #fail(message: string): void {
    this.error = message;
    this.#state = STATE.failed;
  }

  /** The hot one: `hex [; extension] CR LF`, usually whole in the buffer. */
  #chunkSize(bytes: Buffer, from: number, end: number): number {
    let at = from;
    let size = 0;
    if (this.#carried === 0) {
      for (; at < end; at++) {
        const digit = hexDigit(bytes[at] as number);
        if (digit < 0) break;
        size = size * 16 + digit;
      }
      if (at > from && at - from <= 12 && at + 1 < end && bytes[at] === CR && bytes[at + 1] === LF) {
        this.#chunkStart(size);
        return at + 2;
      }
    }
    const lf = indexOf(bytes, LF, from, end);
    if (lf < 0) {
      this.#keep(bytes, from, end);
      if (this.#carried > MAX_CHUNK_LINE) this.#fail("chunk size line without an end");
      return end;
    }
    this.#keep(bytes, from, lf + 1);
    const line = this.#takeCarry();
    const match = /^([0-9a-fA-F]+)[ \t]*(?:;[^\r\n\0]*)?\r\n$/.exec(line);
    const digits = match?.[1]?.replace(/^0+(?=.)/, "");
    if (digits === undefined || digits.length > 13) this.#fail(`bad chunk size line ${quote(line)}`);
    else this.#chunkStart(Number.parseInt(digits, 16));
    return lf + 1;
  }

  #chunkStart(size: number): void {
    this.#left = size;
    this.#state = size === 0 ? STATE.trailerLine : STATE.chunkData;
  }

  #chunkEnd(bytes: Buffer, at: number): number {
    const byte = bytes[at];
    if (!this.#crSeen && byte === CR) {
      this.#crSeen = true;
    } else if (this.#crSeen && byte === LF) {
      this.#crSeen = false;
      this.#state = STATE.chunkSize;
    } else this.#fail("chunk data is not followed by CR LF");
    return at + 1;
  }

  #line(bytes: Buffer, from: number, end: number): number {
    const lf = indexOf(bytes, LF, from, end);
    const stop = lf < 0 ? end : lf + 1;
    this.#headBytes += stop - from;
    if (this.#headBytes > MAX_HEAD_BYTES) {
      this.#fail("response head is too long");
      return stop;
    }
    if (lf < 0) {
      this.#keep(bytes, from, end);
      // Garbage is known at once: another protocol may never send an LF.
      if (this.#state === STATE.statusLine) this.#checkStart();
      return end;
    }
    let line: string;
    if (this.#carried === 0) line = bytes.toString("latin1", from, lf);
    else {
      this.#keep(bytes, from, lf);
      line = this.#takeCarry();
    }
    if (line.endsWith("\r")) line = line.slice(0, -1);
    if (this.#state === STATE.statusLine) this.#statusLine(line);
    else if (line === "") this.#blankLine();
    else {
      const wrong = this.#lines.add(line);
      if (wrong !== null) this.#fail(wrong);
    }
    return stop;
  }

  #checkStart(): void {
    const seen = this.#carry.toString("latin1", 0, Math.min(this.#carried, 7));
    if (seen !== "\r" && !"HTTP/1.".startsWith(seen)) this.#fail(`not an HTTP/1.1 response: ${quote(seen)}`);
  }

  #statusLine(line: string): void {
    // A server may send an empty line before the response (left over from the one before).
    if (line === "") return;
    const match = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [^\0\r]*)?$/.exec(line);
    if (match === null) {
      this.#fail(`bad status line ${quote(line)}`);
      return;
    }
    this.#minor = match[1] === "0" ? 0 : 1;
    this.#status = Number(match[2]);
    this.#lines = new HeaderLines();
    this.#state = STATE.headerLine;
  }

  #blankLine(): void {
    this.#headBytes = 0;
    if (this.#state === STATE.trailerLine) {
      this.#state = STATE.complete;
      return;
    }
    if (this.#status < 200) {
      if (this.#status === 101) this.#fail("the server switched protocols (101) unasked");
      else this.#state = STATE.statusLine;
      return;
    }
    const headers = this.#lines.headers;
    // Trailers are checked like headers, and dropped.
    this.#lines = new HeaderLines();
    this.#frameBody(headers);
    if (this.error === null) this.#sink.head(this.#status, headers);
  }

  #frameBody(headers: ResponseHeaders): void {
    const connection = (headers.get("connection") ?? "").toLowerCase();
    this.#persistent =
      this.#minor === 1 ? !hasToken(connection, "close") : hasToken(connection, "keep-alive");
    if (this.#status === 204 || this.#status === 304) {
      this.#state = STATE.complete;
      return;
    }
    const codings = headers.get("transfer-encoding")?.toLowerCase();
    const length = headers.get("content-length");
    if (codings !== undefined) {
      // Both headers: the transfer coding counts, and the connection is not to be trusted afterwards (RFC 9112, 6.3).
      if (length !== undefined) this.#persistent = false;
      const list = codings.split(",").map((coding) => coding.trim());
      const other = list.find((coding) => coding !== "chunked" && coding !== "identity" && coding !== "");
      if (other !== undefined) this.#fail(`cannot undo Transfer-Encoding ${quote(other)}`);
      else if (list.at(-1) === "chunked" && list.lastIndexOf("chunked", -2) === -1) {
        this.#state = STATE.chunkSize;
      } else if (list.includes("chunked")) this.#fail(`bad Transfer-Encoding ${quote(codings)}`);
      else this.#untilClose();
      return;
    }
    if (length === undefined) {
      this.#untilClose();
      return;
    }
    const values = new Set(length.split(",").map((value) => value.trim()));
    const [value] = values;
    if (values.size !== 1 || value === undefined || !/^[0-9]{1,15}$/.test(value)) {
      this.#fail(`bad Content-Length ${quote(length)}`);
      return;
    }
    this.#left = Number(value);
    this.#state = this.#left === 0 ? STATE.complete : STATE.length;
  }

  #untilClose(): void {
    this.#persistent = false;
    this.#state = STATE.untilClose;
  }

  #keep(bytes: Buffer, from: number, to: number): void {
    const needed = this.#carried + to - from;
    if (needed > this.#carry.length) {
      const grown = Buffer.allocUnsafe(Math.max(256, needed * 2));
      this.#carry.copy(grown, 0, 0, this.#carried);
      this.#carry = grown;
    }
    bytes.copy(this.#carry, this.#carried, from, to);
    this.#carried = needed;
  }

  #takeCarry(): string {
    const text = this.#carry.toString("latin1", 0, this.#carried);
    this.#carried = 0;
    return text;
  }
}

/** Index of `byte` in [from, end), or −1. Reads on past `end` in the shared buffer rather than making a view of it. */
function indexOf(bytes: Buffer, byte: number, from: number, end: number): number {
  const at = bytes.indexOf(byte, from);
  return at >= end ? -1 : at;
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

function hasToken(list: string, token: string): boolean {
  return list !== "" && list.split(",").some((item) => item.trim() === token);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
