/**
 * Server-sent events on bytes, by the algorithm of the HTML standard (section 9.2.6) with one addition: what is
 * pending when the body ends is handed on, since servers leave out the last newline after `[DONE]`.
 *
 * Works on whole lines in the reader's own buffer where it can; only what a read cut is copied.
 */
import type { EventSink, EventSplitter } from "./event-splitter.ts";
import { GrowingBuffer } from "./growing-buffer.ts";

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const QUOTE = 34;
const BRACKET = 91;
const BRACE = 123;
const LESS_THAN = 60;
/** `[DONE]`, in the spellings that servers give it. */
const END_MARK = /^ *"?\[done\]"? *$/i;
/** The longest line that may be one. */
const END_MARK_BYTES = 24;
const BOM = [0xef, 0xbb, 0xbf];

export class SseSplitter implements EventSplitter {
  readonly #sink: EventSink;
  /** A line that was cut by the end of a read. */
  readonly #line = new GrowingBuffer();
  /** Data lines of the event under way that had to be copied, joined by LF. */
  readonly #data = new GrowingBuffer();
  #copied = false;
  /** The event's single data line, still in the buffer being read; −1 = none. */
  #start = -1;
  #end = 0;
  #name = "";
  /** A CR ended the line before; an LF that follows belongs to it. */
  #skipLf = false;
  /** Bytes of the BOM matched so far; 3 = past the start of the stream. */
  #bom = 0;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  push(bytes: Buffer, start: number, end: number): void {
    let at = this.#bom < 3 ? this.#skipBom(bytes, start, end) : start;
    if (this.#skipLf && at < end) {
      this.#skipLf = false;
      if (bytes[at] === LF) at++;
    }
    // One search for a CR serves all lines before it. Both searches may look past `end`, into older bytes.
    let cr = -1;
    while (at < end) {
      const lf = bytes.indexOf(LF, at);
      let stop = lf < 0 || lf > end ? end : lf;
      if (cr < at) cr = bytes.indexOf(CR, at);
      if (cr < 0) cr = Infinity;
      const byCr = cr < stop;
      if (byCr) stop = cr;
      if (stop === end) {
        this.#line.append(bytes, at, end);
        break;
      }
      if (this.#line.length > 0) {
        this.#line.append(bytes, at, stop);
        this.#takeLine(this.#line.bytes, 0, this.#line.length, true);
        this.#line.clear();
      } else this.#takeLine(bytes, at, stop, false);
      at = stop + 1;
      if (byCr) {
        if (at === end) this.#skipLf = true;
        else if (bytes[at] === LF) at++;
      }
    }
    // The buffer is reused for the next read.
    if (this.#start >= 0) this.#copyData(bytes);
    this.#endMark();
  }

  /** `[DONE]` needs no line end: nothing else begins like it, and a server may leave the newline out and the socket open. */
  #endMark(): void {
    const { length, bytes } = this.#line;
    if (length < 11 || length > END_MARK_BYTES || bytes[4] !== COLON || bytes[0] !== 100) return;
    if (!isEndMark(bytes, 5, length)) return;
    this.#takeLine(bytes, 0, length, true);
    this.#line.clear();
  }

  end(): void {
    if (this.#line.length > 0) {
      this.#takeLine(this.#line.bytes, 0, this.#line.length, true);
      this.#line.clear();
    }
    this.#dispatch(this.#data.bytes, false);
  }

  #skipBom(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && this.#bom < 3) {
      if (bytes[at] === BOM[this.#bom]) {
        this.#bom++;
        at++;
        continue;
      }
      // Not a BOM after all: what was taken for one is the start of the first line.
      for (let i = 0; i < this.#bom; i++) this.#line.appendByte(BOM[i] as number);
      this.#bom = 3;
    }
    return at;
  }

  /** `owned`: the bytes are the splitter's own and are about to go. */
  #takeLine(bytes: Buffer, start: number, end: number, owned: boolean): void {
    if (start === end) {
      this.#dispatch(bytes, true);
      return;
    }
    // "data" = 64 61 74 61
    if (
      bytes[start] === 100 &&
      bytes[start + 1] === 97 &&
      bytes[start + 2] === 116 &&
      bytes[start + 3] === 97
    ) {
      const length = end - start;
      if (length === 4) this.#addData(bytes, end, end, owned);
      else if (length > 4 && bytes[start + 4] === COLON) {
        const from = bytes[start + 5] === SPACE && length > 5 ? start + 6 : start + 5;
        const isEnd = length <= END_MARK_BYTES && isEndMark(bytes, from, end);
        // It is an event of its own also where the blank lines around it are left out: one may never come.
        if (isEnd && (this.#start >= 0 || this.#copied)) this.#dispatch(bytes, true);
        this.#addData(bytes, from, end, owned);
        if (isEnd) this.#dispatch(bytes, true);
      }
      return;
    }
    // "event" = 65 76 65 6e 74; every other field (id, retry, unknown) and comments mean nothing here, but for llama.cpp's
    // older `error: {…}`, an error event in one line, and for a bare JSON object or markup, which may be an error.
    if (bytes[start] === BRACE || bytes[start] === LESS_THAN) this.#sink.event("", bytes, start, end, true);
    else if (bytes[start] === 101) {
      const line = bytes.toString("utf8", start, end);
      if (line === "event") this.#name = "";
      else if (line.startsWith("event:")) this.#name = line.slice(line[6] === " " ? 7 : 6);
      else if (line.startsWith("error:")) {
        this.#name = "error";
        this.#addData(bytes, start + 6, end, owned);
      }
    }
  }

  #addData(bytes: Buffer, start: number, end: number, owned: boolean): void {
    if (!owned && this.#start < 0 && !this.#copied) {
      this.#start = start;
      this.#end = end;
      return;
    }
    if (this.#start >= 0) this.#copyData(bytes);
    if (this.#copied) this.#data.appendByte(LF);
    this.#data.append(bytes, start, end);
    this.#copied = true;
  }

  #copyData(bytes: Buffer): void {
    this.#data.append(bytes, this.#start, this.#end);
    this.#start = -1;
    this.#copied = true;
  }

  #dispatch(bytes: Buffer, whole: boolean): void {
    const name = this.#name === "" ? "message" : this.#name;
    this.#name = "";
    if (this.#start >= 0) {
      const start = this.#start;
      this.#start = -1;
      // Empty data is no event, unless its name says it all.
      if (start < this.#end || name === "error") this.#sink.event(name, bytes, start, this.#end, whole);
    } else if (this.#copied) {
      this.#copied = false;
      const length = this.#data.length;
      if (length > 0 || name === "error") this.#sink.event(name, this.#data.bytes, 0, length, whole);
      this.#data.clear();
    } else if (name === "error") this.#sink.event(name, bytes, 0, 0, whole);
  }
}

function isEndMark(bytes: Buffer, from: number, to: number): boolean {
  let at = from;
  while (at < to && bytes[at] === SPACE) at++;
  const first = bytes[at];
  return (first === BRACKET || first === QUOTE) && END_MARK.test(bytes.toString("latin1", at, to));
}
