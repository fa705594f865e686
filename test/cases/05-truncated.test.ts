import { describe, expect, it } from "vitest";
import { DONE, FIN, R, U } from "../stub/events.ts";
import { observe, observeSteps } from "../stub/observe.ts";
import { chunk, head, response } from "../stub/wire.ts";

describe("case 5: stops early but looks clean", () => {
  const two = R("A") + R("B");

  it.each([
    ["no last chunk", Buffer.concat([Buffer.from(head("chunked")), chunk(two)])],
    ["cut inside a chunk", Buffer.concat([Buffer.from(head("chunked")), chunk(two).subarray(0, -20)])],
    ["a last chunk without finish", response([two])],
    ["close-delimited", response([two], "close")],
    ["shorter than its Content-Length", Buffer.from(head("length", 5000) + two)],
    ["a head and nothing else", Buffer.from(head("chunked"))],
    ["half a head", Buffer.from(head("chunked").slice(0, 40))],
    ["an empty finish_reason", response([two + FIN("")])],
    ["null spelt as a string", response([two + FIN("null") + FIN("None")])],
    ["nothing but comments", response([": ping\n\n"])],
    ["half an event at the end", response([two + 'data: {"choices":[{"index":0,"finish_rea'])],
    ["usage, but no finish", response([two + U(2)])],
  ])("%s -> truncated", async (_name, bytes) => {
    const seen = await observeSteps([
      { at: 10, bytes },
      { at: 30, end: "fin" },
    ]);
    expect(seen.failure?.code).toBe("truncated");
    expect(seen.http_status).toBe(seen.headers_ms === null ? null : 200);
  });

  it.each(["close", "length", "chunked"] as const)(
    "plain JSON that ends in the middle (%s) -> truncated",
    async (framing) => {
      const whole = JSON.stringify({ choices: [{ index: 0, text: 'A "}' }] });
      // Up to the last two brackets: the others open, or the string.
      for (let length = 1; length < whole.length; length++) {
        const seen = await observeSteps([
          { at: 10, bytes: response([whole.slice(0, length)], framing, { type: "application/json" }) },
          { at: 30, end: "fin" },
        ]);
        expect([length, seen.failure?.code]).toEqual([length, "truncated"]);
      }
    },
  );

  it("an empty body with a JSON type -> truncated", async () => {
    const seen = await observeSteps([
      { at: 10, bytes: response([], "length", { type: "application/json" }) },
    ]);
    expect(seen.failure?.code).toBe("truncated");
  });

  it.each([
    ["finish without [DONE], last chunk", response([two + FIN("stop")])],
    ["finish without [DONE], close-delimited", response([two + FIN("stop")], "close")],
    ["finish without [DONE], Content-Length", response([two + FIN("stop")], "length")],
    ["[DONE] without newline", response([two + "data: [DONE]"])],
    [
      "[DONE] without newline, no last chunk",
      Buffer.concat([Buffer.from(head("chunked")), chunk(`${two}data: [DONE]`)]),
    ],
    ["[DONE] with one newline, close-delimited", response([two + "data: [DONE]\n"], "close")],
    ["[DONE] and no last chunk", Buffer.concat([Buffer.from(head("chunked")), chunk(two + DONE)])],
  ])("control: %s -> ok", async (_name, bytes) => {
    const seen = await observeSteps([
      { at: 10, bytes },
      { at: 30, end: "fin" },
    ]);
    expect([seen.failure, seen.text]).toEqual([null, "AB"]);
  });

  it.each(["fin", { code: "reset", message: "lost" }] as const)(
    "control: finish, then %j before the last chunk -> ok, and told",
    async (end) => {
      const seen = await observeSteps([
        { at: 10, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(two + FIN("stop"))]) },
        { at: 30, end },
      ]);
      expect([seen.failure, seen.text, seen.end_ms]).toEqual([null, "AB", 30]);
      expect(seen.notes.join()).toContain("before the body's end");
    },
  );

  it("a gateway's error page in the middle of a stream is told", async () => {
    const seen = await observeSteps([
      { at: 10, bytes: response([`${two}<html><body>504 Gateway Time-out</body></html>\n`]) },
    ]);
    expect(seen.failure?.code).toBe("truncated");
    expect(seen.failure?.message).toContain("504 Gateway Time-out");
  });

  it("a reset in the middle keeps what was seen", async () => {
    const seen = await observe([[10, R("A")]]).catch(() => null);
    expect(seen?.failure?.code).toBe("truncated");
    const reset = await observeSteps([
      { at: 10, bytes: Buffer.concat([Buffer.from(head("chunked")), chunk(R("A"))]) },
      { at: 25, end: { code: "reset", message: "the connection was lost" } },
    ]);
    expect(reset.failure?.code).toBe("reset");
    expect([reset.first_token_ms, reset.end_ms, reset.chunks]).toEqual([10, 25, 1]);
  });
});
