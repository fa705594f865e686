/** Every flag of COMPAT A: its effect on the wire, on the schedule or in the file, which a run without it does not show. */
import { afterAll, describe, expect, it } from "vitest";
import { join } from "node:path";
import { type CompatRun, file, folder, type Json, removeFolder, runCompat } from "../support/compat-stub.ts";

afterAll(removeFolder);

/** Its own format; the second entry has two queries, the first is not at 0. */
const trace = file("trace.jsonl", [
  { timestamp: 100, queries: [{ prompt_length: 12, response_length: 5 }] },
  {
    timestamp: 130,
    queries: [
      { prompt_length: 20, response_length: 7 },
      { prompt_length: 21, response_length: 8 },
    ],
  },
  { timestamp: 160, queries: [{ prompt_length: 30, response_length: 9 }] },
]);
const other = file("other.jsonl", [{ timestamp: 0, queries: [{ prompt_length: 4, response_length: 2 }] }]);

const TRACE = ["--trace-file", trace];
const ADDRESS = ["--base-url", "URL"];
const REST = ["--backend", "openai", "--model", "m", "--save-result", "--result-dir", "RESULTS"];

interface Row {
  readonly argv: readonly string[];
  readonly trace?: readonly string[];
  readonly address?: readonly string[];
  readonly rest?: readonly string[];
  readonly without?: readonly string[];
  check(run: CompatRun): void | Promise<void>;
}

/** The load without the one test request. */
const load = (run: CompatRun): Json[] => run.bodies.filter((body) => body["max_tokens"] !== 1);
const lengths = (run: CompatRun): number[] =>
  load(run)
    .map((body) => String(body["prompt"]).split(" ").length)
    .sort((a, b) => a - b);
const intended = (run: CompatRun): number[] =>
  run.records.map((record) => Math.round(record.intended_ms ?? NaN));
const onlyName = (run: CompatRun): string => Object.keys(run.results)[0] ?? "";

const ROWS: Readonly<Record<string, Row>> = {
  "--trace-file": {
    argv: [],
    trace: ["--trace-file", other],
    check: (run) => expect(lengths(run)).toEqual([4]),
  },
  "--backend": {
    argv: [],
    rest: [...REST, "--backend", "openai-chat"],
    check: (run) =>
      expect(run.paths.filter((path) => path.includes("completions"))[0]).toBe("/v1/chat/completions"),
  },
  "--arrival-type": {
    argv: ["--arrival-type", "uniform"],
    trace: [
      "--trace-file",
      file(
        "uneven.jsonl",
        [0, 5, 60].map((timestamp) => ({ timestamp, queries: [{ prompt_length: 4, response_length: 2 }] })),
      ),
    ],
    without: [],
    check: (run) => expect(intended(run)).toEqual([0, 30, 60]),
  },
  "--arrival-rate": {
    argv: ["--arrival-rate", "20"],
    // Three entries in (3−1)/20 s, the recorded times scaled to it.
    check: (run) => {
      expect(intended(run)).toEqual([0, 50, 50, 100]);
    },
  },
  "--arrival-seed": {
    argv: ["--arrival-type", "random", "--arrival-seed", "7"],
    without: ["--arrival-type", "random"],
    check: async (run) => {
      const again = await runCompat("replay", [
        ...TRACE,
        ...ADDRESS,
        ...REST,
        "--arrival-type",
        "random",
        "--arrival-seed",
        "7",
      ]);
      expect(run.records.map(({ intended_ms }) => intended_ms)).toEqual(
        again.records.map(({ intended_ms }) => intended_ms),
      );
    },
  },
  "--input-length": {
    argv: ["--input-length", "9"],
    check: (run) => expect(lengths(run)).toEqual([9, 9, 9, 9]),
  },
  "--output-length": {
    argv: ["--output-length", "4"],
    check: (run) => {
      for (const body of load(run))
        expect(body).toMatchObject({ max_tokens: 4, min_tokens: 4, ignore_eos: true });
    },
  },
  "--max-requests": {
    argv: ["--max-requests", "2"],
    check: (run) => expect(lengths(run)).toEqual([12, 20, 21]),
  },
  "--base-url": {
    argv: [],
    address: ["--base-url", "URL/deep/v1/"],
    check: (run) => expect(run.paths.at(-1)).toBe("/deep/v1/completions"),
  },
  "--host": {
    argv: [],
    address: ["--host", "HOST", "--port", "PORT"],
    check: (run) => expect([load(run).length, run.manifest.options["host"]]).toEqual([4, "127.0.0.1"]),
  },
  "--port": {
    argv: [],
    address: ["--host", "HOST", "--port", "PORT"],
    check: (run) => expect([load(run).length, run.manifest.options["base_url"]]).toEqual([4, undefined]),
  },
  "--endpoint": {
    argv: ["--endpoint", "/v7/completions"],
    check: (run) => expect(run.paths.at(-1)).toBe("/v7/completions"),
  },
  "--model": {
    argv: [],
    rest: [...REST, "--model", "org/name"],
    check: (run) => {
      for (const body of load(run)) expect(body["model"]).toBe("org/name");
      expect(onlyName(run)).toMatch(/^vllm-name-\d{8}-\d{6}\.json$/);
    },
  },
  "--tokenizer": {
    argv: ["--tokenizer", "not/here"],
    check: (run) => {
      expect(run.result["tokenizer_id"]).toBe("not/here");
      expect(run.err).toContain("--tokenizer not/here is not on this machine");
    },
  },
  "--seed": { argv: ["--seed", "3"], check: (run) => expect(run.manifest.seeds["seed"]).toBe(3) },
  "--best-of": {
    argv: ["--best-of", "3"],
    check: (run) => {
      for (const body of load(run)) expect(body["best_of"]).toBe(3);
      expect(run.result["best_of"]).toBe(3);
    },
  },
  "--use-beam-search": {
    argv: ["--use-beam-search"],
    check: (run) => {
      for (const body of load(run)) expect(body["use_beam_search"]).toBe(true);
      expect(run.result["use_beam_search"]).toBe(true);
    },
  },
  "--disable-tqdm": { argv: ["--disable-tqdm"], check: (run) => expect(run.err).not.toContain("run folder") },
  "--save-result": {
    argv: ["--save-result"],
    rest: ["--backend", "openai", "--model", "m", "--result-dir", "RESULTS"],
    without: [],
    check: (run) => expect(Object.keys(run.results)).toHaveLength(1),
  },
  "--metadata": {
    argv: ["--metadata", "a=1", "b=x=y"],
    check: (run) => expect(run.result).toMatchObject({ a: "1", b: "x=y" }),
  },
  "--result-dir": {
    argv: ["--result-dir", join(folder, "replayed", "here")],
    check: (run) => expect(run.err).toContain(join("replayed", "here")),
  },
  "--result-filename": {
    argv: ["--result-filename", "mine.json"],
    check: (run) => expect(Object.keys(run.results)).toEqual(["mine.json"]),
  },
};

/** COMPAT A, line by line (--trust-remote-code is named and ignored: see refusals). */
const FLAGS =
  "--trace-file --backend --arrival-type --arrival-rate --arrival-seed --input-length --output-length --max-requests --base-url --host --port --endpoint --model --tokenizer --seed --best-of --use-beam-search --disable-tqdm --save-result --metadata --result-dir --result-filename".split(
    " ",
  );

describe("replay: every flag of COMPAT A is in force", () => {
  const usual = runCompat("replay", [...TRACE, ...ADDRESS, ...REST]);

  it("the table holds them all", () => {
    expect(Object.keys(ROWS).sort()).toEqual([...FLAGS].sort());
  });

  it.each(Object.entries(ROWS))("%s", async (_flag, row) => {
    const around = [...(row.trace ?? TRACE), ...(row.address ?? ADDRESS), ...(row.rest ?? REST)];
    const run = await runCompat("replay", [...around, ...row.argv]);
    expect(run.code, run.err).toBe(0);
    await row.check(run);
    const without =
      row.without === undefined ? await usual : await runCompat("replay", [...around, ...row.without]);
    expect(without.code, without.err).toBe(0);
    await expect((async () => row.check(without))()).rejects.toThrow();
  });

  it("sends what the replayer sends, after one test request of another prompt", async () => {
    const run = await usual;
    const [test, ...bodies] = run.bodies;
    expect(test).toMatchObject({ max_tokens: 1 });
    expect(bodies).toHaveLength(4);
    expect(bodies.map((body) => body["prompt"])).not.toContain(test?.["prompt"]);
    for (const body of bodies)
      expect(body).toMatchObject({
        model: "m",
        temperature: 0,
        best_of: 1,
        ignore_eos: true,
        stream: true,
        stream_options: { include_usage: true },
      });
    const lengthsAsked = bodies.map((body) => `${String(body["min_tokens"])} ${String(body["max_tokens"])}`);
    expect(new Set(lengthsAsked)).toEqual(new Set(["5 5", "7 7", "8 8", "9 9"]));
    expect(run.measured[0]?.headers["authorization"]).toBeUndefined();
    // All queries of an entry at its time; the first entry at 0.
    expect(intended(run)).toEqual([0, 30, 30, 60]);
  });

  it("a test request that fails stops the run: exit 3, nothing else is sent", async () => {
    const { response } = await import("../stub/wire.ts");
    const run = await runCompat("replay", [...TRACE, ...ADDRESS, ...REST], {
      script: () => [{ bytes: response(["{}"], "length", { status: "503 Busy", type: "application/json" }) }],
    });
    expect(run.code).toBe(3);
    expect(run.paths.filter((path) => path.endsWith("/completions"))).toHaveLength(1);
    expect(run.manifest).toEqual({});
  });

  it("prints the replayer's table for a trace named by its flag, ours alone for TRACE", async () => {
    expect((await usual).out).toMatch(/^Mean Latency \(ms\): +\d+\.\d\d +$/m);
    const ours = await runCompat("replay", [trace, ...ADDRESS, ...REST]);
    expect(ours.out).not.toContain("Serving Benchmark Result");
    expect(ours.bodies).toHaveLength(4);
    const asked = await runCompat("replay", [trace, ...ADDRESS, ...REST, "--table", "vllm"]);
    expect(asked.out).toContain("Peak concurrent requests:");
    const none = await runCompat("replay", [...TRACE, ...ADDRESS, ...REST, "--table", "none"]);
    expect(none.out).not.toContain("Serving Benchmark Result");
  });
});
