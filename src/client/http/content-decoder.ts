/**
 * Undoes a content coding that a server applied although `identity` was asked for. Sits between a transport and its handler:
 * same calls, same order, and each decoded byte keeps the instant at which the read brought it.
 */
import zlib from "node:zlib";
import type { Transform } from "node:stream";
import type { FailureCode } from "../../core/failure.ts";
import type { Ms } from "../../core/units.ts";

/** What the decoder tells; the body part of an exchange's handler. */
export interface DecodedSink {
  decoded(bytes: Buffer, start: number, end: number, at: Ms): void;
  decodedRead(at: Ms): void;
  decodedEnd(at: Ms): void;
  decodedFail(code: FailureCode, message: string, at: Ms): void;
}

type Step =
  | { readonly kind: "bytes"; readonly bytes: Buffer; readonly at: Ms }
  | { readonly kind: "read" | "end"; readonly at: Ms }
  | { readonly kind: "fail"; readonly code: FailureCode; readonly message: string; readonly at: Ms };

/** The codings named by a Content-Encoding header, `identity` left out; empty = nothing to undo. */
export function contentCodings(header: string | undefined): string[] {
  return (header ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
}

export function canDecode(codings: readonly string[]): boolean {
  return codings.length === 1 && ["gzip", "x-gzip", "deflate", "br"].includes(codings[0] as string);
}

export class ContentDecoder {
  readonly #coding: string;
  readonly #sink: DecodedSink;
  #stream: Transform | null = null;
  readonly #steps: Step[] = [];
  #busy = false;
  #closed = false;
  #at: Ms = 0;

  constructor(coding: string, sink: DecodedSink) {
    this.#coding = coding;
    this.#sink = sink;
  }

  body(bytes: Buffer, start: number, end: number, at: Ms): void {
    this.#take({ kind: "bytes", bytes: Buffer.from(bytes.subarray(start, end)), at });
  }

  readDone(at: Ms): void {
    this.#take({ kind: "read", at });
  }

  end(at: Ms): void {
    this.#take({ kind: "end", at });
  }

  fail(code: FailureCode, message: string, at: Ms): void {
    this.#take({ kind: "fail", code, message, at });
  }

  /** Nothing more is wanted. */
  close(): void {
    this.#closed = true;
    this.#steps.length = 0;
    this.#stream?.destroy();
  }

  #take(step: Step): void {
    if (this.#closed) return;
    this.#steps.push(step);
    this.#next();
  }

  #next(): void {
    while (!this.#busy && !this.#closed) {
      const step = this.#steps.shift();
      if (step === undefined) return;
      this.#at = step.at;
      switch (step.kind) {
        case "bytes":
          this.#write(step.bytes);
          break;
        case "read":
          this.#sink.decodedRead(step.at);
          break;
        case "end":
          this.#finish();
          break;
        case "fail":
          this.close();
          this.#sink.decodedFail(step.code, step.message, step.at);
          break;
      }
    }
  }

  #write(bytes: Buffer): void {
    this.#busy = true;
    this.#stream ??= this.#open(bytes[0] as number);
    this.#stream.write(bytes, () => {
      this.#busy = false;
      this.#next();
    });
  }

  #finish(): void {
    const stream = this.#stream;
    if (stream === null) {
      this.close();
      this.#sink.decodedEnd(this.#at);
      return;
    }
    this.#busy = true;
    stream.once("end", () => {
      if (this.#closed) return;
      this.close();
      this.#sink.decodedEnd(this.#at);
    });
    stream.end();
  }

  #open(first: number): Transform {
    const stream = this.#create(first);
    stream.on("data", (bytes: Buffer) => {
      if (!this.#closed) this.#sink.decoded(bytes, 0, bytes.length, this.#at);
    });
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (this.#closed) return;
      this.close();
      const cut = error.code === "Z_BUF_ERROR" || /unexpected end/i.test(error.message);
      this.#sink.decodedFail(
        cut ? "truncated" : "protocol",
        cut ? `the ${this.#coding} body ends too early` : `damaged ${this.#coding} body (${error.message})`,
        this.#at,
      );
    });
    return stream;
  }

  #create(first: number): Transform {
    if (this.#coding === "br") return zlib.createBrotliDecompress();
    if (this.#coding !== "deflate") return zlib.createGunzip();
    // "deflate" means the zlib format, but servers send bare deflate too; the zlib header tells (RFC 1950: method 8).
    return (first & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw();
  }
}
