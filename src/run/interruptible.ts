import { EXIT, UserError } from "../core/failure.ts";
import type { RunEnvironment } from "./run-environment.ts";

/**
 * What comes before a run (ready checks, warm-ups, preloading) and may be interrupted: then nothing was measured, which is a
 * {@link UserError} with the exit code of an interrupt. The signal tells the work that nobody waits for it any more.
 */
export function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { onInterrupt }: Pick<RunEnvironment, "onInterrupt">,
): Promise<T> {
  const abort = new AbortController();
  return new Promise((resolve, reject) => {
    const unregister = onInterrupt(() => {
      unregister();
      abort.abort();
      reject(
        new UserError("interrupted before the run began", {
          hint: "nothing was measured",
          exitCode: EXIT.interrupted,
        }),
      );
    });
    work(abort.signal).then(resolve, reject).finally(unregister);
  });
}
