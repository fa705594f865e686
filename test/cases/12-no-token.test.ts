import { describe, expect, it } from "vitest";
import { C, DONE, event, FIN, R, U, usage } from "../stub/events.ts";
import { observe, observeChat, observeSteps, tpot } from "../stub/observe.ts";
import { openaiChat } from "../../src/client/protocols/openai-chat.ts";
import { response } from "../stub/wire.ts";

describe("case 12: no token at all", () => {
  it("has no first token", async () => {
    const seen = await observeChat([[50, C({ role: "assistant" }) + FIN("stop") + U(0) + DONE]]);
    expect([seen.failure, seen.first_token_ms, seen.output_tokens, seen.chunks]).toEqual([null, null, 0, 0]);
  });

  it.each(["length", "chunked", "close"] as const)(
    "plain JSON although a stream was asked for (%s)",
    async (framing) => {
      const body = JSON.stringify({
        object: "chat.completion",
        choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
        usage: usage(5),
      });
      for (const type of ["application/json", "text/event-stream", null]) {
        const bytes = response([body], framing, { type });
        const seen = await observeSteps(
          [
            { at: 700, bytes: bytes.subarray(0, -9) },
            { at: 800, bytes: bytes.subarray(-9) },
            { at: 800, end: "fin" },
          ],
          { protocol: openaiChat },
        );
        expect([seen.failure, seen.end_ms, seen.output_tokens, seen.prompt_tokens]).toEqual([
          null,
          800,
          5,
          7,
        ]);
        expect([seen.first_token_ms, seen.last_token_ms, tpot(seen), seen.chunk_ms]).toEqual([
          null,
          null,
          null,
          [],
        ]);
        expect([seen.text, seen.finish_reason]).toEqual(["Hi", "stop"]);
      }
    },
  );

  it.each([" ", "\n", "\r\n \n", "\ufeff", "\ufeff\n"])(
    "plain JSON after %j, sent ahead to keep the connection alive",
    async (blank) => {
      const body = JSON.stringify({
        choices: [{ index: 0, text: "Hi", finish_reason: "stop" }],
        usage: usage(5),
      });
      const bytes = Buffer.from(blank + body);
      for (const type of ["application/json", "text/event-stream", null]) {
        for (let cut = 1; cut < 8; cut++) {
          const head = response([bytes], "length", { type });
          const at = head.length - bytes.length + cut;
          const seen = await observeSteps([
            { at: 100, bytes: head.subarray(0, at) },
            { at: 800, bytes: head.subarray(at) },
          ]);
          expect([seen.failure, seen.text, seen.output_tokens, seen.first_token_ms]).toEqual([
            null,
            "Hi",
            5,
            null,
          ]);
        }
      }
    },
  );

  it("plain JSON that is an error", async () => {
    const seen = await observeSteps([{ at: 5, bytes: response(['{"error":{"message":"no"}}'], "length") }]);
    expect(seen.failure).toEqual({ code: "server_error", message: "no", http_status: 200 });
  });

  it.each([
    ["HTML", "<html>hello</html>", "text/html"],
    ["a foreign object", '{"hello":1}', "application/json"],
    ["no choices", '{"choices":[],"usage":{"completion_tokens":0}}', "application/json"],
    ["broken JSON", '{"choices":]}', "application/json"],
    ["another JSON array", "[1,2]", "application/json"],
  ])("%s is no answer", async (_name, body, type) => {
    const seen = await observeSteps([{ at: 5, bytes: response([body], "length", { type }) }]);
    expect(seen.failure?.code).toBe("bad_payload");
  });

  it("a foreign object that says why is an error", async () => {
    const seen = await observeSteps([{ at: 5, bytes: response(['{"detail":"Not Found"}'], "length") }]);
    expect(seen.failure).toMatchObject({ code: "server_error", message: "Not Found" });
  });

  it("an event that is no JSON is named", async () => {
    const seen = await observe([[5, R("A") + "data: {nonsense\n\n" + DONE]]);
    expect(seen.failure?.code).toBe("bad_payload");
    expect(seen.failure?.message).toContain("{nonsense");
  });

  it("chunks of the other protocol are no answer of this one", async () => {
    expect((await observeChat([[5, R("A") + FIN("stop") + DONE]])).failure?.code).toBe("bad_payload");
    expect((await observe([[5, C({ content: "A" }) + FIN("stop") + DONE]])).failure?.code).toBe(
      "bad_payload",
    );
    expect((await observe([[5, event({ choices: 5 })]])).failure?.code).toBe("bad_payload");
  });
});
