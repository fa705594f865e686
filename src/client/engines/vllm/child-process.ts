/**
 * A child process that speaks lines: ours on its stdin, its own on descriptor 3. What it prints is kept only at the tail, for the
 * day it dies. It has a process group of its own, which is stopped by TERM, then KILL; the child watches its stdin, so that it ends
 * even if this process is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { type Clock, sleep } from "../../../core/clock.ts";
import { EXIT, UserError } from "../../../core/failure.ts";
import { secrets } from "../../../core/secret.ts";
import { plainText } from "../../../core/terminal-text.ts";
import type { Ms } from "../../../core/units.ts";

const TAIL_CHARS = 32_768;
const POLL_MS = 20;
/** Its last lines may still be on their way when the process itself has ended. */
const DRAIN_MS = 500;
const KILL_WAIT_MS = 5_000;

export interface LineChildOptions {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Between TERM and KILL. */
  readonly graceMs: Ms;
  /** One line came, read at `at`. */
  onLine(line: string, at: Ms): void;
  /** It ended, by itself or by `stop`; all its lines have come. `how`: `exit code 1`, `signal SIGKILL`. */
  onEnd(how: string): void;
}

const living = new Set<LineChild>();
let guarded = false;

export class LineChild {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #options: LineChildOptions;
  readonly #stdin: Writable;
  #tail = "";
  #rest = "";
  #blocked = false;
  /** Lines that wait until the child reads again. */
  #waiting: { readonly line: string; readonly sent: ((at: Ms) => void) | null }[] = [];
  #ended: string | null = null;
  #stopping: Promise<void> | null = null;

  private constructor(child: ChildProcess, options: LineChildOptions) {
    this.pid = child.pid as number;
    this.#child = child;
    this.#options = options;
    this.#stdin = child.stdio[0] as Writable;
    const lines = child.stdio[3] as Readable;
    lines.setEncoding("utf8");
    lines.on("data", (text: string) => this.#read(text));
    const closed = new Promise<void>((resolve) => lines.once("close", resolve));
    const noise = (text: string): void => {
      this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
    };
    for (const stream of [child.stdio[1], child.stdio[2]] as Readable[])
      stream.setEncoding("utf8").on("data", noise);
    // A child that is gone breaks the pipe; its end is told by `exit`.
    this.#stdin.on("error", () => undefined);
    this.#stdin.on("drain", () => this.#drain());
    child.once("exit", (code, signal) => {
      const how = signal === null ? `exit code ${code ?? "unknown"}` : `signal ${signal}`;
      void Promise.race([closed, sleep(options.clock, DRAIN_MS)]).then(() => this.#end(how));
    });
    living.add(this);
    guardExit();
  }

  /** A program that is not there or may not be run is a `UserError` (exit 3). */
  static async start(options: LineChildOptions, hint: string): Promise<LineChild> {
    const [program = "", ...args] = options.argv;
    const child = spawn(program, args, {
      env: options.env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error: NodeJS.ErrnoException) => {
        const reason = error.code === "ENOENT" ? "no such program" : error.message;
        reject(
          new UserError(`cannot start ${plainText(program)}: ${reason}`, {
            hint,
            exitCode: EXIT.unreachable,
            cause: error,
          }),
        );
      });
    });
    return new LineChild(child, options);
  }

  /** How it ended; `null` while it runs. */
  get ended(): string | null {
    return this.#ended;
  }

  /**
   * Hands a line to the child, in order. `sent` is told the instant at which the pipe took it: inside this call, or later where
   * the child has stopped reading.
   */
  write(line: string, sent: ((at: Ms) => void) | null = null): void {
    if (this.#ended !== null || this.#stopping !== null) return;
    if (this.#blocked) this.#waiting.push({ line, sent });
    else this.#put(line, sent);
  }

  /** Takes back a line that is not sent yet; `false` if it is gone. */
  takeBack(line: string): boolean {
    const at = this.#waiting.findIndex((waiting) => waiting.line === line);
    if (at === -1) return false;
    this.#waiting.splice(at, 1);
    return true;
  }

  /** The last lines that it printed, redacted and made harmless. */
  lastLines(count: number): string[] {
    return secrets
      .redact(this.#tail)
      .split(/\r?\n|\r/)
      .filter((line) => line.trim() !== "")
      .slice(-count)
      .map((line) => plainText(line));
  }

  /** Ends it and its process group. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Without waiting: for the end of this process. */
  kill(): void {
    signalGroup(this.pid, "SIGKILL");
  }

  #put(line: string, sent: ((at: Ms) => void) | null): void {
    const at = this.#options.clock.now();
    this.#blocked = !this.#stdin.write(`${line}\n`);
    sent?.(at);
  }

  #drain(): void {
    this.#blocked = false;
    while (!this.#blocked) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#put(next.line, next.sent);
    }
  }

  #read(text: string): void {
    const at = this.#options.clock.now();
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") this.#options.onLine(line, at);
    this.#options.clock.poll(this.#options.clock.now());
  }

  #end(how: string): void {
    if (this.#ended !== null) return;
    this.#ended = how;
    this.#waiting = [];
    this.#options.onEnd(how);
  }

  async #stop(): Promise<void> {
    const { clock, graceMs } = this.#options;
    this.#stdin.end();
    const gone = async (limit: Ms): Promise<boolean> => {
      const deadline = clock.now() + limit;
      while (groupLives(this.pid)) {
        if (clock.now() >= deadline) return false;
        await sleep(clock, POLL_MS);
      }
      return true;
    };
    signalGroup(this.pid, "SIGTERM");
    if (!(await gone(graceMs))) {
      signalGroup(this.pid, "SIGKILL");
      await gone(KILL_WAIT_MS);
    }
    for (const stream of this.#child.stdio) stream?.destroy();
    this.#child.unref();
    living.delete(this);
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nothing of it is left.
  }
}

function groupLives(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function guardExit(): void {
  if (guarded) return;
  guarded = true;
  process.once("exit", () => {
    for (const child of living) child.kill();
  });
}
