/** Damaged responses: whatever the bytes, the request ends once, with a known code or a whole answer, and nothing throws. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { openaiChat } from "../../src/client/protocols/openai-chat.ts";
import { FAILURE_CODES } from "../../src/core/failure.ts";
import { C, DONE, event, FIN, U } from "../stub/events.ts";
import { observeSteps } from "../stub/observe.ts";
import { response } from "../stub/wire.ts";

const tool = C({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] });
const BASES = [
  response([C({ role: "assistant", content: "" }), C({ content: "你" }), tool, FIN("stop"), U(3), DONE]),
  response([C({ reasoning_content: "a" }), FIN("stop")], "length"),
  response([event({ error: { message: "x" } })], "close"),
  response([JSON.stringify({ choices: [{ message: { content: "a" }, finish_reason: "stop" }] })], "length", {
    type: "application/json",
  }),
  response(['{"error":"x"}'], "chunked", { status: "500 X", headers: ["Content-Encoding: gzip"] }),
];

const damage = fc.oneof(
  fc.record({ kind: fc.constant("flip" as const), at: fc.nat(), value: fc.nat(255) }),
  fc.record({ kind: fc.constant("drop" as const), at: fc.nat(), value: fc.nat(20) }),
  fc.record({ kind: fc.constant("insert" as const), at: fc.nat(), value: fc.nat(255) }),
);

it("ends once, whatever comes", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(BASES.length - 1),
      fc.array(damage, { maxLength: 4 }),
      fc.array(fc.nat(600), { maxLength: 6 }),
      async (base, damages, cuts) => {
        let bytes = BASES[base] as Buffer;
        for (const { kind, at, value } of damages) {
          const where = at % bytes.length;
          const middle = kind === "drop" ? Buffer.alloc(0) : Buffer.from([value]);
          bytes = Buffer.concat([
            bytes.subarray(0, where),
            middle,
            bytes.subarray(kind === "insert" ? where : where + (kind === "drop" ? value : 1)),
          ]);
        }
        const edges = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort(
          (a, b) => a - b,
        );
        const steps = edges.slice(1).map((to, i) => ({ at: i, bytes: bytes.subarray(edges[i], to) }));
        const seen = await observeSteps([...steps, { at: 50, end: "fin" }], { protocol: openaiChat });
        if (seen.failure !== null) expect(FAILURE_CODES).toContain(seen.failure.code);
        else expect(Math.floor((seen.http_status ?? 0) / 100)).toBe(2);
        expect(seen.chunk_ms.length).toBe(seen.chunks);
      },
    ),
    { numRuns: 600 },
  );
});
