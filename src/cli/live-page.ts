/** `--ui`: the live page of a run, served by a process of its own, so that looking costs the load generator nothing. */
import { spawn } from "node:child_process";
import { basename, dirname, resolve } from "node:path";
import type { Io } from "./verb.ts";

export interface LivePage {
  /** On a terminal the page stays until Ctrl-C; elsewhere it goes with the run. */
  end(): Promise<void>;
}

/** Starts serving the run's folder; its address is told on stderr, and opened in a browser where a person sits at a terminal. */
export function openLivePage(folder: string, io: Io): LivePage {
  const run = resolve(folder);
  const child = spawn(
    process.execPath,
    [
      ...process.execArgv,
      process.argv[1] as string,
      "ui",
      dirname(run),
      "--port",
      "0",
      "--run",
      basename(run),
      "--until-input-ends",
    ],
    // A group of its own: Ctrl-C is for the run, which then ends the page.
    { stdio: ["pipe", "pipe", "ignore"], detached: true },
  );
  child.on("error", (error) => io.err(`the live page cannot be shown: ${error.message}\n`));
  child.stdin.on("error", () => undefined);
  let told = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const before = told.includes("\n");
    told += text;
    if (before || !told.includes("\n")) return;
    const url = told.split("\n")[0] as string;
    io.err(`live page: ${url}\n`);
    if (io.errIsTty) openBrowser(url, io);
  });
  const gone = new Promise<void>((resolveGone) =>
    child.once("close", () => resolveGone()).once("error", () => resolveGone()),
  );
  return {
    async end() {
      if (io.errIsTty && child.exitCode === null) {
        io.err("the page stays open: Ctrl-C ends it\n");
        await new Promise<void>((done) => {
          const unregister = io.onInterrupt(() => {
            unregister();
            done();
          });
          void gone.then(() => done());
        });
      }
      child.stdin.end();
      await gone;
    },
  };
}

/** Best effort: the address was told in any case. */
function openBrowser(url: string, io: Io): void {
  if (
    process.platform !== "darwin" &&
    process.platform !== "win32" &&
    io.env["DISPLAY"] === undefined &&
    io.env["WAYLAND_DISPLAY"] === undefined
  )
    return;
  const [command, args] =
    process.platform === "darwin"
      ? ["open", [url]]
      : process.platform === "win32"
        ? ["explorer", [url]]
        : ["xdg-open", [url]];
  const opener = spawn(command as string, args as string[], { stdio: "ignore", detached: true });
  opener.on("error", () => undefined);
  opener.unref();
}
