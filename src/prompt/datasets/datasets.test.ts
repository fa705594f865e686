import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { mergingTokenizer } from "../../../test/prompt/made-tokenizers.ts";
import { createRng } from "../../core/random.ts";
import { createPromptComposer } from "../composer.ts";
import { type DatasetOptions, type DatasetTurn, loadDataset } from "./index.ts";

const data = join(dirname(fileURLToPath(import.meta.url)), "../../../../shared/data");
/** Words are tokens: lengths of text can be counted by hand. */
const words = mergingTokenizer("words", () => false);

const load = (name: string, options: Partial<DatasetOptions>, seed = 0) =>
  loadDataset(name, options, words, createRng(seed));

function file(text: string, name = "data.jsonl"): string {
  const path = join(mkdtempSync(join(tmpdir(), "reprise-dataset-")), name);
  writeFileSync(path, text);
  return path;
}

const textOf = (turn: DatasetTurn | undefined): string | null =>
  turn?.request.prompt.kind === "text" ? turn.request.prompt.text : null;

describe("random", () => {
  it("draws lengths around those asked for, behind a shared prefix", async () => {
    const { turns } = await load("random", {
      numPrompts: 2000,
      randomInputLen: 100,
      randomOutputLen: 40,
      randomPrefixLen: 32,
      randomRangeRatio: 0.25,
    });
    const inputs = turns.map((turn) => turn.planned_prompt_tokens as number);
    const outputs = turns.map((turn) => turn.request.max_tokens as number);
    expect([Math.min(...inputs), Math.max(...inputs)]).toEqual([32 + 75, 32 + 125]);
    expect([Math.min(...outputs), Math.max(...outputs)]).toEqual([30, 50]);
    expect(turns[0]?.request.forced_output_tokens).toBeNull();

    const composer = await createPromptComposer({ tokenizer: words, promptSeed: null, salt: "s" });
    const [a, b] = turns.map((turn, at) => {
      const prompt = composer.compose(turn.request, { request_id: `r${at}`, job_id: `r${at}` });
      return prompt.kind === "text" ? prompt.text.split(" ") : [];
    }) as [string[], string[]];
    expect(a.length).toBe(inputs[0]);
    expect(a.slice(0, 32)).toEqual(b.slice(0, 32));
    expect(a[32]).not.toBe(b[32]);
  });

  it("is exact without a range, seeded, and forces the output with --ignore-eos", async () => {
    const { turns } = await load("random", { numPrompts: 5, ignoreEos: true });
    expect(turns.map((turn) => turn.planned_prompt_tokens)).toEqual([1024, 1024, 1024, 1024, 1024]);
    expect(turns[0]?.request.forced_output_tokens).toBe(128);
    const range = { numPrompts: 50, randomRangeRatio: 0.5 };
    expect(await load("random", range, 1)).toEqual(await load("random", range, 1));
    expect(await load("random", range, 1)).not.toEqual(await load("random", range, 2));
  });

  it.each([
    [{ randomRangeRatio: 1 }, /--random-range-ratio: 1/],
    [{ randomRangeRatio: -0.1 }, /--random-range-ratio/],
    [{ randomInputLen: 0 }, /--random-input-len: 0/],
    [{ randomOutputLen: 0 }, /--random-output-len: 0/],
    [{ randomPrefixLen: -1 }, /--random-prefix-len: -1/],
    [{ numPrompts: 0 }, /--num-prompts: 0/],
  ])("%j is refused", async (options, message) => {
    await expect(load("random", options)).rejects.toThrow(message);
  });
});

describe("prefix_repetition", () => {
  it("shares each prefix evenly", async () => {
    const { turns } = await load("prefix_repetition", { numPrompts: 25, prefixRepetitionNumPrefixes: 10 });
    const uses = new Map<string, number>();
    for (const turn of turns) {
      expect(turn.planned_prompt_tokens).toBe(512);
      expect(turn.request.max_tokens).toBe(128);
      const id = turn.request.prompt.kind === "length" ? String(turn.request.prompt.hash_ids) : "";
      uses.set(id, (uses.get(id) ?? 0) + 1);
    }
    expect([...uses.values()].sort((a, b) => a - b)).toEqual([2, 2, 2, 2, 2, 3, 3, 3, 3, 3]);
    await expect(load("prefix_repetition", { numPrompts: 5 })).rejects.toThrow(/--num-prompts 5 is below/);
  });
});

describe("custom", () => {
  const path = file('{"prompt":"a b c","output_tokens":7}\n\n{"prompt":"d","more":1}\r\n{"prompt":"e f"}\n');

  it("takes rows in order, with their own output length where told", async () => {
    const { turns, notes } = await load("custom", { path, numPrompts: 2 });
    expect(turns.map(textOf)).toEqual(["a b c", "d"]);
    expect(turns.map((turn) => turn.request.max_tokens)).toEqual([7, 256]);
    expect(turns.map((turn) => turn.planned_prompt_tokens)).toEqual([3, 1]);
    expect(notes).toEqual([]);
  });

  it("fills a shortage by drawing again, and says so; shuffles before it takes", async () => {
    const { turns, notes } = await load("custom", { path, numPrompts: 40 });
    expect(turns.length).toBe(40);
    expect(turns.slice(0, 3).map(textOf)).toEqual(["a b c", "d", "e f"]);
    expect(new Set(turns.slice(3).map(textOf)).size).toBe(3);
    expect(notes.join()).toMatch(/3 rows for 40 prompts; 37 of them are sent again/);
    const firsts = new Set<string | null>();
    for (let seed = 0; seed < 20; seed++)
      firsts.add(textOf((await load("custom", { path, numPrompts: 1, shuffle: true }, seed)).turns[0]));
    expect(firsts.size).toBe(3);
    expect(await load("custom", { path, numPrompts: 40 }, 5)).toEqual(
      await load("custom", { path, numPrompts: 40 }, 5),
    );
  });

  it.each([
    ['{"prompt":"a"}\n{"promt":"b"}\n', /data\.jsonl:2: prompt: /],
    ['{"prompt":"a"},\n', /data\.jsonl:1: not JSON/],
    ['{"prompt":"a","output_tokens":0}', /data\.jsonl:1: output_tokens: /],
    ["\n\n", /no row in it/],
  ])("refuses %j by its line", async (text, message) => {
    await expect(load("custom", { path: file(text) })).rejects.toThrow(message);
  });

  it("needs its file", async () => {
    await expect(load("custom", {})).rejects.toThrow(/needs a file/);
    await expect(load("custom", { path: "/no/such.jsonl" })).rejects.toThrow(/no such file/);
    await expect(load("costum", {})).rejects.toThrow(/"costum" is not known/);
  });
});

describe("sharegpt", () => {
  it("takes first questions of a usable length and the length of their answers", async () => {
    const many = (n: number) => Array.from({ length: n }, () => "w").join(" ");
    const talk = (q: number, a: number) => ({
      conversations: [
        { from: "human", value: many(q) },
        { from: "gpt", value: many(a) },
        { from: "human", value: "more" },
      ],
    });
    const path = file(
      JSON.stringify([
        talk(3, 9),
        talk(4, 4),
        talk(1025, 9),
        { conversations: [] },
        talk(1000, 1049),
        talk(1000, 1048),
      ]),
      "sharegpt.json",
    );
    const { turns, notes } = await load("sharegpt", { path, numPrompts: 2 });
    expect(turns.map((turn) => [turn.planned_prompt_tokens, turn.request.max_tokens])).toEqual([
      [4, 4],
      [1000, 1048],
    ]);
    expect(notes.join()).toMatch(/3 conversations left out/);
    const fixed = await load("sharegpt", { path, numPrompts: 1, sharegptOutputLen: 30 });
    expect(fixed.turns[0]?.request.max_tokens).toBe(30);
  });
});

describe("EB and EBChat", () => {
  it("send what each row asks for", async () => {
    const path = file(
      `${JSON.stringify({
        text: "hello",
        temperature: 0.8,
        penalty_score: 1.1,
        frequency_score: 0.2,
        presence_score: 0.3,
        topp: 0.7,
        input_token_num: 12,
        max_dec_len: 99,
      })}\n`,
    );
    const [turn] = (await load("EB", { path, numPrompts: 1 })).turns;
    expect(turn?.planned_prompt_tokens).toBe(12);
    expect(turn?.request).toMatchObject({
      prompt: { kind: "text", text: "hello" },
      temperature: 0.8,
      max_tokens: 99,
      params: { repetition_penalty: 1.1, frequency_penalty: 0.2, presence_penalty: 0.3, top_p: 0.7 },
    });
  });

  it("keep the whole message list as context", async () => {
    const messages = [
      { role: "user", content: "a" },
      { role: "assistant", content: "b", extra: 1 },
      { role: "user", content: "c" },
    ];
    const path = file(
      `${JSON.stringify({ messages })}\n${JSON.stringify({ messages, max_tokens: 5, response_format: { type: "json_object" } })}`,
    );
    const { turns } = await load("EBChat", { path, numPrompts: 2 });
    expect(turns[0]?.request).toMatchObject({
      prompt: { kind: "messages", messages },
      max_tokens: 12288,
      params: null,
    });
    expect(turns[1]?.request).toMatchObject({
      max_tokens: 5,
      params: { response_format: { type: "json_object" } },
    });
  });
});

describe.skipIf(!existsSync(data))("on the sample data (skipped where it is absent)", () => {
  it("sonnet keeps to its length and shares its prefix", async () => {
    const { turns } = await load("sonnet", { path: join(data, "sonnet/sonnet.txt"), numPrompts: 20 });
    const texts = turns.map((turn) => (textOf(turn) as string).split("\n"));
    for (const turn of turns) {
      expect(turn.planned_prompt_tokens).toBeLessThanOrEqual(550);
      expect(turn.planned_prompt_tokens).toBeGreaterThan(450);
      expect(turn.planned_prompt_tokens).toBe((textOf(turn) as string).split(" ").length);
      expect(turn.request.max_tokens).toBe(150);
    }
    const shared = texts[0]?.findIndex((line, at) => texts.some((other) => other[at] !== line)) as number;
    // About (200 − 10) ÷ 7.5 words a line, after the task's own line.
    expect(shared).toBeGreaterThan(20);
    expect(shared).toBeLessThan(32);
    await expect(
      load("sonnet", { path: join(data, "sonnet/sonnet.txt"), sonnetPrefixLen: 600 }),
    ).rejects.toThrow(/--sonnet-prefix-len 600/);
  });

  it("burstgpt takes GPT-4's lengths, or says that there is none", async () => {
    const v3 = await load("burstgpt", { path: join(data, "burstgpt/burstgpt_v3_rows.csv"), numPrompts: 1 });
    expect(v3.turns[0]).toMatchObject({ planned_prompt_tokens: 906, planned_output_tokens: 446 });
    const own = file(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,x\n6,ChatGPT,9,0,9,x\n7,ChatGPT,1087,230,1317,x\n",
      "burst.csv",
    );
    const v1 = await load("burstgpt", { path: own, numPrompts: 2 });
    expect(v1.turns.map((turn) => turn.planned_prompt_tokens)).toEqual([472, 1087]);
    expect(v1.notes.join()).toMatch(/no row of GPT-4/);
  });

  it("timed_trace finds the block size by the rows", async () => {
    const path = join(data, "mooncake/conversation_trace.head.jsonl");
    const { turns, notes } = await load("timed_trace", { path, numPrompts: 10 });
    expect(turns[0]?.offset_ms).toBe(0);
    expect(turns[0]?.request.prompt).toMatchObject({ kind: "length", block_tokens: 512 });
    expect(notes.join()).toMatch(/512/);
    const small = file('{"timestamp":2,"input_length":33,"output_length":4,"hash_ids":[1,2,3]}\n');
    const timed = await load("timed_trace", { path: small, numPrompts: 1, timeUnitMs: 1000 });
    expect(timed.turns[0]).toMatchObject({
      offset_ms: 2000,
      request: { prompt: { block_tokens: 16 }, max_tokens: 4 },
    });
  });
});
