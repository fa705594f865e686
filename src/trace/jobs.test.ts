/** Jobs: parents, order, think times, and every structural fault. Expected values are worked by hand. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolveJobs } from "./jobs.ts";
import { lengthPrompt, newRecorded, newRequest } from "./new-request.ts";
import type { TraceRequest } from "./trace-request.ts";

function row(request_id: string, told: Partial<TraceRequest> = {}, end: number | null = null): TraceRequest {
  return newRequest({
    request_id,
    job_id: "j",
    prompt: lengthPrompt(10),
    ...told,
    ...(end === null ? {} : { recorded: newRecorded({ end_ms: end }) }),
  });
}
function shape(requests: readonly TraceRequest[]): unknown {
  return resolveJobs(requests).map(({ turns }) =>
    turns.map(({ request, parents, think_ms, think_origin }) => [
      request.request_id,
      parents.map((at) => turns[at]?.request.request_id).join(),
      think_ms,
      think_origin,
    ]),
  );
}

describe("resolveJobs", () => {
  it("takes think time from arrival − recorded end of the last parent (case 30: 2 s)", () => {
    expect(
      shape([row("a", { turn: 1, arrival_ms: 0 }, 4000), row("b", { turn: 2, arrival_ms: 6000 })]),
    ).toEqual([
      [
        ["a", "", null, "missing"],
        ["b", "a", 2000, "inferred"],
      ],
    ]);
  });

  it("fork and join by turn: the join waits for both, from the later end; an explicit think_ms wins", () => {
    expect(
      shape([
        row("join", { turn: 5, arrival_ms: 900 }),
        row("l", { turn: 3, arrival_ms: 200 }, 500),
        row("r", { turn: 3, arrival_ms: 250, think_ms: 7 }, 800),
        row("root", { turn: 1, arrival_ms: 0 }, 100),
      ]),
    ).toEqual([
      [
        ["root", "", null, "missing"],
        ["l", "root", 100, "inferred"],
        ["r", "root", 7, "recorded"],
        ["join", "l,r", 100, "inferred"],
      ],
    ]);
  });

  it("orders by arrival without turns or with all 0, ties by the file", () => {
    const rows = (turn: number | null): TraceRequest[] => [
      row("c", { turn, arrival_ms: 5 }),
      row("a", { turn, arrival_ms: 1 }),
      row("b", { turn, arrival_ms: 5 }),
    ];
    for (const turn of [null, 0]) {
      expect(shape(rows(turn))).toEqual([
        [
          ["a", "", null, "missing"],
          ["c", "a", null, "missing"],
          ["b", "c", null, "missing"],
        ],
      ]);
    }
    // All 1 is told: they run in parallel.
    expect(shape(rows(1))).toEqual([
      [
        ["a", "", null, "missing"],
        ["c", "", null, "missing"],
        ["b", "", null, "missing"],
      ],
    ]);
  });

  it("an asynchronous child: nobody waits for it, and its gap counts from its own parent", () => {
    const jobs = resolveJobs([
      row("main1", { after: [], arrival_ms: 0 }, 100),
      row("async", { after: ["main1"], arrival_ms: 130, agent: "sub" }, 5000),
      row("main2", { after: ["main1"], arrival_ms: 150 }, 300),
      row("main3", { after: ["main2"], arrival_ms: 310 }),
    ]);
    expect(jobs.at(0)?.turns.map(({ request, think_ms }) => [request.request_id, think_ms])).toEqual([
      ["main1", null],
      ["async", 30],
      ["main2", 50],
      ["main3", 10],
    ]);
  });

  it("a negative gap becomes 0 and is kept in gap_ms; an unknown end leaves think time unknown", () => {
    const [job] = resolveJobs([
      row("a", { after: [], arrival_ms: 0 }, 100),
      row("b", { after: ["a"], arrival_ms: 60 }),
      row("c", { after: ["a", "b"], arrival_ms: 200 }),
    ]);
    expect(job?.turns.map(({ think_ms, think_origin, gap_ms }) => [think_ms, think_origin, gap_ms])).toEqual([
      [null, "missing", null],
      [0, "inferred", -40],
      [null, "missing", null],
    ]);
  });

  it("orders jobs by first arrival, unknown last, and takes the budget of the first turn that has one", () => {
    const jobs = resolveJobs([
      row("x", { job_id: "none" }),
      row("y", { job_id: "late", arrival_ms: 9, budget_ms: 50 }),
      row("z", { job_id: "early", arrival_ms: 3 }),
    ]);
    expect(jobs.map(({ job_id, budget_ms }) => [job_id, budget_ms])).toEqual([
      ["early", null],
      ["late", 50],
      ["none", null],
    ]);
  });

  it.each([
    ["duplicate id", [row("a"), row("a")], 'request_id "a" occurs twice'],
    ["unknown parent", [row("a", { after: ["zz"] })], 'request "a" of job "j": "after" names "zz"'],
    ["parent of another job", [row("p", { job_id: "k" }), row("a", { after: ["p"] })], '"after" names "p"'],
    ["itself", [row("a", { after: ["a"] })], "a cycle: a waits for a"],
    ["cycle", [row("a", { after: ["b"] }), row("b", { after: ["a"] })], "a cycle: a waits for b waits for a"],
    [
      "turn before its parent",
      [row("a", { turn: 3, after: [] }), row("b", { turn: 1, after: ["a"] })],
      'turn 1 comes before its parent "a" (turn 3)',
    ],
    [
      "arrival before its parent's",
      [row("a", { turn: 1, arrival_ms: 10 }), row("b", { turn: 2, arrival_ms: 9 })],
      'arrives at 9 ms, before its parent "a" (10 ms)',
    ],
    ["zero budget", [row("a", { budget_ms: 0 })], "a budget must be more than 0 ms"],
    ["negative think", [row("a", { after: [], think_ms: -1 })], "think_ms must be ≥ 0"],
  ])("refuses: %s", (_, rows, message) => {
    expect(() => resolveJobs(rows)).toThrow(message);
    expect(() => resolveJobs(rows)).toThrow(expect.objectContaining({ name: "UserError", exitCode: 2 }));
  });

  it("resolves any DAG: parents come first and are the ones named", () => {
    const dag = fc
      .integer({ min: 1, max: 30 })
      .chain((n) =>
        fc.tuple(
          fc.array(fc.array(fc.nat(), { maxLength: 4 }), { minLength: n, maxLength: n }),
          fc.uniqueArray(fc.nat({ max: 10_000 }), { minLength: n, maxLength: n }),
        ),
      );
    fc.assert(
      fc.property(dag, ([links, shuffle]) => {
        const rows = links.map((link, i) =>
          row(`r${i}`, { after: i === 0 ? [] : [...new Set(link.map((p) => `r${p % i}`))] }),
        );
        const mixed = rows
          .map((request, i) => ({ request, key: shuffle[i] as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ request }) => request);
        const [job] = resolveJobs(mixed);
        job?.turns.forEach(({ request, parents }, position) => {
          expect(parents.every((parent) => parent < position)).toBe(true);
          expect(new Set(parents.map((p) => job.turns[p]?.request.request_id))).toEqual(
            new Set(request.after),
          );
        });
        expect(job?.turns.length).toBe(rows.length);
      }),
    );
  });

  it("rows in the order of the file resolve as the same rows in any other (the short way equals the long one)", () => {
    const rows = fc.array(
      fc.record({
        gap: fc.nat({ max: 50 }),
        wait: fc.nat({ max: 80 }),
        job: fc.constantFrom("a", "b"),
        end: fc.boolean(),
      }),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(
        rows,
        fc.boolean(),
        fc.uniqueArray(fc.nat({ max: 10_000 }), { minLength: 12, maxLength: 12 }),
        (told, turns, keys) => {
          let now = 0;
          const requests = told.map(({ gap, wait, job, end }, i) => {
            now += gap + 1;
            return row(
              `r${i}`,
              { job_id: job, turn: turns ? i : null, arrival_ms: now },
              end ? now + wait : null,
            );
          });
          const shuffled = requests
            .map((request, i) => ({ request, key: keys[i] as number }))
            .sort((a, b) => a.key - b.key)
            .map(({ request }) => request);
          expect([...resolveJobs(shuffled)]).toEqual([...resolveJobs(requests)]);
        },
      ),
    );
  });

  it("is linear: a chain of 200 000 turns, and two levels of 5 000", () => {
    const chain = Array.from({ length: 200_000 }, (_, i) =>
      row(`c${i}`, { after: i === 0 ? [] : [`c${i - 1}`] }),
    );
    expect(resolveJobs(chain.toReversed()).at(0)?.turns.at(-1)?.request.request_id).toBe("c199999");
    const wide = Array.from({ length: 10_000 }, (_, i) => row(`w${i}`, { turn: i < 5000 ? 1 : 2 }));
    expect(resolveJobs(wide).at(0)?.turns.at(-1)?.parents.length).toBe(5000);
  });
});
