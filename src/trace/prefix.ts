/**
 * The best a prefix cache could do on a trace: an endless cache that holds every prompt sent before. Tokens that a model
 * generated are not counted as cached (their blocks have no names before they come back in a prompt).
 */
import type { Tokens } from "../core/units.ts";
import type { ResolvedJob } from "./jobs.ts";
import { PrefixTrie } from "./prefix-trie.ts";
import { PromptSymbols, type SymbolPrompt } from "./prompt-symbols.ts";
import type { TraceRequest } from "./trace-request.ts";

export interface Reuse {
  /** Turns whose prompt's content (or block names) is known; only these are counted. */
  readonly turns: number;
  readonly prompt_tokens: Tokens;
  readonly cached_tokens: Tokens;
  /** cached ÷ prompt; `null` without known prompts. */
  readonly hit_rate: number | null;
}

export interface PrefixReuse {
  /** One cache for all jobs, requests in order of arrival. */
  readonly overall: Reuse;
  /** A fresh cache for each job: what jobs gain from their own history alone. */
  readonly within_jobs: Reuse;
  /** By job id, in the order given: `shared` = its part of `overall`, `alone` = its part of `within_jobs`. */
  readonly by_job: ReadonlyMap<string, { readonly shared: Reuse; readonly alone: Reuse }>;
  /**
   * `blocks`: prefix block names (exact to a block). `ids`: token ids (exact). `text`: common beginnings in steps of 32
   * characters, turned into tokens by the recorded length, else 4 characters a token (estimated). `mixed`: several.
   * `null`: no prompt's content is known.
   */
  readonly method: "blocks" | "ids" | "text" | "mixed" | null;
  /** Whether the token counts are exact for the method, or rest on characters. */
  readonly estimated: boolean;
  /** Turns of bare length, left out. */
  readonly unknown_turns: number;
}

/**
 * Optimal prefix reuse by job and overall, in time linear in blocks (or ids, or characters). Jobs as of `resolveJobs`.
 * Without `withinJobs` only the cache of all jobs is worked out: `within_jobs` and each `alone` count nothing.
 */
export function optimalPrefixReuse(
  jobs: readonly Pick<ResolvedJob, "job_id" | "turns">[],
  { withinJobs = true }: { readonly withinJobs?: boolean } = {},
): PrefixReuse {
  const symbols = new PromptSymbols();
  const trie = new PrefixTrie();
  const kinds = new Set<"blocks" | "ids" | "text">();
  let unknown = 0;
  const shared = jobs.map(() => new Tally());
  const alone = jobs.map(() => new Tally());

  const known = jobs.some(({ turns }) => turns.some(({ request }) => hasContent(request)));
  if (!known) for (const { turns } of jobs) unknown += turns.length;
  for (const [request, job] of known ? byArrival(jobs) : []) {
    const prompt = symbols.of(request);
    if (prompt === null) {
      unknown++;
      continue;
    }
    kinds.add(prompt.kind);
    const covered = walk(trie, prompt);
    (shared[job] as Tally).add(prompt.tokens, prompt.tokensOf(covered));
  }

  // The same walk with a cache of its own for each job. A lone turn finds nothing in it.
  const own = new PrefixTrie();
  (known && withinJobs ? jobs : []).forEach((job, at) => {
    own.clear();
    for (const { request } of job.turns) {
      const prompt = symbols.of(request);
      if (prompt === null) continue;
      const covered = job.turns.length === 1 ? 0 : walk(own, prompt);
      (alone[at] as Tally).add(prompt.tokens, prompt.tokensOf(covered));
    }
  });

  const method = kinds.size > 1 ? "mixed" : ([...kinds][0] ?? null);
  return {
    overall: sum(shared),
    within_jobs: sum(alone),
    by_job: new Map(
      jobs.map(({ job_id }, at) => [
        job_id,
        { shared: (shared[at] as Tally).reuse(), alone: (alone[at] as Tally).reuse() },
      ]),
    ),
    method,
    estimated: kinds.has("text"),
    unknown_turns: unknown,
  };
}

/** Adds the prompt to the cache; returns the width of its beginning that was there. */
function walk(trie: PrefixTrie, prompt: SymbolPrompt): number {
  let node = 0;
  let covered = 0;
  let hit = true;
  for (let i = 0; i < prompt.symbols.length; i++) {
    const known = trie.size;
    node = trie.step(node, prompt.symbols[i] as number);
    hit = hit && node < known;
    if (hit) covered += prompt.width(i);
  }
  return covered;
}

function hasContent({ prompt }: TraceRequest): boolean {
  return prompt.kind !== "length" || (prompt.hash_ids !== null && prompt.block_tokens !== null);
}

/** All requests with their job's position, by arrival; those without one stay behind the turn before them. */
function byArrival(
  jobs: readonly Pick<ResolvedJob, "turns">[],
): readonly (readonly [request: TraceRequest, job: number])[] {
  const all: { request: TraceRequest; job: number; time: number }[] = [];
  jobs.forEach(({ turns }, job) => {
    let time = -Infinity;
    for (const { request } of turns) {
      time = Math.max(time, request.arrival_ms ?? -Infinity);
      all.push({ request, job, time });
    }
  });
  all.sort((a, b) => (a.time === b.time ? 0 : a.time - b.time));
  return all.map(({ request, job }) => [request, job] as const);
}

class Tally {
  #turns = 0;
  #prompt = 0;
  #cached = 0;

  add(prompt: Tokens, cached: Tokens): void {
    this.#turns++;
    this.#prompt += prompt;
    this.#cached += cached;
  }

  include(other: Tally): void {
    this.#turns += other.#turns;
    this.#prompt += other.#prompt;
    this.#cached += other.#cached;
  }

  reuse(): Reuse {
    return {
      turns: this.#turns,
      prompt_tokens: this.#prompt,
      cached_tokens: this.#cached,
      hit_rate: this.#prompt > 0 ? this.#cached / this.#prompt : null,
    };
  }
}

function sum(tallies: readonly Tally[]): Reuse {
  const total = new Tally();
  for (const tally of tallies) total.include(tally);
  return total.reuse();
}
