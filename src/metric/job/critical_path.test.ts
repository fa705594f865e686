/** The critical path: the causes of a job's time. Values worked by hand, and by property. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyse, server, turn } from "../../../test/support/analyse-records.ts";
import { record } from "../../../test/support/run-samples.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { CAUSES } from "./causes.ts";
import { criticalPath } from "./critical_path.ts";

describe("critical path", () => {
  it("adds the causes of a fork-join up to the job's time", async () => {
    // a, then b and c in parallel, then d when both are done.
    const rows = [
      turn("a", [100, 110, 150, 200, 205], { slot_ms: 104, connect_ms: 5, ...server(30) }),
      turn("b", [1205, 1205, 1300, 1400, 1400], { after: ["a"], think_ms: 1000 }),
      turn("c", [1205, 1206, 1250, 1800, 1810], { after: ["a"], think_ms: 1000, ...server(44) }),
      turn("d", [1860, 1860, 2000, 2100, 2100], { after: ["b", "c"], think_ms: 50, ...server(null, 100) }),
    ];
    const { summary, jobs } = await analyse(rows);
    expect(criticalPath(jobs.view(0))).toEqual([
      { row: 0, tool_ms: 0 },
      { row: 2, tool_ms: 1000 },
      { row: 3, tool_ms: 50 },
    ]);
    expect(summary.jobs.breakdown_ms).toEqual({
      tool: 1050,
      client: 1 + 1,
      slot: 4,
      connect: 5,
      engine_queue: 40 - 30 + 0 + 100,
      prefill: 30 + 44 + 40,
      decode: 50 + 550 + 100,
      tail: 5 + 10,
      unsplit: 0,
    });
    expect(summary.jobs.job_e2e.mean).toBe(2000);
    expect(summary.jobs.job_answer.mean).toBe(1900);
    expect(summary.jobs.job_first_token.mean).toBe(50);
    expect(summary.jobs.queueing.mean).toBe(10 + 0 + 1 + 0);
    expect(summary.jobs.engine_split).toEqual({
      basis: "server",
      server: 3,
      estimated: 0,
      sources: ["sim"],
      estimated_from: null,
    });
    expect(summary.jobs.dominated_by).toEqual({ tool: 1 });
  });

  it("takes the latest turn that ended in time as predecessor of one released by time", async () => {
    const rows = [
      turn("a", [0, 0, 10, 20, 20]),
      turn("b", [0, 0, 10, 90, 90]),
      turn("c", [100, 100, 110, 120, 120]),
      // Still running when d is due: not its predecessor.
      turn("e", [50, 50, 60, 160, 160]),
      turn("d", [150, 155, 160, 300, 300]),
    ];
    const { jobs, summary } = await analyse(rows);
    expect(criticalPath(jobs.view(0))).toEqual([
      { row: 1, tool_ms: 0 },
      { row: 2, tool_ms: 10 },
      { row: 4, tool_ms: 30 },
    ]);
    expect(summary.jobs.breakdown_ms.tool).toBe(40);
    expect(summary.jobs.breakdown_ms.client).toBe(5);
  });

  it("counts a late root's gap to the job's start as tool time", async () => {
    const rows = [turn("a", [0, 0, 10, 500, 500]), turn("b", [400, 400, 410, 900, 900])];
    const { jobs } = await analyse(rows);
    expect(criticalPath(jobs.view(0))).toEqual([{ row: 1, tool_ms: 400 }]);
  });

  it("puts a turn without a first token into unsplit", async () => {
    const rows = [record({ job_id: "j", intended_ms: 0, sent_ms: 3, end_ms: 803 })];
    const { summary } = await analyse(rows);
    expect(summary.jobs.breakdown_ms).toMatchObject({ unsplit: 800, client: 3, prefill: 0, decode: 0 });
    expect(summary.jobs.engine_split.basis).toBeNull();
    expect(summary.jobs.job_first_token.n).toBe(0);
  });

  it("survives parents that are unknown, or wait for each other", async () => {
    const rows = [
      turn("a", [0, 0, 10, 20, 20], { after: ["b"] }),
      turn("b", [20, 20, 30, 40, 40], { after: ["a", "nobody", "b"] }),
    ];
    const { summary } = await analyse(rows);
    const total = Object.values(summary.jobs.breakdown_ms).reduce((sum: number, ms) => sum + (ms ?? 0), 0);
    expect(total).toBe(40);
  });

  it("property: the causes of any DAG add up to job_e2e, job by job and in the mean", async () => {
    const part = fc.double({ min: 0, max: 5000, noNaN: true });
    const node = fc.record({
      parents: fc.array(fc.nat(), { maxLength: 3 }),
      parts: fc.array(part, { minLength: 7, maxLength: 7 }),
      kind: fc.constantFrom("tokens", "plain", "server"),
      timed: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(node, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
        async (all) => {
          const rows: RequestRecord[] = [];
          for (const [j, nodes] of all.entries()) {
            const own: RequestRecord[] = [];
            for (const [i, { parents, parts, kind, timed }] of nodes.entries()) {
              const [think, slot, late, connect, ttft, decode, tail] = parts as [
                number,
                number,
                number,
                number,
                number,
                number,
                number,
              ];
              const before =
                i === 0 || timed ? [] : [...new Set(parents.map((p) => own[p % i] as RequestRecord))];
              const intended_ms =
                before.length === 0 ? think : Math.max(...before.map((p) => p.end_ms as number)) + think;
              const sent_ms = intended_ms + slot + late + connect;
              const tokens = kind !== "plain";
              own.push(
                record({
                  request_id: `${j}.${i}`,
                  job_id: `job${j}`,
                  intended_ms,
                  slot_ms: slot > 0 ? intended_ms + slot : null,
                  sent_ms,
                  connect_ms: connect,
                  first_token_ms: tokens ? sent_ms + ttft : null,
                  last_token_ms: tokens ? sent_ms + ttft + decode : null,
                  end_ms: sent_ms + ttft + decode + tail,
                  prompt_tokens: Math.round(think),
                  after: before.map((p) => p.request_id),
                  ...(kind === "server" ? server(late) : {}),
                }),
              );
            }
            rows.push(...own);
          }
          const { summary, jobs } = await analyse(rows);
          for (let job = 0; job < jobs.n; job++) {
            const { breakdown_ms, metrics } = jobs.row(job);
            const sum = CAUSES.reduce((total, cause) => total + (breakdown_ms?.[cause] ?? NaN), 0);
            expect(sum).toBeCloseTo(metrics.job_e2e as number, 6);
            for (const cause of CAUSES) expect(breakdown_ms?.[cause]).toBeGreaterThanOrEqual(-1e-6);
          }
          const mean = CAUSES.reduce((total, cause) => total + (summary.jobs.breakdown_ms[cause] ?? NaN), 0);
          expect(mean).toBeCloseTo(summary.jobs.job_e2e.mean as number, 6);
          const dominated = Object.values(summary.jobs.dominated_by).reduce((sum, n) => sum + n, 0);
          expect(dominated).toBe(all.length);
        },
      ),
      { numRuns: 200 },
    );
  });
});
