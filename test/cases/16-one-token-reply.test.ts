import { expect, it } from "vitest";
import { DONE, FIN, R, U } from "../stub/events.ts";
import { observe, tpot } from "../stub/observe.ts";

it("case 16: a one-token reply has no time per token; one of eleven has", async () => {
  const one = await observe([[100, R("A") + FIN("stop") + U(1) + DONE]]);
  expect([one.failure, tpot(one), one.output_tokens]).toEqual([null, null, 1]);
  const pieces = Array.from({ length: 11 }, (_, i): [number, string] => [100 + 20 * i, R("x")]);
  const eleven = await observe([...pieces, [301, FIN("stop") + U(11) + DONE]]);
  expect(tpot(eleven)).toBe(20);
});
