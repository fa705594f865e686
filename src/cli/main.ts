#!/usr/bin/env node
/** The command line's entry: finds the verb, parses its options, runs it, and turns what went wrong into an exit code. */
import { RealClock } from "../core/real-clock.ts";
import { EXIT, UserError } from "../core/failure.ts";
import { nearestHint } from "../core/nearest.ts";
import { secrets } from "../core/secret.ts";
import { plainText } from "../core/terminal-text.ts";
import { VERSION } from "../core/version.ts";
import { VERBS } from "./commands/index.ts";
import { parseArguments } from "./parse-arguments.ts";
import { processIo } from "./process-io.ts";

async function main(argv: readonly string[]): Promise<number> {
  const io = processIo(new RealClock());
  const [name, ...rest] = argv;
  if (name === undefined || name === "--help" || name === "-h" || (name === "help" && rest.length === 0)) {
    await io.out(overview());
    return name === undefined ? EXIT.usage : EXIT.good;
  }
  if (name === "--version" || name === "-V" || name === "version") {
    await io.out(`reprise ${VERSION}\n`);
    return EXIT.good;
  }
  const wanted = name === "help" ? (rest[0] as string) : name;
  const entry = VERBS.find((candidate) => candidate.name === wanted);
  if (entry === undefined)
    throw new UserError(`unknown command ${plainText(wanted)}`, {
      hint:
        nearestHint(
          wanted,
          VERBS.map((verb) => verb.name),
        ) ?? "reprise --help lists the commands",
    });
  const verb = await entry.load();
  const parsed = parseArguments(verb, name === "help" ? ["--help"] : rest, io.columns);
  if (parsed.kind === "help") {
    await io.out(parsed.text);
    return EXIT.good;
  }
  for (const line of parsed.value.ignored) io.err(`note: ${line}\n`);
  return verb.run(parsed.value.given, parsed.value.words, io);
}

function overview(): string {
  const width = Math.max(...VERBS.map((verb) => verb.name.length));
  const list = VERBS.map((verb) => `  ${verb.name.padEnd(width)}  ${verb.summary}`).join("\n");
  return `Reprise ${VERSION}: replays the traffic of real agents against any LLM server and tells which configuration
finishes the agents' jobs on time.

Usage: reprise COMMAND [options]

${list}

reprise COMMAND --help shows a command's options. Start with: reprise demo
`;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    if (error instanceof UserError) {
      const text = `reprise: ${error.message}${error.hint === null ? "" : ` (${error.hint})`}`;
      // It may hold file names, or what a server said.
      const lines = secrets.redact(text).split("\n").map(plainText);
      process.stderr.write(`${lines.join("\n")}\n`);
      process.exitCode = error.exitCode;
      return;
    }
    // A bug: loud, with its stack, never mistaken for a result.
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(
      secrets.redact(`reprise ${VERSION} failed, and this is a bug in Reprise:\n${text}\n`),
    );
    process.exitCode = 70;
  },
);
