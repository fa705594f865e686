/** The process's own streams and signals, behind {@link Io}. */
import type { Clock } from "../core/clock.ts";
import { secrets } from "../core/secret.ts";
import type { Io } from "./verb.ts";

export function processIo(clock: Clock): Io {
  // `reprise ... | head` closes our stdout: that is the reader's right, not an error of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  process.stderr.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  const outIsTty = process.stdout.isTTY === true;
  const errIsTty = process.stderr.isTTY === true;
  return {
    clock,
    env: process.env,
    out: (text) =>
      new Promise((resolve) => {
        process.stdout.write(secrets.redact(text), () => resolve());
      }),
    err: (text) => {
      process.stderr.write(secrets.redact(text));
    },
    outIsTty,
    errIsTty,
    columns: process.stdout.columns ?? 100,
    colour: outIsTty && !("NO_COLOR" in process.env) && process.env["TERM"] !== "dumb",
    onInterrupt(handler) {
      let count = 0;
      const listener = (): void => handler(++count);
      process.on("SIGINT", listener);
      process.on("SIGTERM", listener);
      return () => {
        process.off("SIGINT", listener);
        process.off("SIGTERM", listener);
      };
    },
  };
}
