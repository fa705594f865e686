/** The smaller numbers of a run as label and value, section by section: one source for the terminal and Markdown. */
import type { JsonObject } from "../core/json.ts";
import { plainText } from "../core/terminal-text.ts";
import type { LengthFidelity, Summary } from "../metric/summary.ts";
import { formatChange, formatCount, formatDurationOf, formatNumber, formatShare } from "./quantity.ts";

export interface Section {
  readonly title: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
}

type Fact = readonly [string, string];

export function sections(summary: Summary): Section[] {
  return [
    { title: "Run", facts: runFacts(summary) },
    { title: "Throughput", facts: throughputFacts(summary) },
    { title: "Engine", facts: engineFacts(summary) },
    { title: "Fidelity", facts: fidelityFacts(summary) },
    { title: "Validity", facts: validityFacts(summary) },
  ].filter(({ facts }) => facts.length > 0);
}

function runFacts({ run, counts, window, window_ms, jobs }: Summary): Fact[] {
  const facts: Fact[] = [
    ["model", `${plainText(run.model)}${run.simulated ? " (SIMULATED engine)" : ""}`],
    ["target", `${plainText(run.target)} (${plainText(run.backend)})`],
  ];
  if (run.label !== null) facts.unshift(["label", plainText(run.label)]);
  if (run.trace !== null) facts.push(["trace", plainText(run.trace)]);
  facts.push(["pacing", run.pacing]);
  const from = window !== null && window.start_ms !== 0 ? `, from ${formatDurationOf(window.start_ms)}` : "";
  facts.push(["measured window", `${formatDurationOf(window_ms)}${from}`]);
  const more = [
    [counts.failed, "failed"],
    [counts.cancelled, "cancelled"],
    [counts.skipped, "skipped"],
    [counts.not_sent, "not sent"],
  ] as const;
  const rest = more.filter(([n]) => n > 0).map(([n, what]) => `${formatCount(n)} ${what}`);
  facts.push([
    "requests",
    [
      `${formatCount(counts.planned)} planned`,
      `${formatCount(counts.sent)} sent`,
      `${formatCount(counts.ok)} ok`,
    ]
      .concat(rest)
      .join(", "),
  ]);
  if (counts.overdue !== null && counts.overdue > 0)
    facts.push(["overdue", `${formatCount(counts.overdue)} were due and never sent`]);
  const { total, ok, failed, unfinished, not_started } = jobs.counts;
  const states = [
    [failed, "failed"],
    [unfinished - not_started, "unfinished"],
    [not_started, "not started"],
  ] as const;
  facts.push([
    "jobs",
    [`${formatCount(total)} in all`, `${formatCount(ok)} ok`]
      .concat(states.filter(([n]) => n > 0).map(([n, what]) => `${formatCount(n)} ${what}`))
      .join(", "),
  ]);
  return facts;
}

function throughputFacts({ throughput: t, goodput, steady_state, prefix_cache: cache }: Summary): Fact[] {
  const facts: Fact[] = [
    ["requests", `${formatNumber(t.requests_per_s)} /s`],
    ["input tokens", `${formatNumber(t.input_tokens_per_s)} /s`],
    [
      "output tokens",
      `${formatNumber(t.output_tokens_per_s)} /s, peak ${formatNumber(t.peak_output_tokens_per_s)} /s`,
    ],
    ["total tokens", `${formatNumber(t.total_tokens_per_s)} /s`],
    [
      "concurrency",
      `mean ${formatNumber(t.mean_concurrency)}, peak ${formatCount(t.peak_concurrency)} requests`,
    ],
    ["jobs", `${formatNumber(t.jobs_per_hour)} /h`],
  ];
  if (t.jobs_in_budget_per_hour !== null)
    facts.push(["jobs within budget", `${formatNumber(t.jobs_in_budget_per_hour)} /h`]);
  facts.push(["jobs of one user", `${formatNumber(t.jobs_per_hour_per_user)} /h`]);
  if (t.jobs_per_hour_per_gpu !== null)
    facts.push(["jobs of one GPU", `${formatNumber(t.jobs_per_hour_per_gpu)} /h`]);
  if (steady_state !== null)
    facts.push([
      "steady state",
      `${formatNumber(steady_state.jobs_per_hour)} jobs/h (${formatCount(steady_state.jobs)} jobs in ` +
        `${formatDurationOf(steady_state.end_ms - steady_state.start_ms)})`,
    ]);
  if (goodput !== null) {
    const bounds = Object.entries(goodput.objectives).map(
      ([name, bound]) => `${name} ≤ ${formatNumber(bound)} ms`,
    );
    facts.push([
      "goodput",
      `${formatNumber(goodput.rate_per_s)} /s, ${formatShare(goodput.share)} of requests (${bounds.join(", ")})`,
    ]);
  }
  const source =
    cache.source === null ? "" : ` (${cache.source === "requests" ? "told per request" : "engine counters"})`;
  facts.push([
    "prefix cache",
    `hit rate ${formatShare(cache.hit_rate)}${source}, optimum of the trace ${formatShare(cache.optimal_hit_rate)}`,
  ]);
  return facts;
}

/** What the server's own metrics said over the run. Any number it holds is shown; its key tells the unit. */
function engineFacts({ engine }: Summary): Fact[] {
  if (engine === null || typeof engine !== "object" || Array.isArray(engine)) return [];
  return Object.entries(engine as JsonObject).flatMap(([key, value]): Fact[] => {
    const label = plainText(key.replace(/_(ms|w)$/, "").replaceAll("_", " "));
    if (typeof value === "string") return [[label, plainText(value)]];
    if (typeof value !== "number") return [];
    if (key.endsWith("_ms")) return [[label, formatDurationOf(value)]];
    if (/(rate|usage|utilisation)(_|$)/.test(key)) return [[label, formatShare(value)]];
    return [[label, `${formatNumber(value)}${key.endsWith("_w") ? " W" : ""}`]];
  });
}

function fidelityFacts({ fidelity: f }: Summary): Fact[] {
  const facts: Fact[] = [
    ["prompt length", lengthText(f.prompt_tokens)],
    ["output length", lengthText(f.output_tokens)],
  ];
  for (const [what, how] of Object.entries(f.provenance)) facts.push([plainText(what), plainText(how)]);
  if (f.speed !== 1) facts.push(["speed", `arrivals × ${formatNumber(f.speed)}`]);
  if (f.think_scale !== 1) facts.push(["think times", `× ${formatNumber(f.think_scale)}`]);
  if (f.gaps_capped > 0) facts.push(["gaps capped", formatCount(f.gaps_capped)]);
  if (f.warmup_duplicates !== null && f.warmup_duplicates > 0)
    facts.push(["warm-up prompts measured", `${formatCount(f.warmup_duplicates)} (must be 0)`]);
  if (f.tokenizer_warning !== null) facts.push(["tokenizer", plainText(f.tokenizer_warning)]);
  for (const note of f.notes) facts.push(["note", plainText(note)]);
  return facts;
}

function lengthText(length: LengthFidelity): string {
  if (length.n === 0) return "n/a (planned or counted length unknown)";
  return (
    `${formatChange(length.bias_share)} (planned ${formatNumber(length.planned_mean)}, got ` +
    `${formatNumber(length.achieved_mean)} tokens on average; p95 off by ${formatNumber(length.p95_difference_tokens)})`
  );
}

function validityFacts({ validity: v }: Summary): Fact[] {
  const facts: Fact[] = [
    [
      "lateness of sends",
      `p50 ${formatDurationOf(v.lateness["p50"])}, p99 ${formatDurationOf(v.lateness["p99"])}, max ` +
        `${formatDurationOf(v.lateness.max)}; ${formatShare(v.lateness.share_late)} later than ` +
        `${formatDurationOf(v.max_lateness_ms)}`,
    ],
    [
      "event-loop stalls",
      `p99 ${formatDurationOf(v.loop_stall.p99)}, max ${formatDurationOf(v.loop_stall.max)}, with streams open ` +
        `${formatDurationOf(v.loop_stall.streaming_max)}`,
    ],
  ];
  if (v.cpu_share !== null) facts.push(["CPU of the busiest lane", formatShare(v.cpu_share)]);
  return facts;
}
