/**
 * The append-only log. A record is handed to the operating system as soon as its request has ended, or, where many end,
 * together with those of the next few milliseconds: each write wakes another thread, which a loop that must be punctual
 * has no time for. A process that is killed loses no more than these. Every write goes to a known position, so
 * the synchronous flush at the process's exit can repeat a write that was under way without doubling a line.
 */
import { closeSync, fsyncSync, ftruncateSync, openSync, write as writeFile, writeSync } from "node:fs";
import { join } from "node:path";
import { coarseNow, startCoarseTimer } from "../core/coarse-timer.ts";
import type { Ms } from "../core/units.ts";
import { writeError } from "./atomic-file.ts";
import { recordLine } from "./record-line.ts";
import type { RequestRecord } from "./request-record.ts";

export interface RunLogResult {
  /** Records that are in the file, whole. */
  readonly saved: number;
  /** Records that could not be written. */
  readonly lost: number;
  readonly error: Error | null;
}

export interface RunLog {
  /** Never throws and never waits; a failing disk is told through `onError` and {@link RunLog.result}. */
  append(record: RequestRecord): void;
  /** Lines that another thread made of `count` records, each with its LF. */
  appendLines(lines: string, count: number): void;
  /** Resolves when everything appended so far is written or known to be lost. */
  flush(): Promise<void>;
  /** Writes what is pending now, without the event loop. For `process.on("exit")`, and called by it. */
  flushSync(): void;
  result(): RunLogResult;
  /** Flushes, syncs to the disk and closes. */
  close(): Promise<RunLogResult>;
}

export interface RunLogOptions {
  /** Called once, at the first record that cannot be written. */
  readonly onError?: (error: Error) => void;
  /** Stands in for the file's write in tests. Positional; may write less than asked. */
  readonly write?: PositionalWrite;
}

export type PositionalWrite = (
  file: number,
  bytes: Buffer,
  offset: number,
  length: number,
  position: number,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

/** Opens `records.jsonl` of a new run folder. An existing file is refused. */
export function openRunLog(folder: string, options: RunLogOptions = {}): RunLog {
  return new FileRunLog(join(folder, "records.jsonl"), options);
}

const LF = 10;
/** From one write to the next. */
const GATHER_MS = 20;

class FileRunLog implements RunLog {
  readonly #path: string;
  readonly #file: number;
  readonly #write: PositionalWrite;
  readonly #onError: (error: Error) => void;
  readonly #atExit = (): void => this.flushSync();
  #pending: string[] = [];
  #pendingLines = 0;
  #writing: { bytes: Buffer; lines: number } | null = null;
  /** Bytes known to be in the file, whole lines only. */
  #length = 0;
  #saved = 0;
  #lost = 0;
  #error: Error | null = null;
  #scheduled = false;
  #lastStart: Ms = -Infinity;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(path: string, options: RunLogOptions) {
    this.#path = path;
    this.#write = options.write ?? writeFile;
    this.#onError = options.onError ?? ((): void => undefined);
    try {
      this.#file = openSync(path, "wx");
    } catch (error) {
      throw writeError(path, error);
    }
    process.on("exit", this.#atExit);
  }

  append(record: RequestRecord): void {
    if (this.#error !== null || this.#closed) this.#lost++;
    else this.appendLines(recordLine(record), 1);
  }

  appendLines(lines: string, count: number): void {
    if (this.#error !== null || this.#closed) {
      this.#lost += count;
      return;
    }
    this.#pending.push(lines);
    this.#pendingLines += count;
    this.#schedule();
  }

  /** The first after a pause at once; then one write every so often. */
  #schedule(): void {
    if (this.#writing !== null || this.#scheduled) return;
    this.#scheduled = true;
    const start = (): void => {
      this.#scheduled = false;
      this.#start();
    };
    const wait = this.#lastStart + GATHER_MS - coarseNow();
    if (wait <= 0 || this.#idle.length > 0) queueMicrotask(start);
    else startCoarseTimer(wait, start);
  }

  flush(): Promise<void> {
    if (this.#writing === null && this.#pending.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#start();
    });
  }

  flushSync(): void {
    if (this.#closed || this.#error !== null) return;
    // A write that is under way is done again at the same position: the same bytes.
    const lines = (this.#writing?.lines ?? 0) + this.#pendingLines;
    if (lines === 0) return;
    const bytes = Buffer.concat([
      this.#writing?.bytes ?? Buffer.alloc(0),
      Buffer.from(this.#pending.join("")),
    ]);
    this.#pending = [];
    this.#pendingLines = 0;
    this.#writing = null;
    let at = 0;
    try {
      while (at < bytes.length) at += writeSync(this.#file, bytes, at, bytes.length - at, this.#length + at);
      this.#length += bytes.length;
      this.#saved += lines;
    } catch (error) {
      this.#fail(error, lines - this.#keepWholeLines(bytes, at));
    }
    this.#tellIdle();
  }

  result(): RunLogResult {
    return { saved: this.#saved, lost: this.#lost, error: this.#error };
  }

  async close(): Promise<RunLogResult> {
    if (this.#closed) return this.result();
    await this.flush();
    if (this.#closed) return this.result();
    this.#closed = true;
    process.off("exit", this.#atExit);
    try {
      fsyncSync(this.#file);
    } catch (error) {
      this.#error ??= writeError(this.#path, error) as Error;
    }
    closeSync(this.#file);
    return this.result();
  }

  #start(): void {
    if (this.#writing !== null || this.#pending.length === 0 || this.#error !== null) return;
    this.#lastStart = coarseNow();
    const writing = { bytes: Buffer.from(this.#pending.join("")), lines: this.#pendingLines };
    this.#pending = [];
    this.#pendingLines = 0;
    this.#writing = writing;
    this.#writeFrom(writing, 0);
  }

  #writeFrom(writing: { bytes: Buffer; lines: number }, at: number): void {
    const left = writing.bytes.length - at;
    this.#write(this.#file, writing.bytes, at, left, this.#length + at, (error, written) => {
      // A synchronous flush has taken this batch over.
      if (this.#writing !== writing) return;
      if (error === null && written <= 0)
        error = Object.assign(new Error("nothing written"), { code: "EIO" });
      if (error !== null) {
        this.#writing = null;
        const kept = this.#keepWholeLines(writing.bytes, at);
        const lost = writing.lines - kept + this.#pendingLines;
        this.#pending = [];
        this.#pendingLines = 0;
        this.#fail(error, lost);
        this.#tellIdle();
        return;
      }
      if (written < left) {
        this.#writeFrom(writing, at + written);
        return;
      }
      this.#writing = null;
      this.#length += writing.bytes.length;
      this.#saved += writing.lines;
      if (this.#pending.length === 0) this.#tellIdle();
      else if (this.#idle.length > 0) this.#start();
      else this.#schedule();
    });
  }

  /** Counts the whole lines among the first `written` bytes of a batch that failed as saved; returns how many. */
  #keepWholeLines(bytes: Buffer, written: number): number {
    let lines = 0;
    let end = 0;
    for (let at = bytes.indexOf(LF); at !== -1 && at < written; at = bytes.indexOf(LF, end)) {
      lines++;
      end = at + 1;
    }
    this.#length += end;
    this.#saved += lines;
    return lines;
  }

  #fail(error: unknown, lost: number): void {
    this.#lost += lost;
    this.#error = writeError(this.#path, error) as Error;
    try {
      // The half line goes, so that the file holds whole lines and `saved` of them.
      ftruncateSync(this.#file, this.#length);
    } catch {
      // The reader tolerates a half last line.
    }
    this.#onError(this.#error);
  }

  #tellIdle(): void {
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }
}
