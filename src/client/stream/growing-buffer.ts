/** Bytes gathered over several reads. Doubles when full, so that a line of any length costs linear time. */
export class GrowingBuffer {
  bytes: Buffer = EMPTY;
  length = 0;

  append(source: Buffer, start: number, end: number): void {
    const needed = this.length + end - start;
    if (needed > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(512, needed, this.bytes.length * 2));
      if (this.length > 0) this.bytes.copy(grown, 0, 0, this.length);
      this.bytes = grown;
    }
    source.copy(this.bytes, this.length, start, end);
    this.length = needed;
  }

  appendByte(byte: number): void {
    ONE[0] = byte;
    this.append(ONE, 0, 1);
  }

  /** Forgets the content; a large block is given back. */
  clear(): void {
    this.length = 0;
    if (this.bytes.length > KEEP) this.bytes = EMPTY;
  }
}

const EMPTY = Buffer.alloc(0);
const ONE = Buffer.alloc(1);
const KEEP = 16 * 1024;
