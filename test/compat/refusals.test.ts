/** Mistakes in command lines of other tools: one line, exit 2, nothing sent. And what is named and ignored. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bench } from "../../src/cli/commands/bench.ts";
import { replay } from "../../src/cli/commands/replay.ts";
import { parseArguments } from "../../src/cli/parse-arguments.ts";
import { startStub, type StubServer } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";
import {
  answer,
  type CompatOptions,
  type CompatRun,
  file,
  removeFolder,
  runCompat,
} from "../support/compat-stub.ts";

afterAll(removeFolder);

const custom = file("custom.jsonl", [{ prompt: "a", output_tokens: 2 }]);
const trace = file("trace.jsonl", [{ timestamp: 0, queries: [{ prompt_length: 4, response_length: 2 }] }]);
const notMapping = file("list.yaml", "- 1\n- 2\n");
const notYaml = file("bad.yaml", "a: 1\nb: [1\n");
const badRow = file("bad.jsonl", '{"prompt":"a"}\n{"prompt":5}\n');

const BENCH: readonly (readonly [string, RegExp])[] = [
  ["--burstiness 0", /--burstiness: 0 is out of range/],
  ["--burstiness -1", /--burstiness: -1 is out of range/],
  ["--request-rate 0", /--request-rate: 0 is out of range/],
  ["--request-rate -2", /--request-rate: -2 is out of range/],
  ["--request-rate nan", /"nan" is not a number/],
  [
    "--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 2 --request-rate 3",
    /--ramp-up-strategy and --request-rate/,
  ],
  ["--ramp-up-strategy linear --ramp-up-start-rps 1", /needs both --ramp-up-start-rps and --ramp-up-end-rps/],
  ["--ramp-up-start-rps 1 --ramp-up-end-rps 2", /need --ramp-up-strategy/],
  ["--ramp-up-strategy linear --ramp-up-start-rps 5 --ramp-up-end-rps 2", /--ramp-up-start-rps 5 is above/],
  [
    "--ramp-up-strategy linear --ramp-up-start-rps -1 --ramp-up-end-rps 2",
    /--ramp-up-start-rps: -1 is out of range/,
  ],
  [
    "--ramp-up-strategy exponential --ramp-up-start-rps 0 --ramp-up-end-rps 2",
    /exponential ramp cannot start at 0/,
  ],
  [
    "--ramp-up-strategy cubic --ramp-up-start-rps 1 --ramp-up-end-rps 2",
    /"cubic" is not one of linear, exponential/,
  ],
  ["--goodput ttfts:200", /unknown metric "ttfts"/],
  ["--goodput itl:200", /"itl" is not one of ttft, tpot, e2el/],
  ["--goodput ttft:-1", /at least 0/],
  ["--goodput ttft", /not NAME:MILLISECONDS/],
  ["--percentile-metrics ttft,tpto", /"tpto" is not a metric/],
  ["--metric-percentiles 101", /101 is out of range/],
  ["--metric-percentiles=-1", /-1 is out of range/],
  ["--metric-percentiles 50,many", /"many" is not a number/],
  ["--metadata tp", /"tp" is not KEY=VALUE/],
  ["--tokenizer-mode fast", /"fast" is not one of auto, slow, mistral, custom/],
  ["--header tp", /"tp" is not KEY=VALUE/],
  ["--max-concurrency 0", /--max-concurrency: 0 is out of range/],
  ["--num-prompts 0", /--num-prompts: 0 is out of range/],
  ["--num-prompts -5", /--num-prompts: -5 is out of range/],
  ["--num-warmups -1", /--num-warmups: -1 is out of range/],
  ["--probe-request-rate -1", /--probe-request-rate: -1 is out of range/],
  ["--ready-check-timeout-sec -1", /--ready-check-timeout-sec/],
  ["--backend ollama --ignore-eos", /--ignore-eos: backend ollama cannot carry it/],
  ["--backend anthropic-messages --ignore-eos", /--ignore-eos: backend anthropic-messages cannot/],
  ["--backend vllm-rerank --ignore-eos", /--ignore-eos: backend vllm-rerank cannot/],
  ["--backend opnai", /unknown backend "opnai"/],
  ["--backend openai --endpoint /v1/chat/completions", /contradict each other/],
  ["--backend openai-chat --endpoint /v1/completions", /contradict each other/],
  ["--dataset-name sharegtp", /"sharegtp" is not known/],
  ["--dataset-name sharegpt", /expected array/],
  ["--dataset-name random --dataset-path x.jsonl", /--dataset-path contradicts it/],
  ["--dataset-path nowhere.jsonl", /nowhere\.jsonl: no such file/],
  [`--dataset-path ${badRow}`, /bad\.jsonl:2: prompt/],
  ["--random-range-ratio 1 --dataset-name random --num-prompts 2", /--random-range-ratio: 1 is outside/],
  ["--random-output-len 0", /--random-output-len: 0 is out of range/],
  ["--extra-body {", /--extra-body: not JSON/],
  ["--extra-body [1]", /not a JSON object/],
  ["--hyperparameter-path nowhere.yaml", /nowhere\.yaml: no such file/],
  [`--hyperparameter-path ${notMapping}`, /not a mapping of body fields/],
  [`--hyperparameter-path ${notYaml}`, /bad\.yaml:\d+: /],
  ["--backend sglang --top-k 5", /--top-k: backend sglang cannot carry it/],
  ["--backend tgi --temperature 0.5", /--temperature: backend tgi cannot carry it/],
  ["--backend openai-chat --best-of 2", /--best-of: backend openai-chat cannot carry it/],
  ["--backend tgi --use-beam-search", /--use-beam-search: backend tgi cannot carry it/],
  ["--top-p 1.5", /--top-p: 1.5 is out of range/],
  ["--temperature -1", /--temperature: -1 is out of range/],
  ["--logprobs -1", /--logprobs: -1 is out of range/],
  ["--lora-assignment random", /--lora-assignment needs --lora-modules/],
  ["--lora-modules a --lora-assignment rr", /"rr" is not one of random, round-robin/],
  ["--self-timed", /tells no arrival times/],
  ["--base-url http://h:1 --port 2", /--base-url and --port contradict/],
  ["--result-format csv", /"csv" is not one of vllm, fastdeploy/],
  ["--table vlm", /"vlm" is not one of vllm, fastdeploy, trace-replayer, none/],
  ["--request-rat 5", /unknown option --request-rat/],
];

const REPLAY: readonly (readonly [string, RegExp])[] = [
  ["--arrival-type normal", /"normal" is not one of/],
  ["--arrival-rate 0", /--arrival-rate: 0 is out of range/],
  ["--max-requests 0", /--max-requests 0 leaves nothing/],
  ["--max-requests -2", /--max-requests: -2 is out of range/],
  ["--input-length 0", /--input-length: 0 is out of range/],
  ["--output-length 0", /--output-length: 0 is out of range/],
  ["--best-of 0", /--best-of: 0 is out of range/],
  ["--backend openai-chat --best-of 2", /--best-of: backend openai-chat cannot carry it/],
  ["--backend ollama --use-beam-search", /--use-beam-search: backend ollama cannot carry it/],
  ["--metadata tp", /"tp" is not KEY=VALUE/],
];

describe("refusals", () => {
  let stub: StubServer;
  beforeAll(async () => {
    stub = await startStub(() => []);
  });
  afterAll(() => stub.close());

  const address = (words: readonly string[]): string[] =>
    words.includes("--base-url") || words.includes("--port") ? [] : ["--base-url", stub.url];

  const refused = async (
    command: "bench" | "replay",
    argv: readonly string[],
    message: RegExp,
  ): Promise<void> => {
    const run = await runCompat(command, argv);
    expect(run.err.trimEnd().split("\n").at(-1)).toMatch(message);
    expect(run.code).toBe(2);
    expect(stub.requests).toHaveLength(0);
    expect(run.manifest).toEqual({});
  };

  it.each(BENCH)("bench %s", async (line, message) => {
    const words = line.split(" ");
    const dataset = words.includes("--dataset-path") ? [] : ["--dataset-path", custom];
    const made = words.includes("random") && words.includes("--dataset-name") ? [] : dataset;
    await refused("bench", [...made, "--model", "m", ...address(words), ...words], message);
  });

  it.each(REPLAY)("replay %s", async (line, message) => {
    const words = line.split(" ");
    await refused("replay", ["--trace-file", trace, "--model", "m", ...address(words), ...words], message);
  });
});

describe("harmless flags are named and ignored", () => {
  it.each([
    [
      bench,
      "--trust-remote-code --tokenizer-mode auto --no-stream --disable-shuffle --skip-chat-template --plot-timeline --timeline-itl-thresholds 25,50",
      7,
    ],
    [replay, "--trust-remote-code --tokenizer-mode slow", 2],
  ] as const)("%#", (verb, line, count) => {
    const parsed = parseArguments(verb, line.split(" "), 100);
    if (parsed.kind !== "parsed") throw new Error("help");
    expect(parsed.value.ignored).toHaveLength(count);
    for (const text of parsed.value.ignored) expect(text).toMatch(/^--[a-z-]+ has no effect: /);
  });
});

describe("a server that starts late", () => {
  const waiting = (url: string, seconds: string, options: CompatOptions = {}): Promise<CompatRun> => {
    const words = ["--dataset-path", custom, "--num-prompts", "1", "--model", "m", "--base-url", url];
    return runCompat("bench", [...words, "--ready-check-timeout-sec", seconds], options);
  };

  it("is waited for within --ready-check-timeout-sec, by a real request", async () => {
    let asked = 0;
    const run = await waiting("URL", "20", {
      script: (request, index) =>
        request.path.endsWith("/completions") && asked++ === 0
          ? [{ bytes: response(["{}"], "length", { status: "503 Loading", type: "application/json" }) }]
          : answer(request, index),
    });
    expect(run.code, run.err).toBe(0);
    expect(run.paths.filter((path) => path.endsWith("/completions"))).toHaveLength(3);
    expect(run.measured).toHaveLength(1);
  });

  it("that never answers: exit 3 when the time is up, nothing measured", async () => {
    const run = await waiting("URL", "0.3", {
      script: (request) =>
        request.path.endsWith("/completions")
          ? []
          : [{ bytes: "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" }],
    });
    expect(run.code).toBe(3);
    expect(run.err).toMatch(/does not answer a one-token request/);
    expect(run.measured).toHaveLength(0);
    expect(run.manifest).toEqual({});
  });

  it("that nobody runs: exit 3", async () => {
    const run = await waiting("http://127.0.0.1:9", "0");
    expect(run.code).toBe(3);
    expect(run.err).toMatch(/cannot reach/);
  });
});
