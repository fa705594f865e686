/**
 * What the simulator answers: common words, one token each, chosen by a hash of prompt, seed and position. The text
 * encodes to the same ids again, so that an answer sent back as history hits the blocks it left in the cache.
 */
import { createRng } from "../core/random.ts";
import type { Tokens } from "../core/units.ts";
import type { HashChain } from "./prompt-digest.ts";
import { TOKEN_END, decodeToken, encode } from "./tokenizer.ts";

/** 128 words of at most four letters: one token each, with and without the space before. */
const WORDS = (
  "the of and to in is it for on that with as at this but from or an be are was not have has had they you we can all " +
  "will one so if more when time no out up into than them then only some new now like may any such use make look way " +
  "file line test run code set get data list call node path name type read user app loop step tool plan task find " +
  "add fix log page part item link host port map key best case each even far few full give goal good hand help high " +
  "idea just keep kind last less long main mean most move much near need next open over real same seen show side sure"
).split(" ");

const SPACED_IDS = Int32Array.from(WORDS, (word) => encode(` ${word}`)[0] as number);
const FIRST_IDS = Int32Array.from(WORDS, (word) => encode(word)[0] as number);
const TEXT = new Map<number, string>();
for (const id of [...SPACED_IDS, ...FIRST_IDS]) TEXT.set(id, decodeToken(id));

/** What one request will be answered; fixed when it is submitted. */
export interface AnswerPlan {
  /** Output tokens, the end-of-sequence token counted in. */
  readonly tokens: Tokens;
  /** Ends by an end-of-sequence token rather than by its cap. */
  readonly stops: boolean;
  readonly hash: number;
  /** Chat answers start without a space. */
  readonly chat: boolean;
}

export interface AnswerOptions {
  /** At least 1. */
  readonly max_tokens: Tokens;
  /** No end-of-sequence token before this many tokens. */
  readonly min_tokens: Tokens;
  readonly ignore_eos: boolean;
  readonly chat: boolean;
  /** The request's own seed. */
  readonly seed: number | null;
}

/** Spread of the natural length: standard deviation of its logarithm. */
const LENGTH_SIGMA = 0.6;

/**
 * Length and words of an answer. The natural length is log-normal with the given mean, drawn from engine seed, prompt and
 * request seed: the same request gets the same answer. With `ignore_eos` it is exactly `max_tokens`.
 */
export function planAnswer(
  options: AnswerOptions,
  prompt: HashChain,
  engine_seed: number | string,
  mean_tokens: number,
): AnswerPlan {
  const name = `${engine_seed}/${prompt.a}/${prompt.b}/${options.seed ?? ""}`;
  const rng = createRng(`sim-answer/${name}`);
  const hash = rng.integer(0, 0x7fffffff);
  const { max_tokens, chat } = options;
  if (options.ignore_eos) return { tokens: max_tokens, stops: false, hash, chat };
  const mu = Math.log(mean_tokens) - LENGTH_SIGMA ** 2 / 2;
  const natural = Math.max(1, Math.round(rng.logNormal(mu, LENGTH_SIGMA)), options.min_tokens + 1);
  return { tokens: Math.min(natural, max_tokens), stops: natural <= max_tokens, hash, chat };
}

/** The id of the answer's token `index` (from 0). */
export function answerToken(plan: AnswerPlan, index: number): number {
  if (plan.stops && index === plan.tokens - 1) return TOKEN_END;
  let mixed = Math.imul(plan.hash ^ Math.imul(index + 1, 0x9e3779b1), 0x85ebca6b);
  mixed ^= mixed >>> 15;
  const ids = plan.chat && index === 0 ? FIRST_IDS : SPACED_IDS;
  return ids[(mixed >>> 0) % ids.length] as number;
}

/** The text of an answer's token; "" for the end-of-sequence token. Letters and spaces only: needs no JSON escape. */
export function answerText(id: number): string {
  return TEXT.get(id) ?? "";
}
