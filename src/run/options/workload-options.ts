/** What is replayed, when each request is due, and how many may be under way. */
import { choice, duration, integer, number, option, text, toggle } from "./option.ts";
import { GROUP } from "./groups.ts";

const W = GROUP.workload;
const A = GROUP.arrivals;
const L = GROUP.load;

/** Seeds, history and lengths: what the requests hold. */
export const workloadOptions = {
  trace_file: option(text("<file>"), W, "the trace (same as the positional TRACE)"),
  format: option(text("<name>"), W, "trace format", { defaultText: "detected by content" }),
  skip_bad: option(toggle(), W, "count and skip bad rows instead of refusing the trace"),
  block_tokens: option(integer({ min: 1 }), W, "tokens of a prefix block, where the format leaves it open"),
  max_requests: option(integer({ min: -1 }), W, "only the first so many entries of the trace; -1 = all", {
    defaultText: "-1",
  }),
  max_jobs: option(integer({ min: 1 }), W, "only the first so many jobs"),
  copies: option(integer({ min: 1 }), W, "closed: replay so many copies of each job", { defaultText: "1" }),
  share_copies: option(toggle(), W, "copies of a job share its prompts, and so the prefix cache"),
  input_length: option(integer({ min: 1 }), W, "override every prompt's length (tokens)"),
  output_length: option(integer({ min: 1 }), W, "override every output's length (tokens)"),
  output: option(
    choice("exact", "free"),
    W,
    "force the recorded output lengths, or let the model stop by itself",
    { defaultText: "exact" },
  ),
  history: option(
    choice("recorded", "live"),
    W,
    "assistant turns in later prompts: the recorded ones, or what the server just said",
    {
      defaultText: "recorded",
    },
  ),
  seed: option(integer({ min: 0 }), W, "seed of arrivals, lengths and sampling", {
    defaultText: "drawn, and written to the manifest",
  }),
  prompt_seed: option(
    integer({ min: 0 }),
    W,
    "seed of made-up prompt text; without it the text differs in every run",
  ),
  prompt_ids: option(toggle(), W, "send made-up prompts as token ids, where the protocol takes them"),
} as const;

export const pacingOptions = {
  pacing: option(
    choice("auto", "recorded", "jobs", "closed"),
    A,
    "recorded times; jobs released by their parents; or N jobs at a time",
    {
      defaultText: "auto",
    },
  ),
  speed: option(number({ min: 0, exclusive: true }), A, "replay arrivals so many times faster", {
    defaultText: "1",
  }),
  think_scale: option(number({ min: 0 }), A, "multiply think and tool times", { defaultText: "1" }),
  max_gap: option(duration("s"), A, "cap think and tool times, and idle gaps, at this"),
  spread: option(
    toggle(),
    A,
    "spread arrivals that the trace quantised (Mooncake: 3 s) evenly over their step",
  ),
  arrival_type: option(
    choice("trace", "random", "uniform", "poisson", "gamma"),
    A,
    "where arrivals come from",
    { defaultText: "trace" },
  ),
  arrival_rate: option(
    number({ min: 0, exclusive: true }),
    A,
    "requests a second (jobs, where pacing is by job)",
  ),
  arrival_seed: option(integer({ min: 0 }), A, "seed of made-up arrivals", {
    defaultText: "--seed, else 42",
  }),
  burstiness: option(
    number({ min: 0, exclusive: true, infinite: true }),
    A,
    "shape of gamma gaps: 1 = Poisson, less = burstier, inf = constant",
    {
      defaultText: "1",
    },
  ),
  normalize: option(toggle(), A, "scale made-up gaps so that the last request leaves at (N-1)/rate", {
    negatable: true,
    defaultText: "true",
  }),
  stagger: option(duration("s"), A, "closed: start the first jobs so far apart", { defaultText: "0" }),
  stagger_jitter: option(
    duration("s"),
    A,
    "closed: add a random time from 0 to this to each of those starts",
    {
      defaultText: "0",
    },
  ),
  preload: option(toggle(), A, "closed: send each shared system prompt once before the run; copies keep it"),
} as const;

export const loadOptions = {
  max_concurrency: option(integer({ min: 1 }), L, "requests in flight at most (closed: jobs at a time)", {
    aliases: ["--concurrency"],
  }),
  duration: option(
    duration("s", { positive: true }),
    L,
    "stop sending after this; closed: repeat the jobs until then",
  ),
  warmup: option(duration("s"), L, "leave the first part out of the measured window", { defaultText: "0" }),
  calibrate: option(
    toggle(),
    L,
    "first send every request once, alone: for relative budgets and the split of TTFT",
  ),
  num_warmups: option(integer({ min: 0 }), L, "unmeasured requests before the run", { defaultText: "0" }),
  lanes: option(integer({ min: 1 }), L, "worker threads that send", { defaultText: "1" }),
} as const;
