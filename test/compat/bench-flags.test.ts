/** Every flag of COMPAT B: its effect on the wire, on the schedule or in the file, which a run without it does not show. */
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type CompatRun, file, folder, type Json, removeFolder, runCompat } from "../support/compat-stub.ts";

afterAll(removeFolder);

const PROMPTS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"];
const custom = file(
  "custom.jsonl",
  PROMPTS.map((prompt, i) => ({ prompt, output_tokens: 2 + i })),
);
const hyper = file("hyper.yaml", "top_p: 0.25\nmax_tokens: 77\nnested: {a: [1, 2]}\n");

const DATASET = ["--dataset-name", "custom", "--dataset-path", custom, "--num-prompts", "4"];
const ADDRESS = ["--base-url", "URL"];
const REST = ["--model", "m", "--result-dir", "RESULTS", "--save-result", "--ready-check-timeout-sec", "0"];
const MADE_UP = [
  "--dataset-name",
  "random",
  "--num-prompts",
  "4",
  "--random-input-len",
  "40",
  "--random-output-len",
  "6",
];

interface Row {
  readonly argv: readonly string[];
  /** Replaces the dataset, the address or the rest. */
  readonly dataset?: readonly string[];
  readonly address?: readonly string[];
  readonly rest?: readonly string[];
  /** What the flag does. Must not hold for the run without it. */
  check(run: CompatRun): void | Promise<void>;
  /** The run without the flag, where it is not the usual one. */
  readonly without?: readonly string[];
  readonly existing?: Readonly<Record<string, string>>;
}

const everyBody = (run: CompatRun, want: Json): void => {
  expect(run.bodies.length).toBeGreaterThan(0);
  for (const body of run.bodies) expect(body).toMatchObject(want);
};
const content = (body: Json): unknown => ((body["messages"] as Json[])[0] as Json)["content"];
const prompts = (run: CompatRun): unknown[] => run.bodies.map((body) => content(body));
const intended = (run: CompatRun): number[] => run.records.map((record) => record.intended_ms ?? NaN);
const words = (body: Json): number => String(content(body)).split(" ").length;
const onlyName = (run: CompatRun): string => Object.keys(run.results)[0] ?? "";

const ROWS: Readonly<Record<string, Row>> = {
  "--backend": {
    argv: ["--backend", "openai"],
    check: (run) => {
      expect(run.measured.map(({ path }) => path)).toEqual(Array(4).fill("/v1/completions"));
      expect(run.bodies.map((body) => body["prompt"])).toEqual(PROMPTS.slice(0, 4));
      expect(run.result).toMatchObject({ backend: "openai", endpoint_type: "openai" });
    },
  },
  "--base-url": {
    argv: [],
    address: ["--base-url", "URL/prefix/v1"],
    check: (run) => expect(run.paths.at(-1)).toBe("/prefix/v1/chat/completions"),
  },
  "--host": {
    argv: [],
    address: ["--host", "HOST", "--port", "PORT"],
    check: (run) => {
      expect(run.measured).toHaveLength(4);
      expect(run.manifest.options["host"]).toBe("127.0.0.1");
    },
  },
  "--port": {
    argv: [],
    address: ["--port", "PORT"],
    check: (run) => {
      expect(run.measured).toHaveLength(4);
      expect(run.manifest.options["base_url"]).toBeUndefined();
    },
  },
  "--endpoint": {
    argv: ["--endpoint", "/api/v9/chat/completions"],
    check: (run) => expect(run.measured[0]?.path).toBe("/api/v9/chat/completions"),
  },
  "--header": {
    argv: ["--header", "X-One=a=b", "X-Two=2"],
    check: (run) => {
      for (const { headers } of run.measured) expect(headers).toMatchObject({ "x-one": "a=b", "x-two": "2" });
    },
  },
  "--dataset-name": {
    argv: [],
    dataset: [
      "--dataset-name",
      "EB",
      "--dataset-path",
      file("eb.jsonl", [{ text: "hello", topp: 0.5, max_dec_len: 9 }]),
      "--num-prompts",
      "1",
    ],
    check: (run) =>
      expect(run.bodies[0]).toMatchObject({ top_p: 0.5, max_tokens: 9, messages: [{ content: "hello" }] }),
  },
  "--dataset-path": {
    argv: [],
    dataset: [
      "--dataset-path",
      file("alone.jsonl", [{ prompt: "alone", output_tokens: 3 }]),
      "--num-prompts",
      "1",
    ],
    check: (run) => expect(prompts(run)).toEqual(["alone"]),
  },
  "--num-prompts": {
    argv: [],
    dataset: [...DATASET, "--num-prompts", "11"],
    check: (run) => {
      expect(run.measured).toHaveLength(11);
      expect(run.err).toContain("8 rows for 11 prompts; 3 of them are sent again");
    },
  },
  "--no-oversample": {
    argv: ["--num-prompts", "11", "--no-oversample"],
    without: ["--num-prompts", "11"],
    check: (run) => expect(prompts(run)).toEqual(PROMPTS),
  },
  "--shuffle": {
    argv: ["--shuffle"],
    check: (run) => {
      expect(prompts(run)).not.toEqual(PROMPTS.slice(0, 4));
      expect(new Set(prompts(run)).size).toBe(4);
    },
  },
  "--seed": {
    argv: ["--shuffle", "--seed", "5"],
    without: ["--shuffle"],
    check: async (run) => {
      const again = await runCompat("bench", [...DATASET, ...ADDRESS, ...REST, "--shuffle", "--seed", "5"]);
      expect(prompts(run)).toEqual(prompts(again));
    },
  },
  "--model": {
    argv: [],
    rest: [...REST, "--model", "other/name"],
    check: (run) => {
      everyBody(run, { model: "other/name" });
      expect(run.result).toMatchObject({ model_id: "other/name", tokenizer_id: "other/name" });
      expect(onlyName(run)).toMatch(/^openai-chat-infqps-name-/);
    },
  },
  "--served-model-name": {
    argv: ["--served-model-name", "served"],
    check: (run) => {
      everyBody(run, { model: "served" });
      expect(run.result["model_id"]).toBe("m");
    },
  },
  "--tokenizer": {
    argv: ["--tokenizer", "not/here"],
    check: (run) => {
      expect(run.result["tokenizer_id"]).toBe("not/here");
      expect(run.err).toContain("--tokenizer not/here is not on this machine");
    },
  },
  "--request-rate": {
    argv: ["--request-rate", "40"],
    check: (run) => {
      const times = intended(run);
      expect(times[0]).toBe(0);
      // Normalised: the last leaves at (N−1)/rate.
      expect(times.at(-1)).toBeCloseTo(3000 / 40, 3);
      expect(run.result["request_rate"]).toBe(40);
      expect(onlyName(run)).toMatch(/^openai-chat-40\.0qps-m-\d{8}-\d{6}\.json$/);
    },
  },
  "--burstiness": {
    argv: ["--request-rate", "40", "--burstiness", "inf"],
    without: ["--request-rate", "40"],
    check: (run) => expect(intended(run).map((at) => Math.round(at))).toEqual([0, 25, 50, 75]),
  },
  "--no-normalize": {
    argv: ["--request-rate", "40", "--no-normalize"],
    without: ["--request-rate", "40"],
    check: (run) => expect(Math.abs((intended(run).at(-1) ?? 0) - 75)).toBeGreaterThan(0.01),
  },
  "--max-concurrency": {
    argv: ["--max-concurrency", "1"],
    check: (run) => {
      const [, second] = run.records;
      expect(second?.sent_ms ?? 0).toBeGreaterThanOrEqual(run.records[0]?.end_ms ?? Infinity);
      expect(run.result).toMatchObject({ max_concurrency: 1, max_concurrent_requests: 1 });
      expect(onlyName(run)).toContain("-concurrency1-");
    },
  },
  "--ramp-up-strategy": {
    argv: [
      "--ramp-up-strategy",
      "exponential",
      "--ramp-up-start-rps",
      "20",
      "--ramp-up-end-rps",
      "80",
      "--burstiness",
      "inf",
    ],
    check: (run) => {
      // p = 1/3, 2/3, 1: rates 20·4^p.
      const gaps = [1, 2, 3].map((i) => 1000 / (20 * 4 ** (i / 3)));
      const want = [0, gaps[0], (gaps[0] as number) + (gaps[1] as number), gaps.reduce((a, b) => a + b)];
      intended(run).forEach((at, i) => expect(at).toBeCloseTo(want[i] as number, 2));
      expect(run.result).toMatchObject({
        ramp_up_strategy: "exponential",
        ramp_up_start_rps: 20,
        ramp_up_end_rps: 80,
      });
      expect(onlyName(run)).toMatch(/^openai-chat-ramp-up-exponential-20qps-80qps-m-/);
    },
  },
  "--ramp-up-start-rps": {
    argv: [
      "--ramp-up-strategy",
      "linear",
      "--ramp-up-start-rps",
      "10",
      "--ramp-up-end-rps",
      "100",
      "--burstiness",
      "inf",
    ],
    without: [
      "--ramp-up-strategy",
      "linear",
      "--ramp-up-start-rps",
      "0",
      "--ramp-up-end-rps",
      "100",
      "--burstiness",
      "inf",
    ],
    check: (run) => expect(intended(run)[1]).toBeCloseTo(1000 / (10 + 90 / 3), 2),
  },
  "--ramp-up-end-rps": {
    argv: [
      "--ramp-up-strategy",
      "linear",
      "--ramp-up-start-rps",
      "0",
      "--ramp-up-end-rps",
      "90",
      "--burstiness",
      "inf",
    ],
    without: [
      "--ramp-up-strategy",
      "linear",
      "--ramp-up-start-rps",
      "0",
      "--ramp-up-end-rps",
      "120",
      "--burstiness",
      "inf",
    ],
    check: (run) => expect(intended(run).at(-1)).toBeCloseTo(1000 / 30 + 1000 / 60 + 1000 / 90, 2),
  },
  "--logprobs": {
    argv: ["--logprobs", "4"],
    check: (run) => everyBody(run, { logprobs: true, top_logprobs: 4 }),
  },
  "--top-p": { argv: ["--top-p", "0.75"], check: (run) => everyBody(run, { top_p: 0.75 }) },
  "--top-k": { argv: ["--top-k", "-1"], check: (run) => everyBody(run, { top_k: -1 }) },
  "--min-p": { argv: ["--min-p=0.1"], check: (run) => everyBody(run, { min_p: 0.1 }) },
  "--temperature": {
    argv: ["--temperature", "0.5"],
    check: (run) => everyBody(run, { temperature: 0.5 }),
  },
  "--ignore-eos": {
    argv: ["--ignore-eos"],
    check: (run) => {
      everyBody(run, { ignore_eos: true });
      expect(run.bodies.map((body) => body["min_tokens"])).toEqual([2, 3, 4, 5]);
    },
  },
  "--use-beam-search": {
    argv: ["--use-beam-search"],
    check: (run) => everyBody(run, { use_beam_search: true }),
  },
  "--extra-body": {
    argv: ["--extra-body", '{"chat_template_kwargs":{"thinking":false}}'],
    check: (run) => everyBody(run, { chat_template_kwargs: { thinking: false } }),
  },
  "--hyperparameter-path": {
    argv: ["--hyperparameter-path", hyper, "--top-p", "0.9", "--extra-body", '{"max_tokens":5}'],
    without: ["--top-p", "0.9", "--extra-body", '{"max_tokens":5}'],
    check: (run) => everyBody(run, { top_p: 0.25, max_tokens: 77, nested: { a: [1, 2] } }),
  },
  "--lora-modules": {
    argv: ["--lora-modules", "ada", "bob"],
    check: (run) => {
      for (const body of run.bodies) expect(["ada", "bob"]).toContain(body["model"]);
    },
  },
  "--lora-assignment": {
    argv: ["--lora-modules", "ada", "bob", "--lora-assignment", "round-robin", "--max-concurrency", "1"],
    without: ["--lora-modules", "ada", "bob", "--seed", "1", "--max-concurrency", "1"],
    check: (run) => expect(run.bodies.map((body) => body["model"])).toEqual(["ada", "bob", "ada", "bob"]),
  },
  "--profile": {
    argv: ["--profile"],
    check: (run) => {
      const load = run.paths.filter((path) => !path.endsWith("/tokenize"));
      expect(load[0]).toBe("/start_profile");
      expect(load.at(-1)).toBe("/stop_profile");
      expect(load).toHaveLength(6);
    },
  },
  "--goodput": {
    argv: ["--goodput", "ttft:60000", "tpot:60000", "e2el:0.001"],
    check: (run) => expect(run.result["request_goodput"]).toBe(0),
  },
  "--percentile-metrics": {
    argv: ["--percentile-metrics", "e2el,output_len"],
    check: (run) => {
      expect(run.result).toHaveProperty("p99_e2el_ms");
      expect(run.result).toMatchObject({ mean_output_len: 3, std_output_len: 0, p99_output_len: 3 });
      expect(run.result).not.toHaveProperty("mean_ttft_ms");
      // Only FastDeploy has this metric: its file is written, with its odd key.
      expect(run.result).toHaveProperty("request_goodput:");
    },
  },
  "--metric-percentiles": {
    argv: ["--metric-percentiles", "25,50,99.9"],
    check: (run) => {
      for (const p of ["p25", "p50", "p99.9"]) expect(run.result).toHaveProperty([`${p}_ttft_ms`]);
      expect(run.result).not.toHaveProperty("p99_ttft_ms");
    },
  },
  "--request-id-prefix": {
    argv: ["--request-id-prefix", "mine-"],
    check: (run) => {
      expect(run.measured.map(({ headers }) => headers["x-request-id"])).toEqual([
        "mine-0",
        "mine-1",
        "mine-2",
        "mine-3",
      ]);
    },
  },
  "--ready-check-timeout-sec": {
    argv: [],
    rest: ["--model", "m", "--result-dir", "RESULTS", "--save-result"],
    check: (run) => {
      const [first] = run.all.filter(({ path }) => path.endsWith("/completions"));
      expect(first?.headers["x-request-id"]).toBeUndefined();
      const body = JSON.parse(first?.body ?? "{}") as Json;
      expect(body["max_tokens"]).toBe(1);
      expect(PROMPTS).not.toContain(content(body));
    },
  },
  "--num-warmups": {
    argv: ["--num-warmups", "2"],
    check: (run) => {
      const side = run.all.filter(
        ({ path, headers }) => path.endsWith("/completions") && headers["x-request-id"] === undefined,
      );
      expect(side).toHaveLength(2);
      for (const { body } of side) expect(PROMPTS).not.toContain(content(JSON.parse(body) as Json));
      expect(run.manifest.plan.warmup_duplicates).toBe(0);
      expect(run.records).toHaveLength(4);
    },
  },
  "--probe-request-rate": {
    argv: ["--probe-request-rate", "50", "--request-rate", "20", "--max-concurrency", "1"],
    without: ["--request-rate", "20", "--max-concurrency", "1"],
    check: (run) => {
      const probes = run.all.filter(({ body }) => body.includes('"Hi"'));
      // The load lasts 150 ms; a probe begins 20 ms after the one before has ended.
      expect(probes.length).toBeGreaterThanOrEqual(2);
      expect(JSON.parse(probes[0]?.body ?? "{}")).toMatchObject({ max_tokens: 1 });
      expect(run.result).toMatchObject({ probe_completed: probes.length, probe_failed: 0, completed: 4 });
      expect(run.records).toHaveLength(4);
    },
  },
  "--label": {
    argv: ["--label", "night"],
    check: (run) => {
      expect(run.result["label"]).toBe("night");
      expect(onlyName(run)).toMatch(/^night-infqps-m-/);
    },
  },
  "--save-result": {
    argv: ["--save-result"],
    rest: ["--model", "m", "--result-dir", "RESULTS", "--ready-check-timeout-sec", "0"],
    without: [],
    check: (run) => expect(Object.keys(run.results)).toHaveLength(1),
  },
  "--save-detailed": {
    argv: ["--save-detailed", "--max-concurrency", "1"],
    check: (run) => {
      expect(run.result["generated_texts"]).toEqual(["abc", "abc", "abc", "abc"]);
      expect(run.result["output_lens"]).toEqual([3, 3, 3, 3]);
      expect(run.records.map((record) => record.input_text)).toEqual(PROMPTS.slice(0, 4));
    },
  },
  "--append-result": {
    argv: ["--append-result", "--result-filename", "all.json"],
    without: ["--result-filename", "all.json"],
    existing: { "all.json": '{"old":1}' },
    check: (run) => {
      const lines = (run.results["all.json"] ?? "").split("\n").map((line) => JSON.parse(line) as Json);
      expect(lines).toHaveLength(2);
      expect(lines[0]).toEqual({ old: 1 });
      expect(lines[1]).toMatchObject({ completed: 4 });
    },
  },
  "--metadata": {
    argv: ["--metadata", "version=1=2", "tp=8"],
    check: (run) => expect(run.result).toMatchObject({ version: "1=2", tp: "8" }),
  },
  "--result-dir": {
    argv: ["--result-dir", join(folder, "elsewhere", "deep")],
    check: (run) => {
      expect(Object.keys(run.results)).toEqual([]);
      expect(run.err).toContain(join("elsewhere", "deep"));
    },
  },
  "--result-filename": {
    argv: ["--result-filename", "mine.json"],
    check: (run) => expect(Object.keys(run.results)).toEqual(["mine.json"]),
  },
  "--disable-tqdm": { argv: ["--disable-tqdm"], check: (run) => expect(run.err).not.toContain("run folder") },
  "--debug": {
    argv: ["--debug"],
    check: (run) => expect(run.err.split("\n").filter((line) => line.startsWith('{"'))).toHaveLength(4),
  },
  "--random-input-len": {
    argv: [],
    dataset: MADE_UP,
    check: (run) => expect(run.bodies.map(words)).toEqual([40, 40, 40, 40]),
  },
  "--random-output-len": { argv: [], dataset: MADE_UP, check: (run) => everyBody(run, { max_tokens: 6 }) },
  "--random-prefix-len": {
    argv: [],
    dataset: [...MADE_UP, "--random-prefix-len", "10"],
    check: (run) => {
      const starts = new Set(prompts(run).map((text) => String(text).split(" ").slice(0, 10).join(" ")));
      expect([starts.size, ...run.bodies.map(words)]).toEqual([1, 50, 50, 50, 50]);
    },
  },
  "--random-range-ratio": {
    argv: [],
    dataset: [...MADE_UP, "--random-range-ratio", "0.5"],
    check: (run) => {
      for (const body of run.bodies) {
        expect(words(body)).toBeGreaterThanOrEqual(20);
        expect(words(body)).toBeLessThanOrEqual(60);
      }
      expect(new Set(run.bodies.map(words)).size).toBeGreaterThan(1);
    },
  },
};

/** COMPAT B, line by line, and a flag of vLLM's that changes what is sent. */
const FLAGS =
  "--backend --base-url --host --port --endpoint --header --dataset-name --dataset-path --num-prompts --no-oversample --seed --shuffle --model --served-model-name --tokenizer --request-rate --burstiness --max-concurrency --ramp-up-strategy --ramp-up-start-rps --ramp-up-end-rps --logprobs --top-p --top-k --min-p --temperature --ignore-eos --use-beam-search --extra-body --hyperparameter-path --lora-modules --lora-assignment --profile --goodput --percentile-metrics --metric-percentiles --request-id-prefix --ready-check-timeout-sec --num-warmups --probe-request-rate --label --save-result --save-detailed --append-result --metadata --result-dir --result-filename --disable-tqdm --debug --random-input-len --random-output-len --random-prefix-len --random-range-ratio --no-normalize".split(
    " ",
  );

describe("bench: every flag of COMPAT B is in force", () => {
  const usual = runCompat("bench", [...DATASET, ...ADDRESS, ...REST]);

  it("the table holds them all", () => {
    expect(Object.keys(ROWS).sort()).toEqual([...FLAGS].sort());
  });

  it.each(Object.entries(ROWS))("%s", async (_flag, row) => {
    const around = [...(row.dataset ?? DATASET), ...(row.address ?? ADDRESS), ...(row.rest ?? REST)];
    const options = row.existing === undefined ? {} : { existing: row.existing };
    const run = await runCompat("bench", [...around, ...row.argv], options);
    expect(run.code, run.err).toBe(0);
    await row.check(run);
    const without =
      row.without === undefined
        ? await usual
        : await runCompat("bench", [...around, ...row.without], options);
    expect(without.code, without.err).toBe(0);
    await expect((async () => row.check(without))()).rejects.toThrow();
  });
});
