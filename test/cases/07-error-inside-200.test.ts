import { describe, expect, it } from "vitest";
import { C, DONE, event, FIN, R, U } from "../stub/events.ts";
import { observe, observeChat } from "../stub/observe.ts";

const ERROR = { error: { message: "CUDA out of memory", type: "server_error", code: 500 } };

describe("case 7: an error inside a 200", () => {
  it.each([
    ["as the first event", [[10, event(ERROR) + DONE]], 0],
    [
      "after three tokens",
      [
        [10, R("A")],
        [20, R("B")],
        [30, R("C")],
        [40, event(ERROR) + DONE],
      ],
      3,
    ],
    [
      "as a named event",
      [
        [10, R("A")],
        [40, "event: error\ndata: CUDA out of memory\n\n"],
      ],
      1,
    ],
    ["as a named event with JSON", [[40, 'event: error\ndata: {"message":"CUDA out of memory"}\n\n']], 0],
    ["as llama.cpp's old field", [[40, 'error: {"code":500,"message":"CUDA out of memory"}\n\n']], 0],
    ["as text", [[40, event({ error: "CUDA out of memory" })]], 0],
    ["vLLM's old form", [[40, event({ object: "error", message: "CUDA out of memory", code: 500 })]], 0],
    ["with a status", [[40, event({ statusCode: 500, message: "CUDA out of memory" })]], 0],
    ["in a list", [[40, event({ errors: [{ message: "CUDA out of memory" }] })]], 0],
    ["as no success", [[40, event({ success: false, message: "CUDA out of memory" })]], 0],
    ["a gateway's fault", [[40, event({ fault: { faultstring: "CUDA out of memory" } })]], 0],
    [
      "in the choice",
      [
        [10, R("A")],
        [40, event({ choices: [{ index: 0, text: "", finish_reason: "error", ...ERROR }] })],
      ],
      1,
    ],
    ["as a named exception", [[40, 'event: exception\ndata: {"message":"CUDA out of memory"}\n\n']], 0],
    [
      "as a bare line of JSON",
      [
        [10, R("A")],
        [40, `${JSON.stringify(ERROR)}\n`],
      ],
      1,
    ],
    ["beside choices", [[40, event({ choices: [{ index: 0, text: "A" }], ...ERROR })]], 0],
    ["after the finish reason", [[40, R("A") + FIN("stop") + event(ERROR)]], 1],
  ] as [string, [number, string][], number][])("%s", async (_name, pieces, chunks) => {
    const seen = await observe([...pieces, [50, "data: never read\n\n"]]);
    expect(seen.failure).toMatchObject({ code: "server_error", http_status: 200 });
    expect(seen.failure?.message).toContain("CUDA out of memory");
    expect(seen.chunks).toBe(chunks);
    expect(seen.end_ms).toBe((pieces.at(-1) as [number, string])[0]);
  });

  it.each(["event: error\n\n", "event: error\ndata:\n\n", "event: error\ndata\n\n"])(
    "an error event that says nothing more is an error: %j",
    async (bytes) => {
      const seen = await observe([[10, R("A") + bytes + FIN("stop") + DONE]]);
      expect([seen.failure?.code, seen.text]).toEqual(["server_error", "A"]);
      expect(seen.failure?.message).not.toBe("");
    },
  );

  it("a finish_reason of error or abort is no success", async () => {
    for (const reason of ["error", "abort"]) {
      expect((await observe([[10, R("A") + FIN(reason) + DONE]])).failure?.code).toBe("server_error");
    }
  });

  it.each([
    [null],
    [{}],
    [[]],
    [""],
    [false],
    [0],
    [{ code: null, message: null }],
    [{ message: "" }],
    [{ code: 0, message: "" }],
  ])("control: error %j in each chunk", async (error) => {
    const seen = await observeChat([
      [10, event({ error, choices: [{ index: 0, delta: { content: "A" } }] })],
      [20, event({ error, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + U(1) + DONE],
    ]);
    expect([seen.failure, seen.text]).toEqual([null, "A"]);
  });

  it.each([
    { code: 0, message: "success" },
    { code: "200", msg: "ok" },
    { status: "processing", message: "in the queue" },
    { status: 200, message: "" },
  ])("control: an event without choices that reports no failure: %j", async (report) => {
    const seen = await observe([[10, event(report) + R("A") + FIN("stop") + DONE]]);
    expect([seen.failure, seen.text]).toEqual([null, "A"]);
  });

  it("control: text that looks like an error", async () => {
    const text = 'data: {"error":{"message":"x"}}\n\nevent: error\n\n';
    const seen = await observeChat([
      [10, C({ content: text })],
      [20, FIN("stop") + U(1) + DONE],
    ]);
    expect([seen.failure, seen.text]).toEqual([null, text]);
  });
});
