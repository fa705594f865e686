/**
 * How much a made-up trace holds: it is made whole before it is written, so one that does not fit in memory is refused. A
 * long tail without `max=`, or a zero too many, gets there sooner than one thinks.
 */
import { UserError } from "../core/failure.ts";
import type { Ms, Tokens } from "../core/units.ts";

/** Measured: 0.8 kB a request, and 16 B for each block name in its prompt. */
const BYTES_A_REQUEST = 800;
const BYTES_A_BLOCK = 16;
const MAX_BYTES = 3e9;

const MAX_TOKENS: Tokens = 1e9;
/** 31 years. */
const MAX_TIME: Ms = 1e12;

export class Bulk {
  #requests = 0;
  #bytes = 0;

  /** Counts a request; called before its block names are made. */
  add(prompt_tokens: Tokens, block_tokens: Tokens): void {
    checkTokens("a prompt", prompt_tokens);
    this.#requests++;
    this.#bytes += BYTES_A_REQUEST + (BYTES_A_BLOCK * prompt_tokens) / block_tokens;
    if (this.#bytes > MAX_BYTES)
      throw new UserError(
        `the trace does not fit in memory: it is too large after ${this.#requests} requests`,
        {
          hint: "fewer jobs, fewer turns, shorter prompts, or larger --block-tokens",
        },
      );
  }

  /** Whether so many more, of bare length, still fit. */
  expect(requests: number): void {
    if (this.#bytes + requests * BYTES_A_REQUEST > MAX_BYTES)
      throw new UserError(`the trace does not fit in memory: ${requests} requests or more`, {
        hint: `a trace holds ${Math.floor(MAX_BYTES / BYTES_A_REQUEST)} at most`,
      });
  }
}

export function checkTokens(what: string, tokens: Tokens): void {
  if (!(tokens <= MAX_TOKENS)) throw tooLarge(`${what} of ${tokens} tokens`);
}

export function checkTime(what: string, time: Ms): void {
  if (!(time <= MAX_TIME)) throw tooLarge(`${what} at ${time} ms`);
}

function tooLarge(what: string): UserError {
  return new UserError(`the distributions made ${what}`, {
    hint: "cut their tails with max=, as in pareto(200,1.3,max=600k)",
  });
}
