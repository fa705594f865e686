/**
 * Room for descriptors, made ahead. Linux doubles a process's table when it is full (at 256, 512, 1024, ...), and a process
 * with several threads sleeps in the kernel for some 10 ms while it does. In the middle of a run that delays sends; before
 * it, it costs nothing. The table never shrinks again.
 */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";

/** Beyond this the opening itself would take too long (a few µs each). */
const MOST = 8192;

/** Makes room for `count` descriptors more, as far as the limits of the process allow. */
export function reserveDescriptors(count: number): void {
  if (process.platform !== "linux") return;
  const held: number[] = [];
  try {
    while (held.length < Math.min(count, MOST)) held.push(openSync(devNull, "r"));
  } catch {
    // The limit of open files: nobody will open more than that.
  }
  for (const file of held) closeSync(file);
}
