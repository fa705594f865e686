/** Lanes through the built command line: the worker's bundle is found, and an interrupt reaches every lane. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { DONE, FIN, R } from "../stub/events.ts";
import { startStub } from "../stub/stub-server.ts";
import { cli, readJsonLines, scratch, traceFile } from "./run-cli.ts";

it("an interrupt stops both lanes; everything that was sent has a record", async () => {
  const cwd = scratch();
  const stub = await startStub(() => [
    { bytes: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" },
    { at: 50, bytes: R("A") + FIN("stop") + DONE, end: "fin" },
  ]);
  const rows = Array.from({ length: 400 }, (_, i) => ({
    request_id: `r${i}`,
    job_id: `j${i}`,
    arrival_ms: i * 50,
    prompt: "hi",
    max_tokens: 4,
  }));
  let sent = false;
  const words = ["replay", traceFile(rows), "--base-url", stub.url, "--model", "m", "--lanes", "2", "--json"];
  const run = await cli(words, {
    cwd,
    onStderr: (text, kill) => {
      if (sent || !text.includes("run folder")) return;
      sent = true;
      setTimeout(() => kill("SIGINT"), 1000);
    },
  });
  await stub.close();
  expect(run.code).toBe(130);
  const { counts, ...summary } = JSON.parse(run.stdout) as { counts: Record<string, number> };
  expect(summary).toMatchObject({ run: { interrupted: true }, validity: { verdict: "degraded" } });
  expect(counts["ok"]).toBeGreaterThan(3);
  expect(counts["not_sent"]).toBeGreaterThan(100);
  expect(counts["planned"]).toBe(400);
  expect((counts["sent"] ?? 0) + (counts["not_sent"] ?? 0)).toBe(400);
  const [name] = readdirSync(join(cwd, "runs"));
  const folder = join(cwd, "runs", name as string);
  expect(readJsonLines(join(folder, "records.jsonl"))).toHaveLength(counts["sent"] as number);
  const { end } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as {
    end: { lanes: { lost: string | null }[] };
  };
  expect(end.lanes.map(({ lost }) => lost)).toEqual([null, null]);
});
