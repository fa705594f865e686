/** Whole runs in lanes against a raw stub: the same numbers, limits, text and endings as from one thread. */
import { mkdtempSync, rmSync, writeFileSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { chunk, head, LAST_CHUNK, response } from "../../../test/stub/wire.ts";
import {
  type StubScript,
  type StubServer,
  type StubStep,
  startStub,
} from "../../../test/stub/stub-server.ts";
import { DONE, R, U } from "../../../test/stub/events.ts";
import { recordsOf, runCommand, summaryOf } from "../../../test/support/run-command.ts";
import { bench } from "../../cli/commands/bench.ts";
import { replay } from "../../cli/commands/replay.ts";
import { RealClock } from "../../core/real-clock.ts";
import type { RunEnd } from "../../record/manifest.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { runReplay } from "../replay.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-lanes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

const row = (request_id: string, job_id: string, arrival_ms: number, more: object = {}): object => ({
  request_id,
  job_id,
  arrival_ms,
  prompt: request_id,
  max_tokens: 4,
  ...more,
});

function traceFile(rows: readonly object[]): string {
  const path = join(folder, `trace${files++}.jsonl`);
  writeFileSync(path, rows.map((one) => `${JSON.stringify(one)}\n`).join(""));
  return path;
}

/** One token at once, the end after `ms`. */
function lasting(ms: number): StubStep[] {
  return [
    { at: 0, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("a"))]) },
    { at: ms, bytes: Buffer.concat([chunk(U(1) + DONE), Buffer.from(LAST_CHUNK)]) },
  ];
}

interface LaneRun {
  readonly code: number;
  readonly err: string;
  readonly summary: ReturnType<typeof summaryOf>;
  readonly records: ReadonlyMap<string, RequestRecord>;
  readonly end: RunEnd;
  readonly t0WallMs: number;
  readonly log: string;
  readonly stub: StubServer;
}

async function run(rows: readonly object[], script: StubScript, flags: readonly string[]): Promise<LaneRun> {
  const stub = await startStub(script);
  const out = join(folder, `run${files++}`);
  try {
    const argv = [
      traceFile(rows),
      "--base-url",
      stub.url,
      "--model",
      "m",
      "--backend",
      "openai",
      "--out",
      out,
    ];
    const result = await runCommand(replay, [...argv, "--json", ...flags]);
    const manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as {
      end: RunEnd;
      t0_wall_ms: number;
    };
    return {
      code: result.code,
      err: result.err,
      summary: summaryOf(result.out),
      records: recordsOf(out),
      end: manifest.end,
      t0WallMs: manifest.t0_wall_ms,
      log: readFileSync(join(out, "records.jsonl"), "utf8"),
      stub,
    };
  } finally {
    await stub.close();
  }
}

const promptOf = (body: string): string => (JSON.parse(body) as { prompt: string }).prompt;

describe("--lanes", () => {
  it("puts the records of all lanes on the run's one t0", async () => {
    const rows = Array.from({ length: 24 }, (_, i) => row(`r${i}`, `j${i}`, 10 * i));
    const { records, summary, stub, t0WallMs, end } = await run(rows, () => lasting(5), ["--lanes", "3"]);
    expect(summary.counts).toMatchObject({ planned: 24, sent: 24, ok: 24, not_sent: 0 });
    expect(end.lanes?.map(({ requests, lost }) => [requests, lost])).toEqual([
      [8, null],
      [8, null],
      [8, null],
    ]);
    // Cause and effect between this thread's clock and each lane's: nothing comes before it was sent, nothing is
    // seen before it was written. A thread's own clock begins when the thread does, tens of milliseconds later.
    const t0 = t0WallMs - performance.timeOrigin;
    for (const request of stub.requests) {
      const record = records.get(promptOf(request.body));
      expect(t0 + (record?.sent_ms as number)).toBeLessThan(request.at + 0.1);
      expect(t0 + (record?.first_token_ms as number)).toBeGreaterThan((request.writes[0] as number) - 0.1);
      expect(t0 + (record?.end_ms as number)).toBeGreaterThan((request.writes[1] as number) - 0.1);
    }
  });

  it("keeps a job's turns in order, its live history and its text", async () => {
    const rows = ["a", "b", "c", "d"].flatMap((job) => [
      row(`${job}1`, job, 0, {
        turn: 0,
        messages: [{ role: "user", content: `${job}1` }],
        prompt: undefined,
      }),
      row(`${job}2`, job, 10, {
        turn: 1,
        think_ms: 5,
        prompt: undefined,
        messages: [
          { role: "user", content: `${job}1` },
          { role: "assistant", content: "recorded" },
          { role: "user", content: `${job}2` },
        ],
      }),
    ]);
    const chat = (text: string): StubStep[] => [
      {
        bytes: response([
          `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(text)}}}]}\n\n`,
          `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
          U(1) + DONE,
        ]),
      },
    ];
    const bodies: string[] = [];
    const result = await run(
      rows,
      ({ body }) => {
        bodies.push(body);
        return chat(
          `live-${(JSON.parse(body) as { messages: { content: string }[] }).messages.at(-1)?.content}`,
        );
      },
      ["--lanes", "2", "--backend", "openai-chat", "--history", "live", "--save-text"],
    );
    expect(result.summary.counts).toMatchObject({ planned: 8, ok: 8 });
    for (const job of ["a", "b", "c", "d"]) {
      expect(result.records.get(`${job}1`)?.text).toBe(`live-${job}1`);
      const second = result.records.get(`${job}2`);
      expect(second?.after).toEqual([`${job}1`]);
      expect(second?.intended_ms).toBeCloseTo((result.records.get(`${job}1`)?.end_ms as number) + 5, 2);
      const sent = bodies.find((body) => body.includes(`"${job}2"`)) ?? "";
      expect(sent).toContain(`live-${job}1`);
      expect(sent).not.toContain("recorded");
    }
  });

  it("makes the same prompts in lanes as without", async () => {
    const rows = Array.from({ length: 12 }, (_, i) => ({
      request_id: `r${i}`,
      job_id: `j${i % 6}`,
      turn: i < 6 ? 0 : 1,
      arrival_ms: i,
      prompt_tokens: 40,
      hash_ids: [1, 2 + (i % 2)],
      block_tokens: 16,
      max_tokens: 4,
    }));
    const prompts = async (lanes: string): Promise<string[]> => {
      const { stub, summary } = await run(rows, () => lasting(0), ["--lanes", lanes, "--prompt-seed", "7"]);
      expect(summary.counts.ok).toBe(12);
      return stub.requests
        .filter(({ path }) => path.endsWith("/completions"))
        .map(({ body }) => promptOf(body));
    };
    const alone = (await prompts("1")).sort();
    expect(new Set(alone).size).toBe(12);
    expect((await prompts("3")).sort()).toEqual(alone);
  });

  it("shares a cap out, and never exceeds it", async () => {
    let open = 0;
    let peak = 0;
    const rows = Array.from({ length: 30 }, (_, i) => row(`r${i}`, `j${i}`, 0));
    const { summary, err } = await run(rows, () => {
      peak = Math.max(peak, ++open);
      setTimeout(() => open--, 9);
      return lasting(10);
    }, ["--lanes", "2", "--max-concurrency", "5"]);
    expect(summary.counts.ok).toBe(30);
    expect(peak).toBeLessThanOrEqual(5);
    expect(summary.throughput.peak_concurrency).toBeLessThanOrEqual(5);
    expect(err).toMatch(/the cap of 5 is shared out among the lanes/);
  });

  it("takes fewer lanes where a cap or the jobs allow no more, and says so", async () => {
    const rows = Array.from({ length: 4 }, (_, i) => row(`r${i}`, `j${i}`, 0));
    const capped = await run(rows, () => lasting(0), ["--lanes", "4", "--max-concurrency", "2"]);
    expect(capped.err).toMatch(/2 lanes of load instead of 4: concurrency is capped at 2/);
    expect(capped.end.lanes).toHaveLength(2);
    const single = await run([row("r", "j", 0)], () => lasting(0), ["--lanes", "4"]);
    expect(single.err).toMatch(/1 lane of load instead of 4: the plan has 1 job/);
    expect(single.end.lanes).toBeUndefined();
  });

  it("runs closed jobs, calibration, warm-ups and retries", async () => {
    const rows = Array.from({ length: 6 }, (_, i) => ({
      request_id: `r${i}`,
      job_id: `j${i}`,
      turn: 0,
      arrival_ms: i,
      prompt_tokens: 20,
      max_tokens: 2,
    }));
    let answered = 0;
    const { summary, records } = await run(
      rows,
      ({ path }) => {
        if (!path.endsWith("/completions"))
          return [{ bytes: response(["no"], "length", { status: "404 No" }) }];
        // After two warm-ups and the six requests of the calibration: the third of the run itself.
        if (answered++ === 10)
          return [{ bytes: response(["busy"], "length", { status: "503 Busy", type: "text/plain" }) }];
        return lasting(2);
      },
      [
        "--lanes",
        "2",
        "--pacing",
        "closed",
        "--max-concurrency",
        "2",
        "--calibrate",
        "--num-warmups",
        "2",
      ].concat(["--retries", "3"]),
    );
    expect(summary.counts).toMatchObject({ planned: 6, ok: 6, failed: 0 });
    expect(summary.fidelity).toMatchObject({ warmup_duplicates: 0 });
    expect(Math.max(...[...records.values()].map(({ attempts }) => attempts))).toBe(2);
  });

  it("stops all lanes at a refusal that all requests will meet", async () => {
    const rows = Array.from({ length: 200 }, (_, i) => row(`r${i}`, `j${i}`, 20 * i));
    const { code, summary } = await run(
      rows,
      () => [{ bytes: response(['{"error":"who are you"}'], "length", { status: "401 No" }) }],
      ["--lanes", "2"],
    );
    expect(code).toBe(3);
    expect(summary.counts.sent).toBeLessThan(150);
    expect(summary.counts.planned).toBe(200);
    expect(summary.counts.sent + summary.counts.skipped + summary.counts.not_sent).toBe(200);
  });

  it("writes no secret from a lane", async () => {
    process.env["LANES_TEST_KEY"] = "sk-lanes-very-secret";
    const { log } = await run(
      [row("r0", "j0", 0), row("r1", "j1", 0)],
      ({ headers }) => [
        {
          bytes: response([`bad ${headers["x-token"]}`], "length", { status: "500 No", type: "text/plain" }),
        },
      ],
      ["--lanes", "2", "--header", "x-token=tok-lanes-very-secret"],
    );
    expect(log).toContain("bad [redacted]");
    expect(log).not.toContain("very-secret");
  });

  it("is refused with an engine in this process", async () => {
    const argv = [traceFile([row("r", "j", 0)]), "--backend", "sim", "--lanes", "2"];
    const result = await runCommand(replay, argv);
    expect(result.code).toBe(2);
    expect(result.err).toMatch(/--lanes: the simulated engine runs in this process/);
  });

  it("drains at the first interrupt: what is in flight may end, the rest is not sent", async () => {
    const stub = await startStub(() => lasting(300));
    const rows = Array.from({ length: 8 }, (_, i) => row(`r${i}`, `j${i}`, i < 4 ? 0 : 60_000));
    const out = join(folder, `run${files++}`);
    let interrupt: (count: number) => void = () => undefined;
    const finished = await runReplay(
      {
        given: { base_url: stub.url, model: "m", backend: "openai", out, lanes: 2 },
        tracePath: traceFile(rows),
        command: "replay",
      },
      {
        clock: new RealClock(),
        env: {},
        warn: () => undefined,
        onStart: ({ counts }) => {
          const poll = setInterval(() => {
            if (counts.in_flight < 4) return;
            clearInterval(poll);
            interrupt(1);
          }, 5);
        },
        onInterrupt: (handler) => {
          interrupt = handler;
          return () => undefined;
        },
      },
    );
    await stub.close();
    expect(finished.interrupted).toBe(true);
    const statuses = [...recordsOf(out).values()].map(({ status }) => status);
    expect(statuses).toEqual(["ok", "ok", "ok", "ok"]);
    const manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as { end: RunEnd };
    expect(manifest.end).toMatchObject({ interrupted: true, not_sent: 4, overdue: 0 });
  });
});

describe("bench --lanes", () => {
  it("sends ids and keeps inputs as without lanes", async () => {
    const stub = await startStub(() => lasting(1));
    const out = join(folder, `run${files++}`);
    const results = join(folder, `r${files++}`);
    const line = `--dataset-name random --num-prompts 6 --random-input-len 8 --random-output-len 1 --model m
      --backend openai --ready-check-timeout-sec 0 --lanes 2 --save-detailed --save-result --json
      --base-url ${stub.url} --result-dir ${results} --out ${out}`;
    const result = await runCommand(bench, line.split(/\s+/));
    await stub.close();
    expect(result.code).toBe(0);
    const records = [...recordsOf(out).values()];
    const sent = stub.requests.filter(({ path }) => path.endsWith("/completions"));
    const byId = new Map(sent.map(({ headers, body }) => [headers["x-request-id"], promptOf(body)]));
    expect(records).toHaveLength(6);
    for (const record of records) {
      expect(record.input_text).toBe(byId.get(record.request_id));
      expect(record.input_text).not.toBe(undefined);
    }
    const manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as { end: RunEnd };
    expect(manifest.end.lanes).toHaveLength(2);
  });
});
