import { describe, expect, it } from "vitest";
import type { TraceRequest } from "../trace/trace-request.ts";
import { traceLines } from "../trace/writer.ts";
import { parseGenerateOptions } from "./generate-options.ts";
import { generateTrace, type GeneratedTrace, toTrace } from "./generate-trace.ts";

const toLines = (trace: GeneratedTrace): Iterable<string> => traceLines(toTrace(trace));

async function make(raw: Record<string, unknown>): Promise<TraceRequest[]> {
  return [...(await generateTrace(parseGenerateOptions(raw))).requests()];
}

function tokens(request: TraceRequest): number {
  return request.prompt.kind === "length" ? request.prompt.tokens : NaN;
}

function blocks(request: TraceRequest): readonly (number | string)[] {
  return request.prompt.kind === "length" ? (request.prompt.hash_ids ?? []) : [];
}

/** The value below which a share p of the sorted list lies: nearest rank, written here anew. */
function quantile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(p * sorted.length) - 1] as number;
}

/** Tokens that an endless prefix cache would have had, ÷ prompt tokens; blocks in order of arrival. */
function hitRate(requests: readonly TraceRequest[], blockTokens: number): number {
  const cache = new Set<number | string>();
  let [reused, all] = [0, 0];
  for (const request of requests) {
    const ids = blocks(request);
    const missed = ids.findIndex((id) => !cache.has(id));
    reused += (missed === -1 ? ids.length : missed) * blockTokens;
    all += tokens(request);
    for (const id of ids) cache.add(id);
  }
  return reused / all;
}

describe("the four agents of the study", () => {
  // Issue 3, item 6: median/p90 input and output, requests a job, optimal hit rate in %.
  it.each([
    ["coder", 14_400, 37_200, 110, 436, 38.7, 96.5],
    ["planner", 6_200, 21_100, 632, 4_000, 27.2, 47.8],
    ["rewriter", 6_300, 17_200, 1_700, 3_000, 11.4, 24.4],
    ["tree-of-thoughts", 1_700, 4_600, 985, 4_700, 25.4, 28.8],
  ])("%s: as its table says", async (preset, in50, in90, out50, out90, perJob, hit) => {
    for (const seed of [0, 11]) {
      const requests = await make({ preset, numJobs: 400, seed });
      const input = requests.map(tokens);
      const output = requests.map((request) => request.expected_output_tokens as number);
      const within = (value: number, wanted: number, share: number): void => {
        expect(value).toBeGreaterThan(wanted * (1 - share));
        expect(value).toBeLessThan(wanted * (1 + share));
      };
      within(quantile(input, 0.5), in50, 0.08);
      within(quantile(input, 0.9), in90, 0.12);
      within(quantile(output, 0.5), out50, 0.06);
      within(quantile(output, 0.9), out90, 0.08);
      within(requests.length / 400, perJob, 0.06);
      expect(Math.abs(100 * hitRate(requests, 64) - hit)).toBeLessThan(2);
    }
  });

  it("branch as agents do: researchers side by side, then a join", async () => {
    const requests = (await make({ preset: "planner", numJobs: 1, seed: 4 })).sort(
      (a, b) => Number(a.request_id.split("/")[1]) - Number(b.request_id.split("/")[1]),
    );
    const [plan, join] = [requests[0] as TraceRequest, requests.at(-1) as TraceRequest];
    expect(plan.after).toEqual([]);
    const first = requests.filter(
      (request) => request.after?.length === 1 && request.after[0] === plan.request_id,
    );
    expect(first.length).toBeGreaterThan(1);
    expect(new Set(first.map((request) => request.turn))).toEqual(new Set([1]));
    expect(join.after?.length).toBe(first.length);
    expect(join.agent).toBe("planner");
    expect(first.every((request) => request.agent === "researcher")).toBe(true);
  });
});

describe("the plain agent", () => {
  it("keeps to the flags and defaults of the agentic plan", async () => {
    const requests = await make({});
    const sizes = new Map<string, number>();
    for (const { job_id } of requests) sizes.set(job_id, (sizes.get(job_id) ?? 0) + 1);
    expect(sizes.size).toBe(200);
    expect(new Set(sizes.values())).toEqual(new Set([1, 2, 3, 4, 5]));
    const starts = requests
      .filter((request) => request.turn === 0)
      .map((request) => request.arrival_ms as number);
    expect(starts.length).toBe(200);
    expect(Math.min(...starts)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...starts)).toBeLessThanOrEqual(60_000);
    for (const request of requests) {
      expect(tokens(request)).toBeGreaterThanOrEqual(200);
      expect(tokens(request)).toBeLessThanOrEqual(2000);
      expect(request.max_tokens).toBeGreaterThanOrEqual(64);
      expect(request.max_tokens).toBeLessThanOrEqual(512);
      if (request.turn === 0) expect(request.think_ms).toBeNull();
      else expect(request.think_ms as number).toSatisfy((ms: number) => ms >= 50 && ms <= 500);
    }
    expect(requests.map((request) => request.arrival_ms)).toEqual(
      requests.map((request) => request.arrival_ms).sort((a, b) => (a ?? 0) - (b ?? 0)),
    );
  });

  it("lets a turn follow the expected end of the one before plus think time", async () => {
    const byId = new Map(
      (await make({ numJobs: 20, minTurns: 4, targetTokPerS: 20 })).map((r) => [r.request_id, r]),
    );
    let followed = 0;
    for (const request of byId.values()) {
      const parent = byId.get(request.after?.[0] ?? "");
      if (parent === undefined) continue;
      const end = (parent.arrival_ms as number) + (1000 * (parent.max_tokens as number)) / 20;
      expect(request.arrival_ms).toBeCloseTo(end + (request.think_ms as number), 2);
      followed++;
    }
    expect(followed).toBeGreaterThanOrEqual(60);
  });

  it("grows its prompts over a shared system prompt when told to", async () => {
    const requests = await make({
      numJobs: 5,
      minTurns: 5,
      grow: true,
      systemTokens: 640,
      promptTokens: "100",
      outputTokens: "28",
    });
    for (const request of requests) {
      // 640 + (turn + 1) × 100 new tokens + turn × 28 of answers; whole blocks of 64 are named.
      const whole = 640 + 100 + (request.turn ?? 0) * 128;
      expect(tokens(request)).toBe(whole);
      expect(blocks(request).length).toBe(Math.floor(whole / 64));
    }
    const system = requests.map((request) => blocks(request).slice(0, 10).join());
    expect(new Set(system).size).toBe(1);
    const eleventh = new Set(requests.map((request) => blocks(request)[10]));
    expect(eleventh.size).toBe(5);
    const last = requests.filter((request) => request.turn === 4)[0] as TraceRequest;
    const before = requests.find((request) => request.request_id === last.after?.[0]) as TraceRequest;
    expect(blocks(last).slice(0, blocks(before).length)).toEqual(blocks(before));
  });

  it("shares a job's brief among its turns, and lets jobs differ in size", async () => {
    const requests = await make({
      numJobs: 40,
      minTurns: 2,
      briefTokens: "128",
      promptTokens: "1000",
      jobSigma: 1,
    });
    const byJob = new Map<string, TraceRequest[]>();
    for (const request of requests)
      byJob.set(request.job_id, [...(byJob.get(request.job_id) ?? []), request]);
    for (const turns of byJob.values()) {
      expect(new Set(turns.map((turn) => blocks(turn).slice(0, 2).join())).size).toBe(1);
      expect(new Set(turns.map((turn) => blocks(turn)[2])).size).toBe(turns.length);
      expect(new Set(turns.map(tokens)).size).toBe(1);
    }
    const sizes = [...byJob.values()].map((turns) =>
      Math.log((tokens(turns[0] as TraceRequest) - 128) / 1000),
    );
    const sigma = Math.sqrt(sizes.reduce((sum, x) => sum + x * x, 0) / sizes.length);
    // 40 draws of a standard normal: 1 ± 0.11 (one standard error).
    expect(sigma).toBeGreaterThan(0.6);
    expect(sigma).toBeLessThan(1.4);
  });

  it("compacts a history that grows too long", async () => {
    const lengths = (
      await make({
        numJobs: 1,
        turns: "8",
        grow: true,
        promptTokens: "100",
        outputTokens: "100",
        compactAt: 800,
      })
    ).map(tokens);
    // 100, +200 a turn up to 700; 900 would be too long: an eighth of 800 as summary, and the new 100.
    expect(lengths).toEqual([100, 300, 500, 700, 200, 400, 600, 800]);
  });

  it("puts tool time into think time, and fans out when told to", async () => {
    const requests = await make({
      numJobs: 3,
      toolMs: "pareto(200,1.3,max=5000)",
      thinkMs: "10",
      fanOut: "3",
      turns: "1",
    });
    const tools = requests.filter((request) => request.tool !== null);
    expect(tools.length).toBe(3 * 4);
    for (const request of tools) {
      const ms = request.tool?.[0]?.ms as number;
      expect(request.think_ms).toBe(10 + ms);
      expect(ms).toSatisfy((value: number) => value >= 200 && value <= 5000);
    }
    expect(requests.length).toBe(3 * 5);
  });
});

describe("any generated trace", () => {
  it("is the same for the same seed and another for another", async () => {
    const lines = async (seed: number) => [
      ...toLines(
        await generateTrace(parseGenerateOptions({ preset: "tree-of-thoughts", numJobs: 10, seed })),
      ),
    ];
    expect(await lines(1)).toEqual(await lines(1));
    expect((await lines(1)).slice(1)).not.toEqual((await lines(2)).slice(1));
  });

  it("can be made again from its own header", async () => {
    const first = await generateTrace(parseGenerateOptions({ preset: "planner", numJobs: 3, seed: "x" }));
    const again = await generateTrace(parseGenerateOptions(first.header["parameters"]));
    expect([...toLines(again)]).toEqual([...toLines(first)]);
  });

  it("is written as our own rows under a header that tells how it was made", async () => {
    const trace = await generateTrace(
      parseGenerateOptions({ numJobs: 2, budgetMs: 30_000, seed: 9, systemTokens: 100 }),
    );
    const [header, ...rows] = [...toLines(trace)].map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(header).toMatchObject({
      reprise_trace: 1,
      seed: 9,
      provenance: { arrivals: "made up" },
      parameters: { numJobs: 2, budgetMs: 30_000 },
    });
    const ids = new Set(rows.map((row) => row["request_id"]));
    expect(ids.size).toBe(rows.length);
    for (const row of rows) {
      expect(row["prompt_tokens"]).toBeGreaterThan(0);
      expect(row["block_tokens"]).toBe(64);
      expect(row["max_tokens"]).toBeGreaterThan(0);
      for (const parent of row["after"] as string[]) expect(ids.has(parent)).toBe(true);
      expect(row["budget_ms"]).toBe(row["turn"] === 0 ? 30_000 : undefined);
      expect(Object.values(row)).not.toContain(null);
    }
  });

  it("starts its jobs in bursts, by a day's shape, or as a Poisson process", async () => {
    const starts = async (raw: Record<string, unknown>) =>
      (await make({ maxTurns: 1, ...raw })).map((request) => request.arrival_ms as number);
    const bursty = await starts({ numJobs: 1000, arrivals: "bursts", burstSize: "10", spanMs: 3_600_000 });
    const near = bursty.filter((start, at) => at > 0 && start - (bursty[at - 1] as number) < 1000).length;
    expect(near).toBeGreaterThan(850);
    const day = await starts({ numJobs: 8000, arrivals: "daily", spanMs: 86_400_000, peakToTrough: 5 });
    const hours = Array.from(
      { length: 24 },
      (_, hour) => day.filter((t) => Math.floor(t / 3_600_000) === hour).length,
    );
    // Mean density of the hours around midnight and noon by the formula: 1.03 and 4.97.
    const ratio = ((hours[11] ?? 0) + (hours[12] ?? 0)) / ((hours[0] ?? 0) + (hours[23] ?? 0));
    expect(ratio).toBeGreaterThan(3.9);
    expect(ratio).toBeLessThan(6.1);
    const poisson = await starts({ numJobs: 10_000, arrivals: "poisson", spanMs: 1_000_000 });
    const gaps = poisson.slice(1).map((start, at) => start - (poisson[at] as number));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const cv = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length) / mean;
    expect(mean).toBeCloseTo(100, -1);
    expect(cv).toBeGreaterThan(0.96);
    expect(cv).toBeLessThan(1.04);
    expect(poisson[0]).toBe(0);
  });

  it("is made job by job: tens of thousands of turns in order, however many jobs overlap", async () => {
    const trace = await generateTrace(parseGenerateOptions({ numJobs: 12_000 }));
    let [count, last] = [0, 0];
    for (const request of trace.requests()) {
      expect((request.arrival_ms as number) >= last).toBe(true);
      last = request.arrival_ms as number;
      count++;
    }
    expect(count).toBeGreaterThan(34_000);
  });
});

describe("bad options", () => {
  it.each([
    [{ turns: "1e9", numJobs: 1 }, "the trace does not fit in memory: 1000000000 requests or more"],
    [{ numJobs: 1, promptTokens: "900M", blockTokens: 1 }, "it is too large after 1 requests"],
    [{ fanOut: "1e10", numJobs: 1 }, "the trace does not fit in memory: 10000000000 requests or more"],
    [{ numJobs: 1_000_000_000 }, "the trace does not fit in memory: 1000000000 requests or more"],
    [{ promptTokens: "1e12", numJobs: 1 }, "the distributions made a prompt of 1000000000000 tokens"],
    [
      { outputTokens: "lognormal(1000,1)", numJobs: 1 },
      "the distributions made an output of Infinity tokens",
    ],
    [{ thinkMs: "1e15", turns: "2", numJobs: 1 }, /the distributions made a turn at \d+\.?\d* ms/],
    [{ targetTokPerS: 1e-300, turns: "2", numJobs: 1 }, "the distributions made a turn at"],
  ])("%j: refused in one line, not dropped and not out of memory", async (raw, message) => {
    await expect(make(raw)).rejects.toThrow(message);
  });

  it("that are known only with the agent are refused, too", async () => {
    await expect(make({ compactAt: 100 })).rejects.toThrow(/--compact-at has no effect/);
    await expect(make({ compactAt: 100, preset: "rewriter" })).rejects.toThrow(/--compact-at has no effect/);
  });

  it.each([
    [{ minTurns: 6 }, /--min-turns: 6 is above --max-turns 5/],
    [{ numJobs: 0 }, /--num-jobs: /],
    [{ turns: "sometimes" }, /--turns: .*"sometimes" is not a number/],
    [{ preset: "poet" }, /--preset: /],
    [{ servegenDataset: "x" }, /--servegen-dataset goes with --servegen/],
    [{ preset: "coder", minTurns: 2 }, /--min-turns has no effect beside --preset or --turns/],
    [{ promptTokens: "5", promptTokensMax: 9000 }, /--prompt-tokens-max has no effect/],
    [{ burstSize: "3" }, /--burst-size goes with --arrivals bursts/],
    [{ peakToTrough: 3 }, /--peak-to-trough goes with --arrivals daily/],
    [{ servegen: "x.csv", spanMs: 5 }, /--span has no effect beside --servegen/],
    [{ servegen: "x.csv", grow: true }, /--grow has no effect beside --servegen/],
    [{ numjobs: 5 }, /generate: .*numjobs/],
  ])("%j is refused by its flag", (raw, message) => {
    expect(() => parseGenerateOptions(raw)).toThrow(message);
  });
});
