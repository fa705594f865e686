/**
 * The best a prefix cache could do on a trace: an endless cache that holds every prompt sent before. Tokens that a model
 * generated are not counted as cached (their blocks have no names before they come back in a prompt).
 */
import type { List } from "../core/list.ts";
import { stableOrder } from "../core/stable-order.ts";
import type { Tokens } from "../core/units.ts";
import { JobTable, type JobColumns, type ResolvedJob } from "./job-table.ts";
import { NumberRuns, TextRuns } from "./prefix-runs.ts";
import { PrefixTrie } from "./prefix-trie.ts";
import { type ContentKind, PromptSymbols, type SymbolPrompt } from "./prompt-symbols.ts";
import type { TextPool } from "./text-pool.ts";
import { FIELD } from "./trace-table.ts";

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
  /** By job, in the order given: its part of `overall`. */
  readonly shared: JobReuse;
  /** Likewise: its part of `within_jobs`. */
  readonly alone: JobReuse;
  /**
   * `blocks`: prefix block names (exact to a block). `ids`: token ids (exact). `text`: common beginnings in steps of 32
   * bytes, turned into tokens by the recorded length, else 4 characters a token (estimated). `mixed`: several.
   * `null`: no prompt's content is known.
   */
  readonly method: ContentKind | "mixed" | null;
  /** Whether the token counts are exact for the method, or rest on characters. */
  readonly estimated: boolean;
  /** Turns of bare length, left out. */
  readonly unknown_turns: number;
}

/** Reuse of each job, as columns. */
export class JobReuse {
  readonly #turns: Int32Array;
  readonly #prompt: Float64Array;
  readonly #cached: Float64Array;

  constructor(jobs: number) {
    this.#turns = new Int32Array(jobs);
    this.#prompt = new Float64Array(jobs);
    this.#cached = new Float64Array(jobs);
  }

  add(job: number, prompt: Tokens, cached: Tokens): void {
    this.#turns[job] = (this.#turns[job] as number) + 1;
    this.#prompt[job] = (this.#prompt[job] as number) + prompt;
    this.#cached[job] = (this.#cached[job] as number) + cached;
  }

  at(job: number): Reuse {
    return reuseOf(this.#turns[job] ?? 0, this.#prompt[job] ?? 0, this.#cached[job] ?? 0);
  }

  hitRate(job: number): number | null {
    return this.at(job).hit_rate;
  }

  total(): Reuse {
    return reuseOf(sum(this.#turns), sum(this.#prompt), sum(this.#cached));
  }
}

function reuseOf(turns: number, prompt: Tokens, cached: Tokens): Reuse {
  return {
    turns,
    prompt_tokens: prompt,
    cached_tokens: cached,
    hit_rate: prompt > 0 ? cached / prompt : null,
  };
}

function sum(values: Int32Array | Float64Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i] as number;
  return total;
}

/**
 * Optimal prefix reuse by job and overall, in time linear in blocks (or ids, or bytes). Jobs as of `resolveJobs`.
 * Without `withinJobs` only the cache of all jobs is worked out: `within_jobs` and `alone` count nothing.
 */
export function optimalPrefixReuse(
  jobs: List<ResolvedJob>,
  { withinJobs = true }: { readonly withinJobs?: boolean } = {},
): PrefixReuse {
  const table = JobTable.of(jobs);
  return reuseOfColumns(
    table.columns,
    Int32Array.from(table.columns.job, (_, job) => job),
    withinJobs,
  );
}

/** {@link optimalPrefixReuse} of the first `order.length` jobs. `order`: those jobs as they begin, where arrivals are equal or missing. */
export function reuseOfColumns(
  { requests, first, row }: Pick<JobColumns, "requests" | "first" | "row">,
  order: Int32Array,
  withinJobs: boolean,
): PrefixReuse {
  const jobs = order.length;
  const turns = first[jobs] as number;
  const symbols = new PromptSymbols(requests);
  const cache = new Cache(symbols.pool);
  const kinds = new Set<ContentKind>();
  const shared = new JobReuse(jobs);
  const alone = new JobReuse(jobs);
  let unknown = 0;
  const jobOf = new Int32Array(turns);
  for (let job = 0; job < jobs; job++) jobOf.fill(job, first[job], first[job + 1]);
  for (const turn of byArrival({ requests, first, row }, order)) {
    const prompt = symbols.of(row[turn] as number);
    if (prompt === null) {
      unknown++;
      continue;
    }
    kinds.add(prompt.kind);
    shared.add(jobOf[turn] as number, prompt.tokens, cache.add(prompt));
  }

  // The same walk with a cache of its own for each job. A lone turn finds nothing in it.
  const measured = withinJobs && unknown < turns ? jobs : 0;
  for (let job = 0; job < measured; job++) {
    const [from, to] = [first[job] as number, first[job + 1] as number];
    cache.clear();
    for (let turn = from; turn < to; turn++) {
      const prompt = symbols.of(row[turn] as number);
      if (prompt !== null) alone.add(job, prompt.tokens, to - from === 1 ? 0 : cache.add(prompt));
    }
  }

  return {
    overall: shared.total(),
    within_jobs: alone.total(),
    shared,
    alone,
    method: kinds.size > 1 ? "mixed" : ([...kinds][0] ?? null),
    estimated: kinds.has("text"),
    unknown_turns: unknown,
  };
}

/** An endless prefix cache. */
class Cache {
  readonly #numberRuns = new NumberRuns();
  readonly #numbers = new PrefixTrie(this.#numberRuns);
  readonly #roots = new Map<string, number>();
  readonly #textRuns: TextRuns;
  readonly #texts: PrefixTrie;
  #textRoot: number;

  constructor(pool: TextPool) {
    this.#textRuns = new TextRuns(pool);
    this.#texts = new PrefixTrie(this.#textRuns);
    this.#textRoot = this.#texts.root();
  }

  /** Adds the prompt; returns how many tokens of its beginning were there. */
  add(prompt: SymbolPrompt): Tokens {
    if (prompt.numbers === null) {
      this.#textRuns.text = prompt.text;
      return prompt.tokensOf(this.#texts.add(this.#textRoot, prompt.count));
    }
    this.#numberRuns.sequence = prompt.numbers;
    let root = this.#roots.get(prompt.space);
    if (root === undefined) {
      root = this.#numbers.root();
      this.#roots.set(prompt.space, root);
    }
    return prompt.tokensOf(this.#numbers.add(root, prompt.count));
  }

  clear(): void {
    this.#numbers.clear();
    this.#roots.clear();
    this.#texts.clear();
    this.#textRoot = this.#texts.root();
  }
}

/** Turns by arrival; those without one stay behind the turn before them in their job. */
function byArrival(
  { requests, first, row }: Pick<JobColumns, "requests" | "first" | "row">,
  order: Int32Array,
): Int32Array {
  const turns = new Int32Array(first[order.length] as number);
  const times = new Float64Array(turns.length);
  let next = 0;
  for (const job of order) {
    let time = -Infinity;
    for (let turn = first[job] as number; turn < (first[job + 1] as number); turn++) {
      const arrival = requests.number(FIELD.arrival_ms, row[turn] as number);
      if (arrival > time) time = arrival;
      turns[next] = turn;
      times[next++] = time;
    }
  }
  return Int32Array.from(stableOrder(times), (position) => turns[position] as number);
}
