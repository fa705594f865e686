import { assert, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { answerText, answerToken, planAnswer } from "./output-words.ts";
import { startChain } from "./prompt-digest.ts";
import { SIM_VOCABULARY, TOKEN_END, countTokens, decode, decodeToken, encode } from "./tokenizer.ts";

const pieces = (text: string): string[] => Array.from(encode(text), decodeToken);

describe("the simulator's tokenizer", () => {
  it("cuts words into pieces of four letters of one case, with the space before", () => {
    expect(pieces("Hello world, configuration")).toEqual([
      "Hell",
      "o",
      " worl",
      "d",
      ",",
      " conf",
      "igur",
      "atio",
      "n",
    ]);
    expect(pieces("getHTTPServer")).toEqual(["get", "HTTP", "Serv", "er"]);
    expect(pieces("camelCase ABCDE aB")).toEqual(["came", "l", "Case", " ABCD", "E", " a", "B"]);
  });

  it("takes three digits, four equal marks, sixteen equal spaces a token", () => {
    expect(pieces("1234 56 007")).toEqual(["123", "4", " 56", " 007"]);
    expect(pieces("===== (((")).toEqual(["====", "=", " ((("]);
    expect(pieces("a\n\n\n  b")).toEqual(["a", "\n\n\n", " ", " b"]);
    expect(pieces(`${" ".repeat(20)}x`)).toEqual([" ".repeat(16), "   ", " x"]);
    expect(pieces("end   ")).toEqual(["end", "   "]);
    expect(pieces(" \t\r\n")).toEqual([" ", "\t", "\r", "\n"]);
  });

  it("takes any other code point alone, a lone surrogate as U+FFFD", () => {
    expect(pieces("你🌍é\u0000")).toEqual(["你", "🌍", "é", "\u0000"]);
    expect(decode(encode("a\ud800b"))).toBe("a\ufffdb");
  });

  it("keeps its ids", () => {
    // Hand arithmetic: base 64, (word index x 3 + form) x 2 + space.
    expect([...encode("a")]).toEqual([64]);
    expect([...encode(" a")]).toEqual([65]);
    expect([...encode("A")]).toEqual([66]);
    // "the": 702 shorter words, then 19·676 + 7·26 + 4.
    expect([...encode(" the")]).toEqual([64 + (702 + 19 * 676 + 7 * 26 + 4) * 6 + 1]);
  });

  it("decodes what it encoded, counts alike, and stays in its vocabulary", () => {
    assert(
      property(string({ unit: "grapheme", maxLength: 200 }), (text) => {
        const ids = encode(text);
        expect(decode(ids)).toBe(text);
        expect(countTokens(text)).toBe(ids.length);
        for (const id of ids) expect(id >= 64 && id < SIM_VOCABULARY).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("decodes every kind of id to text that is one token again, where it is canonical", () => {
    for (const id of [64, 65, 70, 2_851_600, 2_853_810, 2_854_066]) {
      const text = decodeToken(id);
      expect(text.length).toBeGreaterThan(0);
      expect([...encode(text)]).toEqual([id]);
    }
  });
});

describe("answers", () => {
  const options = { max_tokens: 400, min_tokens: 0, ignore_eos: false, chat: false, seed: null };

  it("encode to the ids they were made of", () => {
    for (const chat of [true, false]) {
      const plan = planAnswer({ ...options, ignore_eos: true, chat }, startChain(), 1, 100);
      const ids = Array.from({ length: plan.tokens }, (_, i) => answerToken(plan, i));
      expect([...encode(ids.map(answerText).join(""))]).toEqual(ids);
    }
  });

  it("are exactly max_tokens long when forced, else stop by themselves", () => {
    expect(planAnswer({ ...options, ignore_eos: true }, startChain(), 1, 10)).toMatchObject({
      tokens: 400,
      stops: false,
    });
    const free = planAnswer(options, startChain(), 1, 50);
    expect(free.stops).toBe(true);
    expect(answerToken(free, free.tokens - 1)).toBe(TOKEN_END);
    // min_tokens = max_tokens leaves no room for an end-of-sequence token.
    expect(planAnswer({ ...options, min_tokens: 400 }, startChain(), 1, 10)).toMatchObject({
      tokens: 400,
      stops: false,
    });
  });

  it("have natural lengths with the mean asked for", () => {
    let sum = 0;
    const n = 4000;
    for (let i = 0; i < n; i++) {
      sum += planAnswer({ ...options, max_tokens: 100_000, seed: i }, startChain(), 7, 250).tokens;
    }
    // Standard error: 250 x sqrt(e^0.36 − 1) / sqrt(4000) = 2.6.
    expect(Math.abs(sum / n - 250)).toBeLessThan(11);
  });
});
