/**
 * One launched server. It gets its own process group, and its output goes straight into a log file: a noisy server costs
 * the load generator nothing, and can never block on a full pipe. It is stopped by TERM, then KILL, of everything
 * that belongs to it, however this process ends: `stop()`, `process.exit`, and, through a watchdog that waits on a pipe
 * from us, even a crash or a KILL of our own.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, mkdirSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import { sleep, type Clock } from "../core/clock.ts";
import { EXIT, UserError } from "../core/failure.ts";
import { secrets } from "../core/secret.ts";
import { plainText } from "../core/terminal-text.ts";
import type { Ms } from "../core/units.ts";
import { redactLog } from "./redact-log.ts";
import { MARK, serverProcesses, signalServer } from "./process-group.ts";

/** Between TERM and KILL. */
export const DEFAULT_GRACE_MS = 10_000;
const POLL_MS = 50;
/** After KILL, the kernel needs a moment (GPU memory, big address spaces). */
const KILL_WAIT_MS = 5_000;
const TAIL_BYTES = 32_768;

export interface ServerProcessOptions {
  readonly argv: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly log_file: string;
  readonly grace_ms?: Ms;
  readonly clock: Clock;
}

export interface ServerExit {
  /** Exit status; `null` if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const living = new Set<ServerProcess>();

export class ServerProcess {
  readonly pid: number;
  readonly log_file: string;
  readonly mark: string;
  /** Settles when the launched process itself ends; its children may live on. */
  readonly exited: Promise<ServerExit>;
  #exit: ServerExit | null = null;
  #stopping: Promise<void> | null = null;
  readonly #watchdog: ChildProcess;
  readonly #clock: Clock;
  readonly #graceMs: Ms;

  private constructor(child: ChildProcess, mark: string, options: ServerProcessOptions) {
    this.pid = child.pid as number;
    this.mark = mark;
    this.log_file = options.log_file;
    this.#clock = options.clock;
    this.#graceMs = options.grace_ms ?? DEFAULT_GRACE_MS;
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#exit = { code, signal };
        resolve(this.#exit);
      });
    });
    this.#watchdog = startWatchdog(this.pid, mark, this.#graceMs);
    child.unref();
    living.add(this);
    guardExit();
  }

  /** Starts the command. A program that is not there or may not be run is a `UserError`. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const [program, ...args] = options.argv;
    if (program === undefined) throw new UserError("the server's command is empty");
    mkdirSync(dirname(options.log_file), { recursive: true });
    const log = openSync(options.log_file, "a");
    const mark = randomUUID();
    try {
      const child = spawn(program, args, {
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        env: { ...process.env, ...options.env, [MARK]: mark },
        detached: true,
        stdio: ["ignore", log, log],
      });
      await new Promise<void>((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", (error: NodeJS.ErrnoException) => {
          reject(
            new UserError(
              `cannot start ${program}: ${error.code === "ENOENT" ? "no such program" : error.message}`,
              {
                hint: "is it installed, and on the PATH? engine.command sets another program",
                exitCode: EXIT.unreachable,
                cause: error,
              },
            ),
          );
        });
      });
      return new ServerProcess(child, mark, options);
    } finally {
      closeSync(log);
    }
  }

  /** How it ended; `null` while it runs. */
  get exit(): ServerExit | null {
    return this.#exit;
  }

  /** Does anything of it still run? */
  alive(): boolean {
    return this.#exit === null || serverProcesses(this.pid, this.mark).length > 0;
  }

  owns(pid: number): boolean {
    return serverProcesses(this.pid, this.mark).includes(pid);
  }

  /** The last lines of its log, redacted and made harmless. */
  lastLines(count = 20): string[] {
    return readTail(this.log_file)
      .split("\n")
      .map((line) => plainText(secrets.redact(line.replace(/\r$/, ""))))
      .filter((line) => line !== "")
      .slice(-count);
  }

  /** TERM, then KILL after the grace, of everything that belongs to it. Safe to call twice, and after it ended. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    signalServer(this.pid, this.mark, "SIGTERM");
    if (!(await this.#gone(this.#graceMs))) {
      signalServer(this.pid, this.mark, "SIGKILL");
      if (!(await this.#gone(KILL_WAIT_MS))) {
        throw new Error(
          `server ${this.pid} outlived SIGKILL: ${serverProcesses(this.pid, this.mark).join(", ")} still run`,
        );
      }
    }
    living.delete(this);
    this.#watchdog.stdin?.end("done\n");
    // A server may echo the key it was given.
    redactLog(this.log_file);
  }

  async #gone(within: Ms): Promise<boolean> {
    const deadline = this.#clock.now() + within;
    for (;;) {
      const rest = serverProcesses(this.pid, this.mark);
      if (rest.length === 0) return true;
      if (this.#clock.now() >= deadline) return false;
      await sleep(this.#clock, POLL_MS);
    }
  }

  /** For the last moment of this process: no waiting, no mercy. */
  killNow(): void {
    signalServer(this.pid, this.mark, "SIGKILL");
  }
}

/** Stops every server that this process started. For signal handlers. */
export async function stopAllServers(): Promise<void> {
  await Promise.allSettled([...living].map((server) => server.stop()));
}

/** Kills at once what is still there. For a second interrupt. */
export function killAllServers(): void {
  for (const server of living) server.killNow();
}

let guarded = false;
function guardExit(): void {
  if (guarded) return;
  guarded = true;
  process.once("exit", killAllServers);
}

/** TERM, then KILL after `$2` tenths of a second, of group `$1` and of whoever carries the mark `$3` outside it. */
const WATCHDOG = `
read -r word; [ "$word" = done ] && exit 0
group=$1 polls=$2 mark=$3
strays() { grep -lsF "$mark" /proc/[0-9]*/environ 2>/dev/null | tr -cd '0-9\n'; }
send() { kill -"$1" -"$group" 2>/dev/null; for pid in $(strays); do kill -"$1" "$pid" 2>/dev/null; done; }
send TERM
while [ "$polls" -gt 0 ]; do
  kill -0 -"$group" 2>/dev/null || [ -n "$(strays)" ] || exit 0
  sleep 0.1; polls=$((polls-1))
done
send KILL`;

/**
 * A shell in a session of its own that waits for a line from us. "done" ends it; the end of the pipe without that
 * (we are gone) makes it end the server. Its own environment does not hold the mark.
 */
function startWatchdog(group: number, mark: string, graceMs: Ms): ChildProcess {
  const watchdog = spawn(
    "/bin/sh",
    ["-c", WATCHDOG, "reprise-watchdog", String(group), String(Math.ceil(graceMs / 100)), `${MARK}=${mark}`],
    { detached: true, stdio: ["pipe", "ignore", "ignore"] },
  );
  watchdog.on("error", () => undefined);
  watchdog.stdin?.on("error", () => undefined);
  watchdog.unref();
  // The pipe must not keep this process alive, only its end must be seen.
  (watchdog.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  return watchdog;
}

function readTail(file: string): string {
  const handle = openSync(file, "r");
  try {
    const size = fstatSync(handle).size;
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(handle, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8");
  } finally {
    closeSync(handle);
  }
}
