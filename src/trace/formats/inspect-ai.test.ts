/** Inspect AI logs: model events as turns, attachments resolved, cached and failed calls left out; archives; messages alone. */
import { describe, expect, it } from "vitest";
import { linksOf, readWritten, rowsAddUp } from "../../../test/trace/written-trace.ts";
import { zipOf, type WrittenEntry } from "../../../test/trace/written-zip.ts";
import { takeSample } from "../sample.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspectAi } from "./inspect-ai.ts";

const T0 = Date.UTC(2025, 4, 12);
const iso = (ms: number): string => new Date(T0 + ms).toISOString();
const model = (from: number, to: number, more: object = {}): object => ({
  event: "model",
  model: "p/m",
  timestamp: iso(from),
  completed: iso(to),
  input: [{ role: "user", content: "attachment://abc" }],
  tools: [{ name: "bash", description: "d", parameters: { type: "object" } }],
  config: { temperature: 0.3, max_tokens: 50 },
  output: {
    choices: [
      {
        message: {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "c", function: "bash", arguments: { cmd: "ls" } }],
        },
      },
    ],
    usage: {
      input_tokens: 10,
      output_tokens: 4,
      total_tokens: 44,
      input_tokens_cache_read: 20,
      input_tokens_cache_write: 10,
    },
    time: 1,
  },
  ...more,
});
const log = (samples: unknown): object => ({ version: 2, status: "success", eval: {}, samples });

describe("inspect-ai", () => {
  const samples = [
    {
      id: "one",
      epoch: 1,
      attachments: { abc: "a long text" },
      events: [
        { event: "sample_init", timestamp: iso(0) },
        model(0, 1000),
        { event: "tool", function: "bash", timestamp: iso(1100), completed: iso(1600) },
        model(2000, 3000, {
          input: [
            { role: "user", content: "attachment://abc" },
            {
              role: "assistant",
              content: [{ type: "reasoning", reasoning: "hm" }],
              tool_calls: [{ id: "c", function: "bash", arguments: { cmd: "ls" } }],
            },
            { role: "tool", tool_call_id: "c", function: "bash", content: "files" },
          ],
          output: {
            choices: [],
            usage: { input_tokens: 70, output_tokens: 4, total_tokens: 74, input_tokens_cache_read: 30 },
          },
        }),
        model(3000, 3001, { cache: "read" }),
        model(3100, 3200, { error: "overloaded", output: { choices: [] } }),
        model(4000, 4000, { pending: true }),
      ],
    },
    { id: "two", epoch: 1 },
    { id: "one", epoch: 2, events: [model(500, 900)], attachments: {} },
  ];

  it("reads turns, tools and counts", async () => {
    const trace = await readWritten(inspectAi, log(samples));
    expect(linksOf(trace)).toEqual({
      "sample-one-epoch-1/0": [[], null],
      "sample-one-epoch-1/1": [["sample-one-epoch-1/0"], 1000],
      "sample-one-epoch-2/0": [[], null],
    });
    expect(trace.requests).toMatchObject([
      {
        temperature: 0.3,
        max_tokens: 50,
        recorded: { prompt_tokens: 40, output_tokens: 4, cached_tokens: 20 },
        prompt: {
          messages: [{ role: "user", content: "a long text" }],
          tools: [{ type: "function", function: { name: "bash" } }],
        },
      },
      {
        tool: [{ name: "bash", ms: 500 }],
        // the total says that the cached 30 are inside the 70
        recorded: { prompt_tokens: 70, output_tokens: 4, cached_tokens: 30 },
        prompt: {
          messages: [
            { role: "user", content: "a long text" },
            {
              role: "assistant",
              tool_calls: [{ id: "c", function: { name: "bash", arguments: '{"cmd":"ls"}' } }],
            },
            { role: "tool", tool_call_id: "c", content: "files" },
          ],
        },
      },
      // a text that the log does not hold stays as it is
      { arrival_ms: 500, prompt: { messages: [{ role: "user", content: "attachment://abc" }] } },
    ]);
    expect(trace.rows).toEqual({
      read: 9,
      used: 3,
      skipped: {
        "event sample_init": 1,
        "event tool": 1,
        "failed model call": 1,
        "model event answered from a local cache": 1,
        "model event without an end": 1,
        "sample without events": 1,
      },
      refused: 0,
    });
    expect(trace.notes).toEqual([
      "1 samples hold neither events nor messages: nothing of them can be replayed",
    ]);
  });

  it("refuses by place", async () => {
    await expect(
      readWritten(inspectAi, log([{ id: 1, events: [model(0, 1), model(0, 1, { timestamp: "noon" })] }])),
    ).rejects.toThrow(/samples\[0\]\.events\[1\]: "timestamp" is no instant/);
    await expect(readWritten(inspectAi, log("none"))).rejects.toThrow(/"samples" must be an array/);
  });
});

describe("inspect-ai samples without events", () => {
  const said = (role: string, content: string, more: object = {}): object => ({ role, content, ...more });
  const usage = { input_tokens: 30, output_tokens: 6, total_tokens: 36 };
  const sample = {
    id: "m",
    epoch: 1,
    messages: [
      said("system", "be good"),
      said("user", "q"),
      said("assistant", "shown as an example", { source: "input" }),
      said("user", "attachment://f00"),
      said("assistant", "", {
        source: "generate",
        model: "p/m",
        tool_calls: [{ id: "c", function: "bash", arguments: { cmd: "ls" } }],
      }),
      said("tool", "files", { tool_call_id: "c", function: "bash" }),
      said("assistant", "done", { source: "generate", id: "z" }),
      said("user", "never answered"),
    ],
    attachments: { f00: "the real question" },
    model_usage: { "p/m": { input_tokens: 50, output_tokens: 10, total_tokens: 60 } },
    output: { model: "p/m", choices: [{ message: said("assistant", "done", { id: "z" }) }], usage },
  };

  it("makes turns of the messages; only the last call's counts are known", async () => {
    const trace = await readWritten(inspectAi, log([sample]));
    expect(linksOf(trace)).toEqual({
      "sample-m-epoch-1/0": [[], null],
      "sample-m-epoch-1/1": [["sample-m-epoch-1/0"], null],
    });
    expect(trace.requests.at(0)).toMatchObject({
      arrival_ms: null,
      recorded: { sent_ms: null, prompt_tokens: null, output_tokens: null, cached_tokens: null },
      prompt: {
        messages: [
          { role: "system", content: "be good" },
          { role: "user", content: "q" },
          { role: "assistant", content: "shown as an example" },
          { role: "user", content: "the real question" },
        ],
      },
    });
    expect(trace.requests.at(1)).toMatchObject({
      recorded: { prompt_tokens: 30, output_tokens: 6 },
      response_text: "done",
      metadata: { model: "p/m" },
    });
    expect(trace.rows).toEqual({
      read: 8,
      used: 7,
      skipped: { "message that no request held": 1 },
      refused: 0,
    });
    expect(trace.provenance).toMatchObject({ arrivals: "missing", think_time: "missing", order: "recorded" });
    expect(trace.notes).toEqual([
      "1 samples hold no events: their turns come from their messages; times are unknown, and token counts but for the last call's",
    ]);
  });

  it("takes no counts for a last answer that is not the last output", async () => {
    const other = {
      ...sample,
      output: { ...sample.output, choices: [{ message: said("assistant", "else") }] },
    };
    const trace = await readWritten(inspectAi, log([other]));
    expect(trace.requests.at(1)?.recorded?.prompt_tokens).toBeNull();
  });
});

describe("inspect-ai archives", () => {
  const header = JSON.stringify({ version: 2, status: "success", eval: {}, plan: {} });
  const turn = (from: number, to: number, input_refs: unknown): object =>
    model(from, to, { input: [], input_refs });
  const pool = [
    { role: "user", content: "attachment://0" },
    { role: "assistant", content: "a first answer, long enough" },
    { role: "user", content: "and then?" },
  ];
  const sample = {
    id: "s",
    epoch: 1,
    attachments: { 0: "the task" },
    error_retries: [{ message: "overloaded" }],
    scores: { s: { value: "NaN-marker" } },
    events_data: { messages: pool, calls: [] },
    events: [
      turn(0, 1000, [[0, 1]]),
      turn(2000, 3000, [
        [0, 1],
        [1, 3],
      ]),
    ],
  };
  // As Python writes a score that is no number.
  const whole: WrittenEntry = {
    name: "samples/s_epoch_1.json",
    text: JSON.stringify(sample).replace('"NaN-marker"', "NaN"),
    method: "zstd",
  };
  const { attachments: _attachments, events: _events, events_data: _data, ...shell } = sample;
  const chunk = (name: string, value: unknown): WrittenEntry => ({
    name: `samples/s_epoch_1/${name}.json`,
    text: JSON.stringify(value),
  });
  const chunked = [
    chunk("sample", shell),
    chunk("skeleton", {}),
    chunk("events/1", sample.events.slice(1)),
    chunk("events/0", sample.events.slice(0, 1)),
    chunk("events/stats", {}),
    chunk("messages/0", pool.slice(0, 2)),
    chunk("messages/2", pool.slice(2)),
    chunk("attachments/0", ["the task"]),
  ];
  const readZip = (entries: readonly WrittenEntry[], skipBad = false): ReturnType<typeof readWritten> =>
    readWritten(inspectAi, zipOf(entries), { name: "log.eval", skipBad });
  const done: WrittenEntry = { name: "header.json", text: header };

  for (const [name, entries] of [
    ["whole samples", [whole, done]],
    ["chunked samples", [...chunked, done]],
  ] as const)
    it(`reads ${name}, inputs from the pool`, async () => {
      const trace = await readZip(entries);
      expect(linksOf(trace)).toEqual({
        "sample-s-epoch-1/0": [[], null],
        "sample-s-epoch-1/1": [["sample-s-epoch-1/0"], 1000],
      });
      expect(trace.requests.map(({ prompt }) => prompt)).toMatchObject([
        { messages: [{ content: "the task" }] },
        { messages: [{ content: "the task" }, { role: "assistant" }, { content: "and then?" }] },
      ]);
      expect(trace.rows).toEqual({ read: 2, used: 2, skipped: {}, refused: 0 });
      expect(trace.notes).toEqual(["1 attempts that ended in an error and were made again are left out"]);
    });

  it("is detected by its header, or by its first record while the evaluation runs", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-eval-"));
    const path = join(folder, "x");
    const scoreOf = async (entries: readonly WrittenEntry[]): Promise<number> => {
      writeFileSync(path, zipOf(entries));
      return inspectAi.detect(await takeSample(path));
    };
    expect(await scoreOf([whole, done])).toBe(1);
    const start = { name: "_journal/start.json", text: JSON.stringify({ version: 2, eval: {}, plan: {} }) };
    expect(await scoreOf([start, whole])).toBe(1);
    await expect(scoreOf([whole])).rejects.toThrow(/x: a zip archive, and not that of an Inspect log/);
    rmSync(folder, { recursive: true });
    expect((await readZip([start, whole])).notes[0]).toBe(
      "the evaluation had not ended when this log was written",
    );
  });

  it("refuses a damaged entry by its name, and reads the others by wish", async () => {
    const bad = { name: "samples/t_epoch_1.json", text: '{"id": 1' };
    await expect(readZip([whole, bad, done])).rejects.toThrow(
      /log\.eval: samples\/t_epoch_1\.json: not valid JSON/,
    );
    const trace = await readZip([whole, bad, done], true);
    expect(trace.requests).toHaveLength(2);
    expect(trace.rows).toMatchObject({ read: 3, used: 2, refused: 1 });
    expect(rowsAddUp(trace)).toBe(true);
    const gap = chunked.filter(({ name }) => !name.endsWith("messages/0.json"));
    await expect(readZip([...gap, done])).rejects.toThrow(/messages lacks items 0 to 1/);
    const far = { ...whole, text: JSON.stringify({ ...sample, events: [turn(0, 1, [[2, 9]])] }) };
    await expect(readZip([far, done])).rejects.toThrow(
      /"input_refs" \[2,9\] lie outside the 3 pooled messages/,
    );
  });
});
