/** `replay --backend vllm|llama-cpp` by the command line: which one is taken, flags that go through, lengths, a death in a run, mistakes. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { bench } from "../../src/cli/commands/bench.ts";
import { replay } from "../../src/cli/commands/replay.ts";
import { hasEngineFlags } from "../../src/cli/engine-flags.ts";
import { parseArguments } from "../../src/cli/parse-arguments.ts";
import { type CommandResult, recordsOf, runCommand } from "../support/run-command.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const env = {
  PATH: process.env["PATH"] ?? "",
  PYTHONPATH: join(root, "test/fake-engines/vllm-package"),
  PYTHONDONTWRITEBYTECODE: "1",
};
const python = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status === 0;
if (!python) console.warn("no python3 of 3.9 or later: runs on vLLM's child are skipped");
const engines = join(root, ".cache/engines");
const library = join(engines, "node-llama-cpp");
const gguf = join(engines, "tiny.gguf");
const llama = existsSync(join(library, "node_modules/node-llama-cpp")) && existsSync(gguf);
if (!llama)
  console.warn("node-llama-cpp is not set up, its runs are skipped: node scripts/engines/node-llama-cpp.mjs");

const folder = mkdtempSync(join(tmpdir(), "reprise-inside-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const lengths = join(folder, "lengths.jsonl");
writeFileSync(
  lengths,
  [
    {
      timestamp: 0,
      queries: [
        { prompt_length: 120, response_length: 9 },
        { prompt_length: 31, response_length: 4 },
      ],
    },
    { timestamp: 40, queries: [{ prompt_length: 64, response_length: 1 }] },
  ]
    .map((row) => `${JSON.stringify(row)}\n`)
    .join(""),
);
let outs = 0;
const run = async (...argv: string[]): Promise<CommandResult & { readonly folder: string }> => {
  const out = join(folder, `run${outs++}`);
  return { ...(await runCommand(replay, [...argv, "--out", out], env)), folder: out };
};
const manifestOf = (path: string): { target: Record<string, unknown>; options: Record<string, unknown> } =>
  JSON.parse(readFileSync(join(path, "manifest.json"), "utf8")) as ReturnType<typeof manifestOf>;

describe("what --backend vllm means", () => {
  const given = (...argv: string[]): Record<string, unknown> => {
    const parsed = parseArguments(replay, argv, 100);
    return parsed.kind === "parsed" ? parsed.value.given : {};
  };

  it("takes flags of the engine only where the engine is meant", () => {
    expect(hasEngineFlags(["--backend", "vllm"])).toBe(true);
    expect(hasEngineFlags(["--backend=vllm", "t.jsonl"])).toBe(true);
    for (const address of [
      ["--base-url", "http://h"],
      ["--port=8000"],
      ["--host", "h"],
      ["--endpoint", "/v1/completions"],
      ["--base_url=http://h"],
    ])
      expect(hasEngineFlags(["--backend", "vllm", ...address])).toBe(false);
    expect(hasEngineFlags(["--backend", "openai"])).toBe(false);
    expect(hasEngineFlags(["--model", "vllm"])).toBe(false);
    expect(
      given(
        "t.jsonl",
        "--backend",
        "vllm",
        "--model",
        "m",
        "--max_num_seqs",
        "8",
        "--enforce-eager",
        "--no-enable-chunked-prefill",
        "-tp",
        "2",
        "--dtype=half",
        "--engine",
        "block-size=16",
        "--seed",
        "3",
      ),
    ).toMatchObject({
      seed: 3,
      model: "m",
      engine: {
        "max-num-seqs": "8",
        "enforce-eager": "true",
        "enable-chunked-prefill": "false",
        "tensor-parallel-size": "2",
        dtype: "half",
        "block-size": "16",
      },
    });
    expect(() => given("t.jsonl", "--backend", "vllm", "--port", "1", "--max-num-seqs", "8")).toThrow(
      /unknown option --max-num-seqs/,
    );
    expect(() => parseArguments(bench, ["--backend", "vllm", "--max-num-seqs", "8"], 100)).toThrow(
      /unknown option/,
    );
  });

  it("what cannot be meant together is refused before anything is started", async () => {
    const mistakes: readonly [RegExp, ...string[]][] = [
      [/needs --model/, "--backend", "vllm"],
      [
        /--api-key-file: --backend vllm runs in this process/,
        "--backend",
        "vllm",
        "--model",
        "m",
        "--api-key-file",
        "f",
      ],
      [
        /--engine-metrics: --backend vllm has no address/,
        "--backend",
        "vllm",
        "--model",
        "m",
        "--engine-metrics",
        "http://h",
      ],
      [
        /--use-beam-search: an engine in this process/,
        "--backend",
        "vllm",
        "--model",
        "m",
        "--use-beam-search",
      ],
      [/--lanes: --backend vllm runs in this process/, "--backend", "vllm", "--model", "m", "--lanes", "2"],
      [
        /--backend llama-cpp and an address contradict/,
        "--backend",
        "llama-cpp",
        "--model",
        "m",
        "--port",
        "1",
      ],
      [
        /--tokenizer: --backend llama-cpp uses the model's own/,
        "--backend",
        "llama-cpp",
        "--model",
        "m",
        "--tokenizer",
        "t",
      ],
      [/--engine sets up an engine in this process, and this run has none/, "--engine", "sequences=3"],
    ];
    for (const [message, ...argv] of mistakes) {
      const done = await run(lengths, ...argv);
      expect([done.code, done.err, existsSync(done.folder)]).toEqual([
        2,
        expect.stringMatching(message),
        false,
      ]);
    }
    const missing = await run(
      lengths,
      "--backend",
      "llama-cpp",
      "--model",
      "/no/such.gguf",
      "--engine",
      `library=${folder}`,
    );
    expect([missing.code, missing.err]).toEqual([
      2,
      expect.stringMatching(/node-llama-cpp is not installed there/),
    ]);
  });

  it("with an address it is the server, on bench always", async () => {
    const there = await run(lengths, "--backend", "vllm", "--model", "m", "--base-url", "http://127.0.0.1:1");
    expect([there.code, there.err]).toEqual([
      3,
      expect.stringMatching(/note: --backend vllm with an address: a vLLM server[^]*cannot reach/),
    ]);
    const load = [
      "--backend",
      "vllm",
      "--model",
      "m",
      "--port",
      "1",
      "--num-prompts",
      "1",
      "--ready-check-timeout-sec",
      "0",
    ];
    const done = await runCommand(bench, [...load, "--out", join(folder, "bench")], env);
    expect([done.code, done.err]).toEqual([3, expect.stringMatching(/cannot reach http:\/\/127.0.0.1:1/)]);
  });
});

describe.skipIf(!python)("replay on vLLM's child", () => {
  const flags = ["--backend", "vllm", "--model", "fake"];

  it(
    "serves a trace with exact lengths, under the flags of the other tool",
    { timeout: 60_000 },
    async () => {
      const done = await run(
        "--trace-file",
        lengths,
        ...flags,
        "--max-num-seqs",
        "4",
        "--enforce-eager",
        "--trust-remote-code",
        "--no-such",
      );
      // Its own parser judges what is not ours.
      expect([done.code, done.err]).toEqual([
        2,
        expect.stringMatching(/unrecognized arguments: --trust-remote-code --no-such/),
      ]);
      const good = await run("--trace-file", lengths, ...flags, "--max-num-seqs", "4", "--enforce-eager");
      expect(good.err).toMatch(/note: --backend vllm without an address: vLLM's engine itself/);
      // 4 is "valid load not reached", which a busy machine may bring about.
      expect([0, 4]).toContain(good.code);
      const records = [...recordsOf(good.folder).values()];
      const seen = records.map((record) => [
        record.status,
        (record.prompt_tokens as number) - 1,
        record.output_tokens,
        record.prompt_tokens_source,
      ]);
      // The made-up vLLM's tokenizer puts one token before each text.
      expect(seen).toHaveLength(3);
      expect(seen).toEqual(
        expect.arrayContaining([
          ["ok", 120, 9, "server"],
          ["ok", 31, 4, "server"],
          ["ok", 64, 1, "server"],
        ]),
      );
      expect(records.every((record) => record.engine?.source === "vllm request stats")).toBe(true);
      const { target, options } = manifestOf(good.folder);
      expect(target).toMatchObject({
        url: "in-process",
        backend: "vllm",
        model: "fake",
        server: { engine: "vllm", max_num_seqs: 4 },
      });
      expect(options["engine"]).toEqual({ "max-num-seqs": "4", "enforce-eager": "true" });
      expect(good.out).toMatch(/Successful requests: +3/);
    },
  );

  it(
    "a death in the run fails what is left, tells the last lines, and the run ends",
    { timeout: 60_000 },
    async () => {
      const rows = Array.from({ length: 6 }, (_, at) => ({
        request_id: `r${at}`,
        job_id: `j${at}`,
        arrival_ms: at * 60,
        prompt: "go",
        max_tokens: 8,
      }));
      const trace = join(folder, "dies.jsonl");
      writeFileSync(trace, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
      const done = await run(trace, ...flags, "--die-after", "20");
      expect(done.err).toMatch(
        /warning: the engine's process ended \(exit code 7\)\nwarning:[^]*CUDA out of memory/,
      );
      const codes = [...recordsOf(done.folder).values()].map(
        (record) => record.failure?.code ?? record.status,
      );
      expect(codes).toHaveLength(6);
      expect(codes.filter((code) => code === "reset").length).toBeGreaterThan(0);
      expect(codes.filter((code) => code === "connect").length).toBeGreaterThan(0);
      expect(codes.slice(0, 1)).toEqual(["ok"]);
      expect(done.code).toBe(1);
    },
  );

  it("a job's turns are chat messages by the engine's own template", { timeout: 60_000 }, async () => {
    const say = (role: string, content: string): object => ({ role, content });
    const trace = join(folder, "chat.jsonl");
    const turns = [
      {
        request_id: "a0",
        job_id: "a",
        turn: 0,
        arrival_ms: 0,
        messages: [say("user", "one")],
        max_tokens: 3,
      },
      {
        request_id: "a1",
        job_id: "a",
        turn: 1,
        arrival_ms: 10,
        messages: [say("user", "one"), say("assistant", "two"), say("user", "three")],
        max_tokens: 3,
      },
    ];
    writeFileSync(trace, turns.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const done = await run(trace, ...flags);
    const records = recordsOf(done.folder);
    expect(records.get("a1")?.prompt_tokens).toBe("<user>one<assistant>two<user>three<assistant>".length);
    expect(records.get("a1")?.status).toBe("ok");
  });
});

describe.skipIf(!llama)("llama.cpp in the process", () => {
  const flags = [
    "--backend",
    "llama-cpp",
    "--model",
    gguf,
    "--engine",
    `library=${library}`,
    "context_size=2048",
    "threads=1",
    "gpu=off",
  ];

  it("serves a trace with exact lengths", { timeout: 60_000 }, async () => {
    const done = await run(lengths, ...flags, "sequences=2");
    const records = [...recordsOf(done.folder).values()];
    const seen = records.map((record) => [
      record.status,
      (record.prompt_tokens as number) - 1,
      record.output_tokens,
    ]);
    expect(seen).toHaveLength(3);
    expect(seen).toEqual(
      expect.arrayContaining([
        ["ok", 120, 9],
        ["ok", 31, 4],
        ["ok", 64, 1],
      ]),
    );
    expect(manifestOf(done.folder).target).toMatchObject({
      url: "in-process",
      backend: "llama-cpp",
      model: "tiny.gguf",
      server: { engine: "llama.cpp", max_num_seqs: 2 },
    });
  });

  it("serves a bench, sampling and all", { timeout: 60_000 }, async () => {
    const load = [
      "--dataset-name",
      "random",
      "--random-input-len",
      "40",
      "--random-output-len",
      "6",
      "--num-prompts",
      "5",
      "--max-concurrency",
      "3",
    ];
    const out = join(folder, "llama-bench");
    const done = await runCommand(
      bench,
      [...flags, ...load, "--temperature", "0.7", "--top-p", "0.9", "--ignore-eos", "--out", out],
      env,
    );
    expect(done.out).toMatch(/Successful requests: +5/);
    expect([...recordsOf(out).values()].map((record) => record.output_tokens)).toEqual([6, 6, 6, 6, 6]);
  });
});
