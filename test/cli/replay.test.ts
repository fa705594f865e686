/** Whole runs through the command line: on the simulated engine, and on a raw stub. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DONE, FIN, R, U } from "../stub/events.ts";
import { startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";
import { allText, cli, readJsonLines, scratch, traceFile } from "./run-cli.ts";

const turn = (id: string, job: string, more: object): object => ({
  request_id: id,
  job_id: job,
  prompt_tokens: 100,
  expected_output_tokens: 10,
  max_tokens: 10,
  ...more,
});

function runFolder(cwd: string): string {
  const [name, ...more] = readdirSync(join(cwd, "runs"));
  expect(more).toEqual([]);
  return join(cwd, "runs", name as string);
}

describe("replay on the simulated engine", () => {
  it("says which flags of a command line only a server has a use for", async () => {
    const words = [
      "replay",
      traceFile([turn("a", "a", { arrival_ms: 0 })]),
      "--backend",
      "sim",
      "--virtual-time",
    ];
    const told = await cli([...words, "--header", "a=b", "--insecure", "--extra-body", "{}"], {
      cwd: scratch(),
    });
    expect(told.code).toBe(0);
    expect(told.stderr).toContain(
      "note: --header, --insecure, --extra-body: the simulated engine in this process has no use for it",
    );
    expect((await cli(words, { cwd: scratch() })).stderr).not.toContain("no use for it");
  });

  it("--json prints the summary and only it; report gives the same from the log", async () => {
    const cwd = scratch();
    const trace = traceFile([
      turn("a1", "a", { turn: 0, arrival_ms: 0 }),
      turn("a2", "a", { turn: 1, arrival_ms: 500, think_ms: 250 }),
      turn("b1", "b", { turn: 0, arrival_ms: 100 }),
    ]);
    const run = await cli(["replay", trace, "--backend", "sim", "--virtual-time", "--json"], { cwd });
    expect(run.code).toBe(0);
    const summary = JSON.parse(run.stdout) as Record<string, unknown>;
    expect(summary).toMatchObject({
      reprise_summary: 1,
      run: { pacing: "jobs", simulated: true, interrupted: false },
      counts: { planned: 3, sent: 3, ok: 3, failed: 0, not_sent: 0 },
      jobs: { counts: { total: 2, ok: 2 } },
      validity: { verdict: "valid" },
      fidelity: { prompt_tokens: { bias_tokens: 0 }, output_tokens: { bias_tokens: 0 } },
    });
    const folder = runFolder(cwd);
    expect(JSON.parse(readFileSync(join(folder, "summary.json"), "utf8"))).toEqual(summary);
    const again = await cli(["report", folder, "--format", "json"], { cwd });
    expect(JSON.parse(again.stdout)).toEqual(summary);
    // The second turn: think time after the first one's end, to the microsecond.
    const records = new Map(
      readJsonLines(join(folder, "records.jsonl")).map((record) => [record["request_id"], record]),
    );
    const [first, second] = [records.get("a1"), records.get("a2")];
    expect(second?.["intended_ms"]).toBeCloseTo((first?.["end_ms"] as number) + 250, 3);
  });

  it("two runs in one second, a model called org/name:tag: two folders", async () => {
    const cwd = scratch();
    const trace = traceFile([turn("a1", "a", { arrival_ms: 0 })]);
    const words = [
      "replay",
      trace,
      "--backend",
      "sim",
      "--virtual-time",
      "--model",
      "org/name:tag",
      "-q",
      "--json",
    ];
    const runs = await Promise.all([cli(words, { cwd }), cli(words, { cwd })]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0]);
    expect(readdirSync(join(cwd, "runs"))).toHaveLength(2);
  });

  it("--out never overwrites", async () => {
    const cwd = scratch();
    const trace = traceFile([turn("a1", "a", { arrival_ms: 0 })]);
    const words = ["replay", trace, "--backend", "sim", "--virtual-time", "--out", "here", "--json"];
    expect((await cli(words, { cwd })).code).toBe(0);
    const second = await cli(words, { cwd });
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(/exists and is not empty/);
  });

  it("an objective that is missed: exit 1", async () => {
    const trace = traceFile([turn("a1", "a", { arrival_ms: 0 })]);
    const run = await cli([
      "replay",
      trace,
      "--backend",
      "sim",
      "--virtual-time",
      "--slo",
      "p50(e2e) <= 0.001ms",
      "--json",
    ]);
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stdout)).toMatchObject({ objectives: [{ met: false }] });
  });

  it("options from a YAML file; a flag wins", async () => {
    const cwd = scratch();
    const trace = traceFile([turn("a1", "a", { arrival_ms: 0 }), turn("b1", "b", { arrival_ms: 1000 })]);
    const config = join(cwd, "reprise.yaml");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(config, "backend: sim\nvirtual_time: true\nspeed: 2\nmax_requests: 1\n");
    const run = await cli(["replay", trace, "--config", config, "--max-requests", "2", "--json"], { cwd });
    expect(run.code).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ counts: { planned: 2 }, fidelity: { speed: 2 } });
    writeFileSync(config, "backend: sim\nspede: 2\n");
    const bad = await cli(["replay", trace, "--config", config], { cwd });
    expect(bad.code).toBe(2);
    expect(bad.stderr).toMatch(/unknown key "spede" \(did you mean speed\?\)/);
  });

  it("one YAML file serves replay, bench and sweep: what is of the others is named and left alone", async () => {
    const cwd = scratch();
    const trace = traceFile([turn("a1", "a", { arrival_ms: 0 })]);
    const config = join(cwd, "reprise.yaml");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(
      config,
      "backend: sim\nvirtual_time: true\nrequest_rate: 5\nsave_result: true\ngrid: {max_num_seqs: [1]}\nengine: {type: sim}\n",
    );
    const run = await cli(["replay", trace, "--config", config, "--json"], { cwd });
    expect(run.code).toBe(0);
    expect(run.stderr).toMatch(/not of this command, and not used: request_rate/);
    writeFileSync(
      config,
      `trace: ${trace}\nvirtual_time: true\nsave_result: true\ngrid: {max_num_seqs: [1]}\nengine: {type: sim}\n`,
    );
    const swept = await cli(["sweep", config, "--out", join(cwd, "s")], { cwd });
    expect(swept.code).toBe(0);
    expect(swept.stderr).toMatch(/a sweep writes no result files.*save_result not used/);
    const refused = await cli(["sweep", config, "--save-result"], { cwd });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/unknown option --save-result/);
  });

  it("a trace from standard input", async () => {
    const input = `${JSON.stringify(turn("a1", "a", { arrival_ms: 0 }))}\n`;
    const run = await cli(["replay", "-", "--backend", "sim", "--virtual-time", "--json"], { input });
    expect(run.code).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ counts: { ok: 1 } });
  });
});

describe("case 19: a 503 twice then 200, no retries asked", () => {
  it("is one request, failed", async () => {
    const ok = response([R("A") + FIN("stop") + U(1) + DONE]);
    const busy = response(["busy"], "length", { status: "503 Service Unavailable", type: "text/plain" });
    const stub = await startStub((_request, index) => [{ bytes: index < 2 ? busy : ok }]);
    const trace = traceFile([{ request_id: "a", job_id: "j", arrival_ms: 0, prompt: "hi", max_tokens: 4 }]);
    const run = await cli(["replay", trace, "--base-url", stub.url, "--model", "m", "--json"]);
    await stub.close();
    expect(stub.requests).toHaveLength(1);
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stdout)).toMatchObject({
      counts: { sent: 1, ok: 0, failed: 1 },
      failures: { http_5xx: 1 },
      requests: { ttft: { n: 0, mean: null, p99: null } },
    });
  });
});

describe("case 21: 256 failures", () => {
  it("do not read as success", async () => {
    const busy = response(["busy"], "length", { status: "500 Broken", type: "text/plain" });
    const stub = await startStub(() => [{ bytes: busy }]);
    const rows = Array.from({ length: 256 }, (_, i) => ({
      request_id: `r${i}`,
      job_id: `j${i}`,
      arrival_ms: i,
      prompt: "hi",
      max_tokens: 4,
    }));
    const run = await cli(["replay", traceFile(rows), "--base-url", stub.url, "--model", "m", "--json"]);
    await stub.close();
    expect(JSON.parse(run.stdout)).toMatchObject({ counts: { failed: 256 } });
    expect(run.code).toBe(1);
  });
});

describe("case 34: interrupt", () => {
  it("keeps everything that has ended, and says that it was interrupted", async () => {
    const cwd = scratch();
    const stub = await startStub(() => [
      { bytes: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" },
      { at: 100, bytes: R("A") + FIN("stop") + DONE, end: "fin" },
    ]);
    const rows = Array.from({ length: 100 }, (_, i) => ({
      request_id: `r${i}`,
      job_id: `j${i}`,
      arrival_ms: i * 100,
      prompt: "hi",
      max_tokens: 4,
    }));
    let sent = false;
    const run = await cli(["replay", traceFile(rows), "--base-url", stub.url, "--model", "m", "--json"], {
      cwd,
      onStderr: (text, kill) => {
        if (sent || !text.includes("run folder")) return;
        sent = true;
        setTimeout(() => kill("SIGINT"), 1500);
      },
    });
    await stub.close();
    expect(run.code).toBe(130);
    const summary = JSON.parse(run.stdout) as { counts: Record<string, number> };
    expect(summary).toMatchObject({ run: { interrupted: true }, validity: { verdict: "degraded" } });
    const { counts } = summary;
    expect(counts["ok"]).toBeGreaterThan(3);
    expect(counts["not_sent"]).toBeGreaterThan(50);
    expect(counts["planned"]).toBe(
      (counts["sent"] ?? 0) + (counts["skipped"] ?? 0) + (counts["not_sent"] ?? 0),
    );
    expect(readJsonLines(join(runFolder(cwd), "records.jsonl"))).toHaveLength(counts["sent"] as number);
  });
});

describe("case 35: the API key", () => {
  const CANARY = "sk-CANARY-0123456789";
  const refuse = (key: string): Buffer =>
    response([JSON.stringify({ error: { message: `bad key ${key}` } })], "length", {
      status: "401 Unauthorized",
      type: "application/json",
    });

  it.each<[string, (url: string, file: string) => { words: string[]; env?: Record<string, string> }, RegExp]>(
    [
      [
        "by environment",
        (url) => ({ words: ["--base-url", url], env: { OPENAI_API_KEY: CANARY } }),
        /^Bearer sk-CANARY/,
      ],
      [
        "by file",
        (url, file) => ({ words: ["--base-url", url, "--api-key-file", file] }),
        /^Bearer sk-CANARY/,
      ],
      [
        "by header",
        (url) => ({ words: ["--base-url", url, "--header", `Authorization=Bearer ${CANARY}`] }),
        /^Bearer sk-CANARY/,
      ],
      [
        "in the URL",
        (url) => ({ words: ["--base-url", url.replace("http://", `http://user:${CANARY}@`)] }),
        /^Basic /,
      ],
    ],
  )("%s reaches the server and nothing else", async (_name, make, header) => {
    const cwd = scratch();
    const file = join(scratch(), "key.txt");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(file, `${CANARY}\n`);
    const stub = await startStub((request) => [
      { bytes: refuse(`${request.headers["authorization"]} ${CANARY}`) },
    ]);
    const trace = traceFile([{ request_id: "a", job_id: "j", arrival_ms: 0, prompt: "hi", max_tokens: 4 }]);
    const { words, env } = make(stub.url, file);
    const run = await cli(["replay", trace, "--model", "m", ...words], {
      cwd,
      ...(env === undefined ? {} : { env }),
    });
    await stub.close();
    expect(stub.requests[0]?.headers["authorization"]).toMatch(header);
    const written = `${allText(cwd)}${run.stdout}${run.stderr}`;
    expect(written).toContain("[redacted]");
    expect(written).not.toContain("CANARY");
    expect(written).not.toContain(Buffer.from(`user:${CANARY}`).toString("base64"));
  });
});
