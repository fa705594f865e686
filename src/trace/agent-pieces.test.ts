/** What agent-log readers share: instants, messages of every vendor, block names. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockNamer, cutPieces, sumTokens } from "./block-namer.ts";
import { gapAfter, parseIsoInstant, TimeAxis, toInstant } from "./instant.ts";
import { lengthPrompt, newRequest } from "./new-request.ts";
import { toOpenAiMessages, toOpenAiTools } from "./openai-messages.ts";
import type { TraceRequest } from "./trace-request.ts";
import { numberedByTime } from "./turn-numbers.ts";

describe("instants", () => {
  it("reads ISO with zones, any number of digits, and no zone as UTC", () => {
    const noon = Date.UTC(2025, 4, 12, 12);
    expect(parseIsoInstant("2025-05-12T12:00:00Z")).toEqual({ epoch_ms: noon, fraction: 0 });
    expect(parseIsoInstant("2025-05-12 12:00:00.1234567")).toEqual({
      epoch_ms: noon + 123,
      fraction: 0.4567,
    });
    expect(parseIsoInstant("2025-05-12T08:00:00.5-04:00")).toEqual({ epoch_ms: noon + 500, fraction: 0 });
    expect(parseIsoInstant("2025-05-12T17:30:00+0530")).toEqual({ epoch_ms: noon, fraction: 0 });
    const bad = [
      "2025-13-01T00:00:00Z",
      "2025-05-12",
      "noon",
      "",
      "2025-05-12T12:61:00Z",
      "2025-02-29T00:00:00Z",
    ];
    for (const text of bad) expect(parseIsoInstant(text)).toBeNull();
    expect(parseIsoInstant("2024-02-29T00:00:00Z")?.epoch_ms).toBe(Date.UTC(2024, 1, 29));
  });

  it("tells the unit of a Unix number by its size, nanoseconds as digits exactly", () => {
    for (const value of [
      1_700_000_000,
      1_700_000_000_000,
      1_700_000_000_000_000,
      "1700000000",
      "1700000000000000000",
    ]) {
      expect(toInstant(value)).toEqual({ epoch_ms: 1_700_000_000_000, fraction: 0 });
    }
    expect(toInstant("1700000000123456789")).toEqual({ epoch_ms: 1_700_000_000_123, fraction: 0.456789 });
    expect(toInstant(-1)).toBeNull();
    expect(toInstant({})).toBeNull();
  });

  it("keeps microseconds that a count of ms since 1970 loses", () => {
    const axis = new TimeAxis();
    expect(axis.at(parseIsoInstant("2025-05-12T20:28:26.849005-04:00"))).toBeCloseTo(0.005, 12);
    expect(axis.at(parseIsoInstant("2025-05-12T20:28:28.239898-04:00"))).toBeCloseTo(1390.898, 9);
  });

  it("takes gaps from the last end, never below 0, unknown where an end is", () => {
    expect(gapAfter(10, [4, 7])).toBe(3);
    expect(gapAfter(10, [12])).toBe(0);
    expect(gapAfter(10, [4, null])).toBeNull();
    expect(gapAfter(10, [])).toBeNull();
    expect(gapAfter(null, [4])).toBeNull();
  });
});

describe("OpenAI messages", () => {
  const calls = [{ id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } }];
  const wanted = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "hm", tool_calls: calls },
    { role: "tool", tool_call_id: "c", content: "r" },
  ];
  const sources: Record<string, unknown> = {
    OpenAI: wanted,
    Anthropic: [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "?" },
          { type: "text", text: "hm" },
          { type: "tool_use", id: "c", name: "f", input: { a: 1 } },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "c", content: [{ type: "text", text: "r" }] }],
      },
    ],
    "OpenTelemetry parts": [
      { role: "user", parts: [{ type: "text", content: "hi" }] },
      {
        role: "assistant",
        parts: [
          { type: "text", content: "hm" },
          { type: "tool_call", id: "c", name: "f", arguments: { a: 1 } },
        ],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c", response: "r" }] },
    ],
    "OpenAI Responses": [
      { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
      { type: "reasoning", summary: [] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "hm" }] },
      { type: "function_call", call_id: "c", name: "f", arguments: '{"a":1}' },
      { type: "function_call_output", call_id: "c", output: "r" },
    ],
    LangChain: [
      { type: "human", content: "hi" },
      { type: "ai", content: "hm", tool_calls: [{ id: "c", name: "f", args: { a: 1 } }] },
      { type: "tool", content: "r", tool_call_id: "c" },
    ],
    Inspect: [
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: [
          { type: "reasoning", reasoning: "?" },
          { type: "text", text: "hm" },
        ],
        tool_calls: [{ id: "c", function: "f", arguments: { a: 1 } }],
      },
      { role: "tool", tool_call_id: "c", function: "f", content: "r" },
    ],
  };
  for (const [name, source] of Object.entries(sources)) {
    it(`converts ${name}`, () => expect(toOpenAiMessages(source)).toEqual(wanted));
  }

  it("converts Gemini's contents, which name calls by their function", () => {
    const source = {
      model: "g",
      config: { system_instruction: "s" },
      contents: [
        { role: "user", parts: [{ text: "hi" }] },
        { role: "model", parts: [{ function_call: { name: "f", args: { a: 1 } } }] },
        { role: "user", parts: [{ function_response: { name: "f", response: { ok: true } } }] },
      ],
    };
    expect(toOpenAiMessages(source)).toEqual([
      { role: "system", content: "s" },
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_0", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
      },
      { role: "tool", tool_call_id: "call_0", content: '{"ok":true}' },
    ]);
  });

  it("takes a role that is a tool's name for that tool's answer", () => {
    const [, answer] = toOpenAiMessages([
      { role: "assistant", content: "", tool_calls: calls },
      { role: "f", content: "r" },
    ]);
    expect(answer).toEqual({ role: "tool", tool_call_id: "c", content: "r", name: "f" });
  });

  it("takes wrappers, bare text, and empty answers, and marks other media", () => {
    expect(toOpenAiMessages({ system: "s", messages: [{ role: "user", content: "hi" }] })).toEqual([
      { role: "system", content: "s" },
      { role: "user", content: "hi" },
    ]);
    expect(toOpenAiMessages("hi")).toEqual([{ role: "user", content: "hi" }]);
    expect(
      toOpenAiMessages([
        { role: "assistant", content: null },
        { role: "assistant", content: "" },
      ]),
    ).toHaveLength(2);
    expect(
      toOpenAiMessages([{ role: "user", content: [{ type: "image_url", image_url: { url: "data:" } }] }]),
    ).toEqual([{ role: "user", content: "[image]" }]);
    expect(toOpenAiMessages(null)).toEqual([]);
  });

  it("never throws, whatever it is given", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        (value) => Array.isArray(toOpenAiMessages(value)) && toOpenAiTools(value) !== undefined,
      ),
    );
  });

  it("converts tools of any vendor", () => {
    const tool = {
      type: "function",
      function: { name: "f", description: "d", parameters: { type: "object" } },
    };
    expect(toOpenAiTools([tool])).toEqual([tool]);
    expect(toOpenAiTools([{ name: "f", description: "d", input_schema: { type: "object" } }])).toEqual([
      tool,
    ]);
    expect(
      toOpenAiTools([{ type: "function", name: "f", description: "d", parameters: { type: "object" } }]),
    ).toEqual([tool]);
    expect(toOpenAiTools([])).toBeNull();
    expect(toOpenAiTools("none")).toBeNull();
  });
});

describe("block names", () => {
  it("are equal exactly as far as the pieces are", () => {
    const pieces = fc.array(
      fc.record({ text: fc.constantFrom("a", "b", "c"), tokens: fc.integer({ min: 0, max: 200 }) }),
      { maxLength: 6 },
    );
    const spell = (all: readonly { text: string; tokens: number }[]): string =>
      all
        .map(({ text, tokens }) => Array.from({ length: tokens }, (_, i) => `${text}${i},`).join(""))
        .join("");
    fc.assert(
      fc.property(pieces, pieces, (first, second) => {
        const namer = new BlockNamer();
        const [a, b] = [namer.prompt(first), namer.prompt(second)];
        expect(a.hash_ids).toHaveLength(Math.floor(sumTokens(first) / 64));
        // The same prompts as lists of named tokens, compared directly.
        const [x, y] = [spell(first).split(","), spell(second).split(",")];
        let common = 0;
        while (common < Math.min(x.length, y.length) - 1 && x[common] === y[common]) common++;
        const equal = (a.hash_ids ?? []).findIndex((id, at) => id !== b.hash_ids?.[at]);
        const shared = equal === -1 ? Math.min(a.hash_ids?.length ?? 0, b.hash_ids?.length ?? 0) : equal;
        expect(shared).toBeLessThanOrEqual(Math.floor(common / 64));
      }),
    );
  });

  it("keep a cut prefix", () => {
    const namer = new BlockNamer();
    const whole = [
      { text: "system", tokens: 100 },
      { text: "user", tokens: 100 },
    ];
    const cut = cutPieces(whole, 130);
    expect(cut).toEqual([whole[0], { text: "user", tokens: 30 }]);
    expect(namer.prompt(cut).hash_ids).toEqual(namer.prompt(whole).hash_ids?.slice(0, 2));
    expect(namer.prompt([...cut, { text: "user", offset: 30, tokens: 70 }]).hash_ids?.slice(0, 2)).toEqual(
      namer.prompt(whole).hash_ids?.slice(0, 2),
    );
  });
});

describe("turn numbers", () => {
  const request = (request_id: string, arrival_ms: number | null, after: string[] = []): TraceRequest =>
    newRequest({ request_id, job_id: "j", arrival_ms, after, prompt: lengthPrompt(1) });

  it("count by arrival, parents first at one instant, untimed ones behind their parents", () => {
    const numbered = numberedByTime([
      request("join", 5, ["child", "root"]),
      request("child", 5, ["root"]),
      request("untimed", null, ["root"]),
      request("late", 9),
      request("root", 5),
    ]);
    expect(numbered.map(({ request_id, turn }) => [request_id, turn])).toEqual([
      ["root", 0],
      ["child", 1],
      ["untimed", 2],
      ["join", 3],
      ["late", 4],
    ]);
  });

  it("take long chains in their stride", () => {
    const chain = Array.from({ length: 50_000 }, (_, at) =>
      request(`r${at}`, 0, at === 0 ? [] : [`r${at - 1}`]),
    );
    expect(numberedByTime(chain.toReversed()).map(({ turn }) => turn)).toEqual(chain.map((_, at) => at));
  });
});
