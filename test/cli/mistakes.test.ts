/** A user's mistake is one line with a hint and exit code 2 (3 for a target that is not there), no stack, nothing sent. */
import { writeFileSync } from "node:fs";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";
import { DONE, FIN, R } from "../stub/events.ts";
import { cli, scratch, traceFile } from "./run-cli.ts";

const ROWS = [
  { request_id: "a", job_id: "j", arrival_ms: 0, prompt: "hi", max_tokens: 4 },
  { request_id: "b", job_id: "k", arrival_ms: 10, prompt: "ho", max_tokens: 4 },
];

describe("mistakes of the command line", () => {
  it.each<[string, string[], RegExp]>([
    ["an unknown command", ["reply"], /unknown command reply \(did you mean replay\?\)/],
    [
      "an unknown flag, with the nearest one",
      ["replay", "t.jsonl", "--sped", "2"],
      /unknown option --sped \(did you mean --speed\?\)/,
    ],
    ["no trace", ["replay"], /TRACE is missing/],
    ["a missing file", ["replay", "nowhere.jsonl"], /nowhere\.jsonl: no such file/],
    ["speed 0", ["replay", "TRACE", "--speed", "0"], /--speed: 0 is out of range/],
    ["speed -1", ["replay", "TRACE", "--speed", "-1"], /--speed: -1 is out of range/],
    ["a pacing that is none", ["replay", "TRACE", "--pacing", "closd"], /did you mean closed/],
    [
      "a value that is no number",
      ["replay", "TRACE", "--max-concurrency", "many"],
      /"many" is not a whole number/,
    ],
    ["a value that is missing", ["replay", "TRACE", "--speed"], /--speed: a value is missing/],
    ["an unknown goodput metric", ["replay", "TRACE", "--goodput", "ttfts:200"], /did you mean ttft/],
    ["an objective that cannot be read", ["replay", "TRACE", "--slo", "p99(ttft) < "], /--slo/],
    [
      "two addresses",
      ["replay", "TRACE", "--base-url", "http://h:1", "--port", "2"],
      /contradict each other/,
    ],
    ["virtual time on a real server", ["replay", "TRACE", "--virtual-time"], /--backend sim/],
    [
      "an unknown setting of the engine",
      ["replay", "TRACE", "--backend", "sim", "--sim", "max_num_seq=2"],
      /did you mean max_num_seqs/,
    ],
    ["a switch with a value", ["replay", "TRACE", "--save-result=true"], /--save-result takes no value/],
    [
      "a distribution that is none",
      ["generate", "--tool-ms", "normal(3)"],
      /normal takes mean, sigma \(write a number, p50=/,
    ],
    ["an unknown backend", ["replay", "TRACE", "--backend", "opnai"], /did you mean openai/],
    ["metadata without a key", ["replay", "TRACE", "--metadata", "tp"], /is not KEY=VALUE/],
    [
      "warm-up as long as the run",
      ["replay", "TRACE", "--duration", "5s", "--warmup", "5s"],
      /leaves nothing/,
    ],
    ["a body that is no JSON", ["replay", "TRACE", "--extra-body", "{"], /--extra-body: not JSON/],
    [
      "an arrival rate and a speed",
      ["replay", "TRACE", "--arrival-rate", "1", "--speed", "2"],
      /contradict each other/,
    ],
    [
      "a key variable that is not set",
      ["replay", "TRACE", "--api-key-env", "NO_SUCH_KEY"],
      /NO_SUCH_KEY is not set/,
    ],
    ["a run folder that is none", ["report", "/"], /not a run folder/],
    [
      "an unknown report format",
      ["report", "/", "--format", "jsn"],
      /unknown report format "jsn" \(did you mean json\?\)/,
    ],
  ])("%s", async (_name, words, message) => {
    const trace = traceFile(ROWS);
    const folder = scratch();
    const result = await cli(
      words.map((word) => (word === "TRACE" ? trace : word)),
      { cwd: folder },
    );
    const last = result.stderr.trimEnd().split("\n").at(-1) ?? "";
    expect(last).toMatch(message);
    expect(result.code).toBe(2);
    expect(result.stdout).toBe("");
    expect(result.stderr).not.toMatch(/\n\s+at /);
    expect(existsSync(join(folder, "runs"))).toBe(false);
  });

  it("a bad row: file:line, reason, exit 2", async () => {
    const path = join(scratch(), "bad.jsonl");
    writeFileSync(path, `${JSON.stringify(ROWS[0])}\n{"request_id":"b",}\n`);
    const result = await cli(["replay", path, "--backend", "sim"]);
    expect(result.stderr).toMatch(/bad\.jsonl:2: /);
    expect(result.code).toBe(2);
  });

  it("an empty trace", async () => {
    const path = join(scratch(), "empty.jsonl");
    writeFileSync(path, "");
    const result = await cli(["inspect", path]);
    expect(result.code).toBe(2);
    expect(result.stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});

describe("a target that is not there", () => {
  it("exit 3, one line, no run folder", async () => {
    const folder = scratch();
    const result = await cli(
      ["replay", traceFile(ROWS), "--base-url", "http://127.0.0.1:9", "--model", "m"],
      { cwd: folder },
    );
    expect(result.code).toBe(3);
    expect(result.stderr).toMatch(/cannot reach http:\/\/127\.0\.0\.1:9: .*ECONNREFUSED/);
    expect(existsSync(join(folder, "runs"))).toBe(false);
  });

  it.each([401, 403, 404])(
    "a server that refuses with %i: nothing is sent after that is known",
    async (status) => {
      const stub = await startStub(() => [
        {
          at: 5,
          bytes: response(['{"error":{"message":"no"}}'], "length", {
            status: `${status} No`,
            type: "application/json",
          }),
        },
      ]);
      const rows = Array.from({ length: 50 }, (_, i) => ({
        ...ROWS[0],
        request_id: `r${i}`,
        job_id: `j${i}`,
        arrival_ms: 300 * i,
      }));
      const result = await cli(["replay", traceFile(rows), "--base-url", stub.url, "--model", "m", "--json"]);
      await stub.close();
      expect(result.code).toBe(3);
      expect(stub.requests.length).toBe(1);
      expect(JSON.parse(result.stdout)).toMatchObject({
        counts: { planned: 50, sent: 1, failed: 1, not_sent: 49 },
      });
      expect(result.stderr).toMatch(new RegExp(`refused the first request \\(${status}\\)`));
    },
  );

  it("a 404 among ok answers is just a failure", async () => {
    const ok = response([R("A") + FIN("stop") + DONE]);
    const bad = response(['{"error":"gone"}'], "length", {
      status: "404 Not Found",
      type: "application/json",
    });
    const stub = await startStub((_request, index) => [{ bytes: index === 1 ? bad : ok }]);
    const rows = [0, 1, 2].map((i) => ({
      ...ROWS[0],
      request_id: `r${i}`,
      job_id: `j${i}`,
      arrival_ms: 100 * i,
    }));
    const result = await cli(["replay", traceFile(rows), "--base-url", stub.url, "--model", "m", "--json"]);
    await stub.close();
    expect(JSON.parse(result.stdout)).toMatchObject({ counts: { sent: 3, ok: 2, failed: 1 } });
    expect(result.code).toBe(1);
  });
});
