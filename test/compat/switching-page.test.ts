/** The commands of docs/switching.md run as they stand there, against a stub. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { bench } from "../../src/cli/commands/bench.ts";
import { replay } from "../../src/cli/commands/replay.ts";
import { report } from "../../src/cli/commands/report.ts";
import { benchOptions } from "../../src/run/options/bench-options.ts";
import { flagOf } from "../../src/run/options/option.ts";
import { startStub } from "../stub/stub-server.ts";
import { answer, folder, removeFolder } from "../support/compat-stub.ts";
import { runCommand } from "../support/run-command.ts";

const page = readFileSync(new URL("../../docs/switching.md", import.meta.url), "utf8");
const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
  block.trim().split("\n"),
);
const VERBS = { bench, replay, report };

const home = process.cwd();
afterAll(() => {
  process.chdir(home);
  removeFolder();
});

describe("docs/switching.md", () => {
  it("its commands run", async () => {
    expect(commands.length).toBeGreaterThan(8);
    const work = join(folder, "work");
    mkdirSync(work);
    process.chdir(work);
    const long = "What is the capital of France, and why is it there and nowhere else?";
    writeFileSync("chats.jsonl", `${JSON.stringify({ messages: [{ role: "user", content: "hi" }] })}\n`);
    writeFileSync("hyper.yaml", "top_p: 0.8\n");
    writeFileSync(
      "sharegpt.json",
      JSON.stringify([
        {
          conversations: [
            { from: "human", value: long },
            { from: "gpt", value: long },
          ],
        },
      ]),
    );
    writeFileSync(
      "trace.jsonl",
      `${JSON.stringify({ timestamp: 0, queries: [{ prompt_length: 8, response_length: 3 }] })}\n`,
    );
    const stub = await startStub(answer);
    try {
      for (const command of commands) {
        const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(
          ([, quoted, plain]) => quoted ?? plain ?? "",
        );
        const [program, verb = "", ...argv] = words;
        expect(program).toBe("reprise");
        const here = argv.map((word) =>
          word === "8000" ? String(stub.port) : word.replace("http://localhost:8000", stub.url),
        );
        const { code, err } = await runCommand(VERBS[verb as keyof typeof VERBS], here);
        expect(code, `${command}\n${err}`).toBe(0);
      }
    } finally {
      await stub.close();
    }
  });

  it("names every flag that is read and ignored", () => {
    const ignored = Object.entries(benchOptions).filter(
      ([, option]) => "harmless" in option && option.harmless !== undefined,
    );
    expect(ignored.length).toBeGreaterThan(5);
    for (const [key] of ignored) expect(page).toContain(`\`${flagOf(key)}\``);
  });
});
