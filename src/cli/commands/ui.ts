/** `reprise ui [DIR]` */
import { EXIT, UserError } from "../../core/failure.ts";
import { integer, option, text, toggle } from "../../run/options/option.ts";
import { startUiServer } from "../../ui/server.ts";
import { verb } from "../verb.ts";

const G = "Options";

export const ui = verb({
  name: "ui",
  summary: "local web page: runs, the run under way, comparison, job by job",
  positionals: [
    {
      name: "DIR",
      help: "folder that holds the runs, at any depth up to four (default: this one)",
      required: false,
    },
  ],
  options: {
    port: option(integer({ min: 0, max: 65535 }), G, "port on 127.0.0.1; 0 = any that is free", {
      defaultText: "7878",
    }),
    run: option(text("<id>"), G, "print the address of this run's live view: its path below DIR"),
    until_input_ends: option(
      toggle(),
      G,
      "stop when standard input is closed, for programs that start this one",
    ),
  },
  examples: ["reprise ui", "reprise ui runs --port 0"],
  async run(given, [folder = ".", ...more], io) {
    if (more.length > 0) throw new UserError(`ui takes one folder: "${more[0]}" is one too many`);
    const server = await startUiServer({ folder, port: given.port ?? 7878, wall: () => io.clock.wall() });
    await io.out(`${given.run === undefined ? server.url : server.liveUrl(given.run)}\n`);
    io.err("Ctrl-C stops it.\n");
    await new Promise<void>((resolve) => {
      const unregister = io.onInterrupt(() => {
        unregister();
        resolve();
      });
      if (given.until_input_ends !== true) return;
      process.stdin.once("end", () => resolve()).once("error", () => resolve());
      process.stdin.resume();
    });
    process.stdin.destroy();
    await server.close();
    return EXIT.good;
  },
});
