/** CPU time of the calling thread, and the time it was ready to run and other processes had the core (Linux). */
import { readFileSync } from "node:fs";
import type { Ms } from "./units.ts";

export interface ThreadCpu {
  readonly used_ms: Ms;
  /** Waited for a core. */
  readonly waited_ms: Ms;
}

/** `null` where the system does not tell. Since the thread's start; differences mean something. */
export function threadCpu(): ThreadCpu | null {
  try {
    // Synchronous file calls run on the calling thread, so `thread-self` is it.
    return parseSchedstat(readFileSync("/proc/thread-self/schedstat", "latin1"));
  } catch {
    return null;
  }
}

/** `<ns on a core> <ns waiting for one> <timeslices>` (proc_pid_schedstat). */
export function parseSchedstat(text: string): ThreadCpu | null {
  const match = /^(\d+) (\d+) \d+/.exec(text);
  return match === null ? null : { used_ms: Number(match[1]) / 1e6, waited_ms: Number(match[2]) / 1e6 };
}
