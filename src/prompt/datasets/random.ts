/** `random`: made-up prompts of about a length, behind a prefix that all of them share. */
import { UserError } from "../../core/failure.ts";
import type { Rng } from "../../core/random.ts";
import { type Dataset, type DatasetContext, type DatasetTurn, makeTurn } from "./dataset.ts";

/** Lengths are whole numbers between length·(1 − ratio) and length·(1 + ratio), ends included. */
export const random: Dataset = {
  name: "random",
  title: "made-up prompts: --random-input-len, -output-len, -prefix-len, -range-ratio",
  needsPath: false,
  load: (context) => Promise.resolve(makeRandom(context)),
};

function makeRandom(context: DatasetContext): DatasetTurn[] {
  const { numPrompts, randomInputLen, randomOutputLen, randomPrefixLen, randomRangeRatio } = context.options;
  if (!(randomRangeRatio >= 0 && randomRangeRatio < 1))
    throw new UserError(`--random-range-ratio: ${randomRangeRatio} is outside 0 ≤ ratio < 1`);
  for (const [flag, value, least] of [
    ["--random-input-len", randomInputLen, randomPrefixLen > 0 ? 0 : 1],
    ["--random-output-len", randomOutputLen, 1],
    ["--random-prefix-len", randomPrefixLen, 0],
  ] as const) {
    if (!Number.isSafeInteger(value) || value < least)
      throw new UserError(`${flag}: ${value} is not a whole number of at least ${least}`);
  }
  const inputs = context.rng.fork("random input");
  const outputs = context.rng.fork("random output");
  return Array.from({ length: numPrompts }, () => {
    const tokens = randomPrefixLen + around(randomInputLen, randomRangeRatio, inputs);
    return makeTurn(context, {
      prompt: {
        kind: "length",
        tokens: Math.max(1, tokens),
        hash_ids: randomPrefixLen > 0 ? [0] : null,
        block_tokens: randomPrefixLen > 0 ? randomPrefixLen : null,
        hash_scope: randomPrefixLen > 0 ? "random prefix" : null,
      },
      promptTokens: Math.max(1, tokens),
      outputTokens: Math.max(1, around(randomOutputLen, randomRangeRatio, outputs)),
    });
  });
}

function around(length: number, ratio: number, rng: Rng): number {
  return rng.integer(Math.floor(length * (1 - ratio)), Math.ceil(length * (1 + ratio)));
}
