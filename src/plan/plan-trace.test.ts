import { describe, expect, it } from "vitest";
import { row } from "../../test/support/trace-row.ts";
import { UserError } from "../core/failure.ts";
import { resolveJobs } from "../trace/jobs.ts";
import type { Recorded, TraceRequest } from "../trace/trace-request.ts";
import type { PlanOptions } from "./plan-options.ts";
import type { Plan } from "./plan.ts";
import { planTrace } from "./plan-trace.ts";
import { optimalOf } from "./planned-requests.ts";

const plan = (rows: readonly TraceRequest[], options: Partial<PlanOptions> = {}): Plan =>
  planTrace(resolveJobs(rows), options);
const offsets = (p: Plan) => p.requests.map((r) => (r.release.kind === "at" ? r.release.offset_ms : null));
const singles = (...arrivals: (number | null)[]) =>
  arrivals.map((arrival_ms, i) => row(`r${i}`, `r${i}`, { arrival_ms }));
const recorded = (told: Partial<Recorded>): Recorded => ({
  sent_ms: null,
  first_token_ms: null,
  end_ms: null,
  prompt_tokens: null,
  output_tokens: null,
  cached_tokens: null,
  ...told,
});
/** Two jobs: A turns at 0, 500, 900; B at 100, 1100; recorded ends 50 ms after each arrival. */
const twoJobs = [
  ["A", 0, 0],
  ["A", 1, 500],
  ["A", 2, 900],
  ["B", 0, 100],
  ["B", 1, 1100],
].map(([job, turn, at]) =>
  row(`${job}${turn}`, job as string, {
    turn: turn as number,
    arrival_ms: at as number,
    recorded: recorded({ end_ms: (at as number) + 50 }),
  }),
);

describe("pacing", () => {
  it("recorded: every request at its time, in time order, the first at 0", () => {
    const p = plan(
      twoJobs.map((r) => ({
        ...r,
        arrival_ms: (r.arrival_ms as number) + 1_700_000_000_000.25,
        recorded: null,
      })),
      { pacing: "recorded" },
    );
    expect(p.requests.map((r) => r.request_id)).toEqual(["A0", "B0", "A1", "A2", "B1"]);
    expect(offsets(p)).toEqual([0, 100, 500, 900, 1100]);
    expect(p.jobs.map((job) => job.requests)).toEqual([
      [0, 2, 3],
      [1, 4],
    ]);
    expect(p.span_ms).toBe(1100);
    expect(p.notes).toContain("arrivals are calendar times; the first one is offset 0");
  });

  it("jobs: starts by time, later turns after their parents and the think time", () => {
    const p = plan(twoJobs, { pacing: "jobs" });
    expect(p.requests.map((r) => [r.request_id, r.release])).toEqual([
      ["A0", { kind: "at", offset_ms: 0 }],
      ["A1", { kind: "after", parents: [0], think_ms: 450 }],
      ["A2", { kind: "after", parents: [1], think_ms: 350 }],
      ["B0", { kind: "at", offset_ms: 100 }],
      ["B1", { kind: "after", parents: [3], think_ms: 950 }],
    ]);
    expect(p.jobs.map((job) => job.recorded_ms)).toEqual([950, 1050]);
  });

  it("closed: N jobs at a time, in the order of their starts", () => {
    const p = plan(twoJobs.toReversed(), { pacing: "closed", max_concurrency: 3 });
    expect(p.jobs.map((job) => job.job_id)).toEqual(["A", "B"]);
    expect(p.requests.map((r) => r.release.kind)).toEqual(["slot", "after", "after", "slot", "after"]);
    expect([p.max_concurrency, p.max_concurrent_jobs, p.span_ms]).toEqual([null, 3, null]);
  });

  it("auto takes jobs, recorded or closed by what the trace tells, and says so", () => {
    const pacing = (rows: TraceRequest[], options: Partial<PlanOptions> = {}) => {
      const p = plan(rows, options);
      return [p.pacing, p.notes.some((note) => note.startsWith(`pacing ${p.pacing}: `))];
    };
    const untold = twoJobs.map((r) => ({ ...r, recorded: null }));
    expect(pacing(twoJobs)).toEqual(["jobs", true]);
    expect(pacing(untold)).toEqual(["recorded", true]);
    expect(pacing(untold.map((r) => (r.request_id === "A1" ? { ...r, think_ms: 5 } : r)))).toEqual([
      "jobs",
      true,
    ]);
    expect(pacing(singles(0, 5, 9))).toEqual(["recorded", true]);
    expect(pacing(singles(null, null))).toEqual(["closed", true]);
    expect(plan(singles(null, null)).max_concurrent_jobs).toBe(1);
    expect(pacing(singles(null, null), { arrival_rate: 2 })).toEqual(["jobs", true]);
    expect(offsets(plan(singles(null, null, null), { arrival_rate: 2 }))).toEqual([0, 500, 1000]);
  });

  it("jobs without arrivals start at 0", () => {
    expect(offsets(plan(singles(null, null), { pacing: "jobs" }))).toEqual([0, 0]);
  });

  it("refuses what contradicts itself", () => {
    const refused = (rows: TraceRequest[], options: Partial<PlanOptions>) => {
      expect(() => plan(rows, options), JSON.stringify(options)).toThrow(UserError);
    };
    refused(singles(null, null), { pacing: "recorded" });
    refused(singles(0, null), { pacing: "recorded" });
    for (const speed of [0, -1, NaN, Infinity]) refused(twoJobs, { speed });
    refused(twoJobs, { think_scale: -1 });
    refused(twoJobs, { pacing: "recorded", think_scale: 2 });
    refused(twoJobs, { pacing: "closed", arrival_rate: 3 });
    refused(twoJobs, { pacing: "closed", speed: 2 });
    refused(twoJobs, { pacing: "closed", spread: true });
    refused(twoJobs, { pacing: "jobs", copies: 2 });
    refused(twoJobs, { arrival_rate: 0 });
    refused(twoJobs, { arrival_rate: 1, speed: 2 });
    refused(twoJobs, { arrival_type: "gamma", burstiness: 0 });
    refused(twoJobs, { burstiness: 2 });
    refused(twoJobs, { max_requests: 0 });
    refused(twoJobs, { output_tokens: 0 });
    refused(singles(null), { arrival_type: "uniform", pacing: "jobs" });
    refused(singles(3, 3), { arrival_type: "random", pacing: "recorded" });
    expect(() => plan(singles(null), { arrival_type: "uniform" })).toThrow("needs --arrival-rate");
    expect(() => planTrace([], {})).toThrow(UserError);
  });
});

describe("time", () => {
  it("scales arrivals by speed without rounding, and think times only by their own scale", () => {
    const p = plan(twoJobs, { pacing: "jobs", speed: 3, think_scale: 0.5, max_gap_ms: 200 });
    expect(offsets(p)).toEqual([0, null, null, 100 / 3, null]);
    expect(p.requests.map((r) => (r.release.kind === "after" ? r.release.think_ms : null))).toEqual([
      null,
      200,
      175,
      null,
      200,
    ]);
    expect(p.gaps_capped).toBe(2);
    expect(p.notes).toContain("2 of 3 think times capped at 200 ms");
  });

  it("caps idle gaps of recorded arrivals inside a job", () => {
    // A: idle 450 and 350 (ends 50 after each arrival); cap 100: 0, 150, 300. B: idle 950: 100, 250.
    const p = plan(twoJobs, { pacing: "recorded", max_gap_ms: 100 });
    expect(p.requests.map((r) => r.request_id)).toEqual(["A0", "B0", "A1", "B1", "A2"]);
    expect(offsets(p)).toEqual([0, 100, 150, 250, 300]);
    expect(p.gaps_capped).toBe(3);
  });

  it("warns of spans that hint at a wrong unit (case 26)", () => {
    const warning = (...arrivals: number[]) =>
      plan(singles(...arrivals), { pacing: "recorded" }).notes.filter((note) => note.startsWith("warning"));
    expect(warning(0, 0.2, 0.4)).toEqual([expect.stringContaining("3 requests in 0.4 ms")]);
    expect(warning(...Array.from({ length: 100 }, (_, i) => i * 0.6))).toHaveLength(1);
    expect(warning(0, 1e11)).toHaveLength(1);
    expect(warning(0, 200, 400)).toEqual([]);
    expect(warning(5, 5, 5)).toEqual([]);
  });

  it("spreads quantised arrivals over their step, and says so; hints when it does not", () => {
    const quantised = singles(0, 0, 0, 3000, 9000, 9000);
    const p = plan(quantised, { pacing: "recorded", spread: true });
    expect(offsets(p)).toEqual([0, 1000, 2000, 3000, 9000, 10500]);
    expect(p.notes).toContainEqual(expect.stringContaining("spread evenly over 3 s"));
    const many = singles(...Array.from({ length: 24 }, (_, i) => Math.floor(i / 4) * 3000));
    expect(plan(many, { pacing: "recorded" }).notes).toContainEqual(expect.stringContaining("--spread"));
    expect(plan(singles(0, 700, 900), { pacing: "recorded" }).notes).not.toContainEqual(
      expect.stringContaining("--spread"),
    );
  });
});

describe("the arrival step (COMPAT A)", () => {
  // Three entries; the second has two queries.
  const entries = [
    row("q0", "q0", { arrival_ms: 0, metadata: { entry: 1 } }),
    row("q1", "q1", { arrival_ms: 100, metadata: { entry: 2 } }),
    row("q2", "q2", { arrival_ms: 100, metadata: { entry: 2 } }),
    row("q3", "q3", { arrival_ms: 400, metadata: { entry: 3 } }),
  ];

  it("stretches recorded times so that N entries span (N-1)/rate", () => {
    expect(offsets(plan(entries, { arrival_rate: 10 }))).toEqual([0, 50, 50, 200]);
  });

  it("spaces equal times evenly, all queries of an entry together", () => {
    const equal = entries.map((r) => ({ ...r, arrival_ms: 7 }));
    expect(offsets(plan(equal, { arrival_rate: 10 }))).toEqual([0, 100, 100, 200]);
    expect(offsets(plan(entries, { arrival_type: "uniform" }))).toEqual([0, 200, 200, 400]);
    expect(offsets(plan(entries, { arrival_type: "uniform", arrival_rate: 4 }))).toEqual([0, 250, 250, 500]);
  });

  it("random: sorted uniform samples stretched to the span, the same for the same seed", () => {
    const rows = singles(...Array.from({ length: 2000 }, (_, i) => i * 10));
    const random = (seed: number) =>
      offsets(plan(rows, { arrival_type: "random", arrival_seed: seed })) as number[];
    const a = random(42);
    expect([a[0], a.at(-1)]).toEqual([0, 19_990]);
    expect(a).toEqual(a.toSorted((x, y) => x - y));
    expect(a).toEqual(random(42));
    expect(a).not.toEqual(random(43));
    // Uniform: the median of 2000 lies within 5 sigma (sqrt(1/4n) of the span) of the middle.
    expect(Math.abs((a[1000] as number) / 19_990 - 0.5)).toBeLessThan(5 * Math.sqrt(1 / 8000));
  });

  it("takes the first N entries after the arrival step", () => {
    const p = plan(entries, { arrival_rate: 10, max_requests: 2 });
    expect(p.requests.map((r) => r.request_id)).toEqual(["q0", "q1", "q2"]);
    expect(offsets(p)).toEqual([0, 50, 50]);
  });

  it("moves whole jobs where only their starts have a time", () => {
    const p = plan(twoJobs, { pacing: "jobs", arrival_rate: 0.5 });
    expect(offsets(p)).toEqual([0, null, null, 2000, null]);
    expect(p.requests.at(1)?.release).toEqual({ kind: "after", parents: [0], think_ms: 450 });
  });
});

describe("limits and lengths", () => {
  it("keeps parents with their children, and whole jobs", () => {
    expect(plan(twoJobs, { pacing: "jobs", max_requests: 3 }).requests.map((r) => r.request_id)).toEqual([
      "A0",
      "A1",
      "B0",
    ]);
    expect(plan(twoJobs, { pacing: "jobs", max_jobs: 1 }).requests.map((r) => r.request_id)).toEqual([
      "A0",
      "A1",
      "A2",
    ]);
    const untimed = twoJobs.map((r) => ({ ...r, arrival_ms: null, recorded: null }));
    expect(plan(untimed, { pacing: "closed", max_requests: 4 }).jobs.map((job) => job.requests)).toEqual([
      [0, 1, 2],
      [3],
    ]);
  });

  it("forces the recorded length, else the expected one, else leaves it free up to max_tokens", () => {
    const rows = [
      row("a", "a", { arrival_ms: 0, recorded: recorded({ output_tokens: 7 }), expected_output_tokens: 9 }),
      row("b", "b", { arrival_ms: 1, expected_output_tokens: 9 }),
      row("c", "c", { arrival_ms: 2 }),
    ];
    const asked = (output: "exact" | "free") =>
      plan(rows, { output }).requests.map((r) => [
        r.request.forced_output_tokens,
        r.request.max_tokens,
        r.planned_output_tokens,
      ]);
    expect(asked("exact")).toEqual([
      [7, 7, 7],
      [9, 9, 9],
      [null, 10, null],
    ]);
    expect(asked("free")).toEqual([
      [null, 10, 7],
      [null, 10, 9],
      [null, 10, null],
    ]);
  });

  it("never asks for 0 tokens (case 28)", () => {
    const rows = [
      row("a", "a", { arrival_ms: 0, max_tokens: null, recorded: recorded({ output_tokens: 0 }) }),
      row("b", "b", {
        arrival_ms: 1,
        max_tokens: 0,
        prompt: { kind: "length", tokens: 0, hash_ids: null, block_tokens: null, hash_scope: null },
      }),
    ];
    for (const output of ["exact", "free"] as const) {
      const p = plan(rows, { output });
      expect(p.requests.map((r) => r.request.max_tokens)).toEqual([1, 1]);
      expect(p.requests.at(1)?.request.prompt).toMatchObject({ tokens: 1 });
      expect(p.notes).toContainEqual(expect.stringContaining("1 requests with a recorded output of 0"));
    }
  });

  it("overrides lengths, also of text", () => {
    const rows = [
      row("a", "a", { arrival_ms: 0, prompt: { kind: "text", text: "hello" }, max_tokens: null }),
    ];
    const [request] = plan(rows, { input_tokens: 50, output_tokens: 5 }).requests;
    expect(request).toMatchObject({
      planned_prompt_tokens: 50,
      planned_output_tokens: 5,
      request: { prompt: { kind: "length", tokens: 50 }, forced_output_tokens: 5, max_tokens: 5 },
    });
  });
});

describe("closed runs", () => {
  it("starts later roots of a job at their recorded distance from its start", () => {
    const rows = [
      row("a", "j", { arrival_ms: 1000, after: [] }),
      row("b", "j", { arrival_ms: 1300, after: [] }),
    ];
    const delays = plan(rows, { pacing: "closed", stagger_ms: 50 }).requests.map((r) => r.release);
    expect(delays).toEqual([
      { kind: "slot", delay_ms: 0 },
      { kind: "slot", delay_ms: 300 },
    ]);
  });

  it("staggers the first N starts with a seeded jitter, no others", () => {
    const rows = singles(...Array.from({ length: 6 }, () => null));
    const delays = (seed: number) =>
      plan(rows, {
        pacing: "closed",
        max_concurrency: 4,
        stagger_ms: 100,
        stagger_jitter_ms: 10,
        seed,
      }).requests.map((r) => (r.release.kind === "slot" ? r.release.delay_ms : NaN));
    const a = delays(1);
    a.slice(0, 4).forEach((delay, i) => {
      expect(delay).toBeGreaterThanOrEqual(i * 100);
      expect(delay).toBeLessThan(i * 100 + 10);
    });
    expect(a.slice(4)).toEqual([0, 0]);
    expect(new Set(a.slice(0, 4).map((delay, i) => delay - i * 100)).size).toBe(4);
    expect(delays(1)).toEqual(a);
    expect(delays(2)).not.toEqual(a);
  });

  it("works out the optimal hit rate of what is planned", () => {
    const hashed = (id: string, job: string, hash_ids: number[], at: number) =>
      row(id, job, {
        arrival_ms: at,
        prompt: {
          kind: "length",
          tokens: hash_ids.length * 10,
          hash_ids,
          block_tokens: 10,
          hash_scope: null,
        },
      });
    // Job A: 20 tokens, none reused; then 30, 20 reused. Job B: 20, 10 reused. In all 30 of 70.
    const rows = [hashed("a", "A", [1, 2], 0), hashed("b", "A", [1, 2, 3], 1), hashed("c", "B", [1, 9], 2)];
    const p = plan(rows);
    expect(p.optimal_hit_rate).toBeCloseTo(30 / 70, 12);
    expect(p.optimal_cached_tokens).toBe(30);
    expect(p.jobs.map((job) => job.optimal_hit_rate)).toEqual([20 / 50, 10 / 20]);
    // Copies that share nothing have the same rate; copies that share everything hit all of it the second time.
    const own = plan(rows, { pacing: "closed", copies: 2 });
    expect([own.optimal_hit_rate, own.optimal_cached_tokens]).toEqual([30 / 70, 60]);
    const shared = plan(rows, { pacing: "closed", copies: 2, share_copies: true });
    expect([shared.optimal_hit_rate, shared.optimal_cached_tokens]).toEqual([100 / 140, 100]);
    expect(shared.requests.every((r) => r.request.copy === 0)).toBe(true);
  });

  it("lets the job that begins first fill the cache, where a turn has no arrival of its own", () => {
    const same = { prompt: { kind: "ids", ids: [1, 2] } } as const;
    // A's first row with an arrival comes first, but its first turn with one that waits for nobody comes after B.
    const rows = [
      row("a0", "A", { ...same, after: [] }),
      row("a1", "A", { arrival_ms: 10, after: ["a0"] }),
      row("a2", "A", { arrival_ms: 60, after: [] }),
      row("b0", "B", { ...same, after: [] }),
      row("b1", "B", { arrival_ms: 30, after: ["b0"] }),
    ];
    const { jobs } = plan(rows, { pacing: "jobs" });
    expect(jobs.map((job) => [job.job_id, job.optimal_hit_rate])).toEqual([
      ["B", 0],
      ["A", 1],
    ]);
  });

  it("tells the optimum of the jobs that were begun, where spare copies share their text", () => {
    const rows = singles(0, 1).map((r) => ({ ...r, prompt: { kind: "ids", ids: [1, 2] } }) as const);
    const p = plan(rows, { pacing: "closed", repeat_for_ms: 40, share_copies: true });
    const n = p.jobs.length;
    expect(n).toBeGreaterThan(4);
    // Two tokens a job: all but the first job's are there.
    expect(p.optimal_hit_rate).toBe((n - 1) / n);
    expect(optimalOf(p, p.jobs.slice(0, 4))).toEqual({ optimal_hit_rate: 3 / 4, optimal_cached_tokens: 6 });
    expect(optimalOf(p, [...p.jobs])).toEqual({
      optimal_hit_rate: (n - 1) / n,
      optimal_cached_tokens: 2 * (n - 1),
    });
  });

  it("gives copies of copies names of their own", () => {
    const { jobs, spare_from } = plan(singles(0), { pacing: "closed", copies: 2, repeat_for_ms: 10 });
    expect(jobs.map((job) => job.job_id)).toEqual(jobs.map((_, i) => (i === 0 ? "r0" : `r0~${i}`)));
    expect(jobs.map((job) => job.copy_of)).toEqual(jobs.map((_, i) => (i === 0 ? undefined : 0)));
    expect(spare_from).toBe(2);
  });
});
