/** One JSON text a line (LF, or CR LF); blank lines are skipped, and a BOM at the start. */
import type { EventSink, EventSplitter } from "./event-splitter.ts";
import { GrowingBuffer } from "./growing-buffer.ts";

const LF = 10;

export class NdjsonSplitter implements EventSplitter {
  readonly #sink: EventSink;
  readonly #line = new GrowingBuffer();
  #isFirst = true;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  push(bytes: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end) {
      const lf = bytes.indexOf(LF, at);
      if (lf < 0 || lf >= end) {
        this.#line.append(bytes, at, end);
        return;
      }
      if (this.#line.length > 0) {
        this.#line.append(bytes, at, lf);
        this.#emit(this.#line.bytes, 0, this.#line.length, true);
        this.#line.clear();
      } else this.#emit(bytes, at, lf, true);
      at = lf + 1;
    }
  }

  end(): void {
    if (this.#line.length === 0) return;
    this.#emit(this.#line.bytes, 0, this.#line.length, false);
    this.#line.clear();
  }

  #emit(bytes: Buffer, start: number, end: number, whole: boolean): void {
    let from = start;
    let to = end;
    if (
      this.#isFirst &&
      to - from >= 3 &&
      bytes[from] === 0xef &&
      bytes[from + 1] === 0xbb &&
      bytes[from + 2] === 0xbf
    )
      from += 3;
    this.#isFirst = false;
    while (from < to && isSpace(bytes[from] as number)) from++;
    while (to > from && isSpace(bytes[to - 1] as number)) to--;
    if (from < to) this.#sink.event("message", bytes, from, to, whole);
  }
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === 13 || byte === 9;
}
