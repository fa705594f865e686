/** `prefix_repetition`: a few prefixes, each shared by many prompts, with a suffix of its own behind it. */
import { UserError } from "../../core/failure.ts";
import { type Dataset, type DatasetContext, type DatasetTurn, makeTurn } from "./dataset.ts";

export const prefixRepetition: Dataset = {
  name: "prefix_repetition",
  title:
    "made-up prompts over shared prefixes: --prefix-repetition-prefix-len, -suffix-len, -num-prefixes, -output-len",
  needsPath: false,
  load: (context) => Promise.resolve(makePrompts(context)),
};

function makePrompts(context: DatasetContext): DatasetTurn[] {
  const o = context.options;
  for (const [flag, value, least] of [
    ["--prefix-repetition-prefix-len", o.prefixRepetitionPrefixLen, 1],
    ["--prefix-repetition-suffix-len", o.prefixRepetitionSuffixLen, 0],
    ["--prefix-repetition-num-prefixes", o.prefixRepetitionNumPrefixes, 1],
    ["--prefix-repetition-output-len", o.prefixRepetitionOutputLen, 1],
  ] as const) {
    if (!Number.isSafeInteger(value) || value < least)
      throw new UserError(`${flag}: ${value} is not a whole number of at least ${least}`);
  }
  if (o.numPrompts < o.prefixRepetitionNumPrefixes) {
    throw new UserError(
      `--num-prompts ${o.numPrompts} is below --prefix-repetition-num-prefixes ${o.prefixRepetitionNumPrefixes}`,
    );
  }
  const tokens = o.prefixRepetitionPrefixLen + o.prefixRepetitionSuffixLen;
  // As even as can be, in an order that does not send equal prefixes one after another.
  const prefixes = Array.from({ length: o.numPrompts }, (_, at) => at % o.prefixRepetitionNumPrefixes);
  return context.rng
    .fork("prefix order")
    .shuffle(prefixes)
    .map((prefix) =>
      makeTurn(context, {
        prompt: {
          kind: "length",
          tokens,
          hash_ids: [prefix],
          block_tokens: o.prefixRepetitionPrefixLen,
          hash_scope: "prefix repetition",
        },
        promptTokens: tokens,
        outputTokens: o.prefixRepetitionOutputLen,
      }),
    );
}
