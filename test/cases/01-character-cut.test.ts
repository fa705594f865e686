import { describe, expect, it } from "vitest";
import { DONE, FIN, R, U } from "../stub/events.ts";
import { observe, observeSteps } from "../stub/observe.ts";
import { response } from "../stub/wire.ts";

describe("case 1: a character cut by a read", () => {
  const bytes = Buffer.from(R("你🌍"));

  it.each([
    ["after E4", bytes.indexOf(0xe4) + 1],
    ["after F0 9F", bytes.indexOf(0xf0) + 2],
  ])("%s", async (_name, cut) => {
    const seen = await observe([
      [100, bytes.subarray(0, cut)],
      [120, bytes.subarray(cut)],
      [140, FIN("stop") + DONE],
    ]);
    expect(seen.text).toBe("你🌍");
    expect(seen.failure).toBeNull();
    expect(seen.first_token_ms).toBe(120);
  });

  it("at every byte of the response", async () => {
    const whole = response([R("你🌍"), R(" é\u2028\u0000 "), FIN("stop"), U(3), DONE]);
    for (let cut = 1; cut < whole.length; cut++) {
      const seen = await observeSteps([
        { at: 1, bytes: whole.subarray(0, cut) },
        { at: 2, bytes: whole.subarray(cut) },
      ]);
      expect([cut, seen.text, seen.failure, seen.output_tokens]).toEqual([
        cut,
        "你🌍 é\u2028\u0000 ",
        null,
        3,
      ]);
    }
  });
});
