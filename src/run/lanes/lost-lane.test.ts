/** What is left of a lane whose thread dies in the middle of a run. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { DONE, R, U } from "../../../test/stub/events.ts";
import { type StubStep, startStub } from "../../../test/stub/stub-server.ts";
import { chunk, head, LAST_CHUNK } from "../../../test/stub/wire.ts";
import { RealClock } from "../../core/real-clock.ts";
import { planTrace } from "../../plan/plan-trace.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { resolveJobs } from "../../trace/jobs.ts";
import { newRequest } from "../../trace/new-request.ts";
import type { EndedRequest } from "../ended-request.ts";
import { openHttpTarget } from "../http-target.ts";
import type { Load } from "../load.ts";
import { laneEntry } from "./lane-entry.ts";
import { startLaneLoad } from "./lane-load.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-lost-lane-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const promptOf = (body: string): string => (JSON.parse(body) as { prompt: string }).prompt;

/** One token at once, the end after `ms`. */
function lasting(ms: number): StubStep[] {
  return [
    { at: 0, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("a"))]) },
    { at: ms, bytes: Buffer.concat([chunk(U(1) + DONE), Buffer.from(LAST_CHUNK)]) },
  ];
}

describe("a lane that dies", () => {
  it("loses nothing that has finished; the rest is told as it is, and the other lanes go on", async () => {
    const stub = await startStub(({ body }) =>
      lasting(promptOf(body) === "cut" ? 30_000 : promptOf(body) === "long" ? 1500 : 0),
    );
    const at = (id: string, job: string, arrival_ms: number) =>
      newRequest({
        request_id: id,
        job_id: job,
        arrival_ms,
        prompt: { kind: "text", text: id },
        max_tokens: 4,
      });
    const plan = planTrace(
      resolveJobs([
        at("done", "victim", 0),
        at("cut", "victim", 50),
        at("due", "victim", 900),
        at("later", "victim", 60_000),
        at("long", "other", 0),
      ]),
      { pacing: "recorded" },
    );
    const target = await openHttpTarget({
      given: { base_url: stub.url, model: "m" },
      env: {},
      clock: new RealClock(),
      defaultBackend: "openai",
      defaultHost: "localhost",
    });
    // The victim's thread throws once its first answer has been handed over and its second request is in flight.
    const entry = join(folder, "dying-lane.mjs");
    writeFileSync(
      entry,
      `import { workerData } from "node:worker_threads";
       const { plan, shared } = workerData;
       if (plan.jobs[0].job_id === "victim") setInterval(() => {
         if (shared.state[0] === 2 && shared.state[1] === 1) throw new Error("out of luck");
       }, 5);
       await import(${JSON.stringify((await laneEntry()).href)});`,
    );
    const records: RequestRecord[] = [];
    const ended: EndedRequest[] = [];
    const facts = {
      model: "m",
      prompts: target.prompts,
      params: null,
      stream: true,
      temperature: 0,
      keepText: false,
      keepChunks: true,
      requestIdHeader: null,
    };
    if (target.spec === null) throw new Error("no spec");
    const load: Load = startLaneLoad(
      {
        plan,
        target,
        history: "recorded",
        keepChunks: true,
        saveText: false,
        stop: { duration_ms: 5000 },
        lanes: 2,
        spec: { client: target.spec, tools: null, facts, warmups: [], keepInput: false },
        entry: pathToFileURL(entry),
      },
      {
        onStart: () => undefined,
        onRecord: (record) => void records.push(record),
        onLines: (lines, batch) => {
          ended.push(...batch);
          for (const line of lines.trimEnd().split("\n")) records.push(JSON.parse(line) as RequestRecord);
        },
      },
    );
    const result = await load.done;
    await target.close();
    await stub.close();
    const byId = new Map(records.map((record) => [record.request_id, record]));
    expect(Object.fromEntries([...byId].map(([id, { status }]) => [id, status]))).toEqual({
      done: "ok",
      cut: "cancelled",
      long: "ok",
    });
    expect(ended).toHaveLength(2);
    expect(byId.get("cut")).toMatchObject({
      job_id: "victim",
      intended_ms: 50,
      slot_ms: null,
      failure: { code: "aborted", message: "the lane that sent it was lost" },
    });
    expect(byId.get("cut")?.sent_ms).toBeGreaterThanOrEqual(50);
    expect(result).toMatchObject({ not_sent: 2, overdue: 1, interrupted: false });
    expect(result.degraded).toHaveLength(1);
    expect(result.degraded[0]).toMatch(
      /lane 1 of 2 was lost after .* \(out of luck\): 2 requests were not sent/,
    );
    expect(result.lanes?.map(({ lost }) => lost)).toEqual(["out of luck", null]);
    expect(load.counts).toMatchObject({ planned: 5, sent: 3, in_flight: 0, ok: 2, cancelled: 1 });
  });
});
