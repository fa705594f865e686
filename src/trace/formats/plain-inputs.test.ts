/** ShareGPT, OpenAI batch files and LiteLLM logs in the further shapes that they are found in. */
import { describe, expect, it } from "vitest";
import { jsonl, linksOf, readWritten } from "../../../test/trace/written-trace.ts";
import { takeSample } from "../sample.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { detectFormat } from "../detect.ts";
import { aiperf } from "./aiperf.ts";
import { litellm } from "./litellm.ts";
import { openaiBatch } from "./openai-batch.ts";
import { sharegpt } from "./sharegpt.ts";

async function detected(content: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-plain-"));
  writeFileSync(join(folder, "x"), content);
  const format = detectFormat(await takeSample(join(folder, "x")));
  rmSync(folder, { recursive: true });
  return format.name;
}

describe("sharegpt", () => {
  const turns = [
    { from: "system", value: "sys" },
    { from: "human", value: "q" },
    { from: "function_call", value: "{}" },
    { from: "observation", value: "found" },
    { from: "gpt", value: "a" },
  ];

  it("takes calls and observations, definitions as text, and roles by the other names", async () => {
    const tools = JSON.stringify([{ name: "f", parameters: {} }]);
    const renamed = turns.map(({ from, value }) => ({ role: from, content: value }));
    for (const conversations of [turns, renamed]) {
      const trace = await readWritten(sharegpt, jsonl([{ id: "x", conversations, tools }]));
      expect(trace.requests.map(({ prompt }) => prompt)).toMatchObject([
        { messages: [{ role: "system" }, { role: "user" }], tools: [{ function: { name: "f" } }] },
        { messages: [{}, {}, { role: "assistant", content: "{}" }, { role: "tool", content: "found" }] },
      ]);
    }
  });

  it("knows fine-tuning rows, which are messages alone", async () => {
    const rows = jsonl([
      {
        messages: [
          { role: "user", content: "q" },
          { role: "assistant", content: "a" },
        ],
      },
      { messages: [{ role: "user", content: "r" }] },
    ]);
    expect(await detected(rows)).toBe("sharegpt");
    expect((await readWritten(sharegpt, rows)).requests).toHaveLength(2);
  });
});

describe("openai-batch", () => {
  it("takes bodies of the Responses API as chats", async () => {
    const trace = await readWritten(
      openaiBatch,
      jsonl([
        {
          custom_id: "r",
          url: "/v1/responses",
          body: {
            model: "m",
            instructions: "be good",
            input: "q",
            max_output_tokens: 9,
            store: true,
            top_p: 0.5,
            tools: [{ type: "function", name: "f", parameters: {} }],
          },
        },
        { custom_id: "e", url: "/v1/embeddings", body: { model: "e", input: ["a", "b"] } },
      ]),
    );
    expect(trace.requests.at(0)).toMatchObject({
      max_tokens: 9,
      params: { top_p: 0.5 },
      prompt: {
        messages: [
          { role: "system", content: "be good" },
          { role: "user", content: "q" },
        ],
        tools: [{ type: "function", function: { name: "f" } }],
      },
    });
    expect(trace.requests.at(0)?.params).toEqual({ top_p: 0.5 });
    expect(trace.rows).toEqual({
      read: 2,
      used: 1,
      skipped: { "neither chat nor completion": 1 },
      refused: 0,
    });
  });

  it("takes the lengths of a batch's output", async () => {
    const answer = (custom_id: string, status_code: number, usage: object | undefined): object => ({
      id: `batch_req_${custom_id}`,
      custom_id,
      response: { status_code, body: { model: "m", choices: [{ message: {} }], usage } },
      error: null,
    });
    const usage = { prompt_tokens: 30, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 16 } };
    const rows = jsonl([
      answer("a", 200, usage),
      answer("b", 429, undefined),
      answer("c", 200, undefined),
      { custom_id: "d", response: null, error: { message: "expired" } },
    ]);
    expect(await detected(rows)).toBe("openai-batch");
    const trace = await readWritten(openaiBatch, rows);
    expect(trace.requests.length).toBe(1);
    expect(trace.requests.at(0)).toMatchObject({
      prompt: { kind: "length", tokens: 30 },
      recorded: { prompt_tokens: 30, output_tokens: 7, cached_tokens: 16, end_ms: null },
    });
    expect(trace.rows.skipped).toEqual({ "answer without usage": 1, "failed when recorded": 2 });
    expect(trace.provenance).toMatchObject({ prompt_text: "missing", prompt_length: "recorded" });
  });
});

describe("litellm", () => {
  const log = (id: string, from: number, more: object): object => ({
    id,
    trace_id: "t",
    call_type: "acompletion",
    status: "success",
    startTime: 1_700_000_000 + from,
    endTime: 1_700_000_001 + from,
    completionStartTime: 1_700_000_000.5 + from,
    prompt_tokens: 10,
    completion_tokens: 4,
    messages: [{ role: "user", content: "q" }],
    ...more,
  });

  it("reads one log a file, and spend logs as an array", async () => {
    const one = log("a", 0, { response: { usage: { prompt_tokens_details: { cached_tokens: 8 } } } });
    expect(await detected(JSON.stringify(one, null, 2))).toBe("litellm");
    const alone = await readWritten(litellm, JSON.stringify(one, null, 2));
    expect(alone.requests.at(0)?.recorded).toMatchObject({
      first_token_ms: 500,
      end_ms: 1000,
      prompt_tokens: 10,
      cached_tokens: 8,
    });
    const spend = JSON.stringify([
      {
        ...log("", 0, { messages: "{}", response: "{}" }),
        id: undefined,
        trace_id: undefined,
        request_id: "s1",
        session_id: "job",
        startTime: "2026-01-01T00:00:00.250000Z",
        endTime: "2026-01-01T00:00:01Z",
        proxy_server_request: JSON.stringify({
          system: "be good",
          messages: [{ role: "user", content: "kept" }],
          tools: [{ name: "f", input_schema: {} }],
        }),
      },
    ]);
    expect(await detected(spend)).toBe("litellm");
    const trace = await readWritten(litellm, spend);
    expect(trace.requests.at(0)).toMatchObject({
      request_id: "s1",
      job_id: "job",
      recorded: { end_ms: 750 },
      prompt: {
        messages: [{ role: "system", content: "be good" }, { content: "kept" }],
        tools: [{ function: { name: "f" } }],
      },
    });
  });

  it("leaves out what no model was asked, and reads answers of every API", async () => {
    const trace = await readWritten(
      litellm,
      jsonl([
        log("a", 0, {
          response: { role: "assistant", content: [{ type: "text", text: "a long enough answer" }] },
        }),
        log("b", 2, {
          call_type: "aresponses",
          messages: [
            { role: "user", content: "q" },
            { role: "assistant", content: "a long enough answer" },
            { role: "user", content: "r" },
          ],
          prompt_tokens: 0,
          response: { output: [{ type: "message", role: "assistant", content: "x" }] },
        }),
        log("c", 3, { cache_hit: "True" }),
        log("d", 4, { call_type: "aembedding" }),
        log("e", 5, { status: "failure" }),
      ]),
    );
    expect(linksOf(trace)).toEqual({ a: [[], null], b: [["a"], 1000] });
    expect(
      trace.requests.map(({ response_text, recorded }) => [response_text, recorded?.prompt_tokens]),
    ).toEqual([
      ["a long enough answer", 10],
      ["x", null],
    ]);
    expect(trace.rows).toEqual({
      read: 5,
      used: 2,
      skipped: {
        "answered from the proxy's cache": 1,
        "call of type aembedding": 1,
        "failed when recorded": 1,
      },
      refused: 0,
    });
  });
});

describe("aiperf inputs.json", () => {
  const body = (content: string, more: object = {}): object => ({
    model: "m",
    messages: [{ role: "user", content }],
    stream: true,
    ...more,
  });
  const file = {
    data: [
      { session_id: "s", payloads: [body("q1", { max_completion_tokens: 5 }), body("q2")] },
      { payload: [body("genai-perf")] },
    ],
  };

  it("is a request body a turn, a session a job", async () => {
    expect(await detected(JSON.stringify(file, null, 2))).toBe("aiperf");
    const trace = await readWritten(aiperf, file);
    expect(linksOf(trace)).toEqual({ "s/0": [[], null], "s/1": [["s/0"], null], "session-1/0": [[], null] });
    expect(trace.requests.at(0)).toMatchObject({ max_tokens: 5, params: null, metadata: { model: "m" } });
    expect(trace.rows).toEqual({ read: 3, used: 3, skipped: {}, refused: 0 });
  });

  it("refuses by place", async () => {
    await expect(
      readWritten(aiperf, { data: [...file.data, { session_id: "t", payloads: [{ model: "m" }] }] }),
    ).rejects.toThrow(/data\[2\]\.payloads\[0\]: neither "messages" nor "prompt"/);
    await expect(readWritten(aiperf, { data: [...file.data, { session_id: "t" }] })).rejects.toThrow(
      /data\[2\]: "payloads" must be an array/,
    );
  });
});
