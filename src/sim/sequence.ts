/** A request inside the engine: what is known of its tokens, computed of them, and held in blocks. */
import type { Ms, Tokens } from "../core/units.ts";
import { answerToken, type AnswerPlan } from "./output-words.ts";
import { extendChain, type HashChain, type PromptDigest } from "./prompt-digest.ts";

export type SequenceState = "waiting" | "running" | "done";

/**
 * A token was sampled at `at`; `id` is one of the answer's words or the end-of-sequence token; `end` is not null with
 * the last one. Called inside the engine's step: must be cheap and must not throw.
 */
export type TokenListener = (id: number, at: Ms, end: SequenceEnd | null) => void;

/** How a request ended, and its exact times inside the engine (as vLLM splits them). */
export interface SequenceEnd {
  readonly reason: "stop" | "length";
  readonly at: Ms;
  readonly prompt_tokens: Tokens;
  readonly output_tokens: Tokens;
  readonly cached_tokens: Tokens;
  /** Submitted → first scheduled. */
  readonly queue_ms: Ms;
  /** First scheduled → first token. */
  readonly prefill_ms: Ms;
  /** First token → last token; waiting after a preemption counted in. */
  readonly decode_ms: Ms;
  readonly preemptions: number;
}

export class Sequence {
  readonly id: string;
  readonly prompt: PromptDigest;
  readonly answer: AnswerPlan;
  readonly onToken: TokenListener;
  readonly arrival: Ms;
  state: SequenceState = "waiting";
  /** Prompt and output so far. */
  total: Tokens;
  /** Of these: computed, or found in a cache. */
  computed: Tokens = 0;
  output: Tokens = 0;
  /** Prompt tokens found in a cache when it was first scheduled. */
  cached_tokens: Tokens | null = null;
  blocks: number[] = [];
  /** Blocks of `blocks` that were made findable. */
  committed = 0;
  scheduled: Ms | null = null;
  first_token: Ms | null = null;
  last_token: Ms | null = null;
  preemptions = 0;
  /** Names of its first full blocks, as far as they were asked for (block-names.ts); held until it is done. */
  readonly names: number[] = [];
  /** Known hits of the blocked head of the queue: GPU block, or −1 for one in host memory. */
  hits: number[] = [];
  readonly #chain: HashChain;
  /** Hashes of full blocks beyond the prompt's. */
  readonly #later: number[] = [];

  constructor(id: string, prompt: PromptDigest, answer: AnswerPlan, onToken: TokenListener, arrival: Ms) {
    this.id = id;
    this.prompt = prompt;
    this.answer = answer;
    this.onToken = onToken;
    this.arrival = arrival;
    this.total = prompt.tokens;
    this.#chain = { ...prompt.chain };
  }

  hashAt(block: number): number {
    const hashes = this.prompt.hashes;
    return (block < hashes.length ? hashes[block] : this.#later[block - hashes.length]) as number;
  }

  /** Appends the next token of the answer; returns its id. */
  sample(): number {
    const id = answerToken(this.answer, this.output);
    this.output++;
    this.total++;
    const hash = extendChain(this.#chain, id, this.prompt.block_size);
    if (hash !== null) this.#later.push(hash);
    return id;
  }
}
