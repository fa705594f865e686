/** The first screen of the page: one sentence, four numbers, two verdicts. */
import type { Distribution } from "../../core/quantile.ts";
import { plainText } from "../../core/terminal-text.ts";
import type { Summary } from "../../metric/summary.ts";
import { type AnswerLine, NO_VERDICT, WAITING, causeShares, hasJobs } from "../answer.ts";
import { formatChange, formatCount, formatDurationOf, formatNumber, formatShare } from "../quantity.ts";

export interface Headline {
  readonly text: string;
  readonly tone: AnswerLine["tone"];
}

export interface KeyNumber {
  /** Where it stands in `summary.json`: keys joined by dots. */
  readonly path: string;
  readonly label: string;
  readonly value: string;
  readonly detail: string;
  readonly tone: AnswerLine["tone"];
}

/** The question's answer in one or two sentences. */
export function headline(summary: Summary): Headline {
  const { counts, run } = summary;
  const jobs = hasJobs(summary);
  const what = jobs ? "job" : "request";
  const time = jobs ? summary.jobs.job_e2e : summary.requests.response;
  const state = run.partial ? "So far: " : run.interrupted ? "Interrupted. " : "";
  if (counts.planned === 0) return { text: "Nothing was planned: the trace holds no requests.", tone: "bad" };
  if (counts.sent === 0)
    return { text: `${state}No request has been sent.`, tone: run.partial ? "plain" : "bad" };
  if (time.n === 0) {
    const failed = counts.failed === counts.sent;
    const some =
      counts.failed === 0
        ? ""
        : ` (${formatCount(counts.failed)} of ${formatCount(counts.sent)} requests failed)`;
    const text = failed ? `Every request failed (${kinds(summary)}).` : `No ${what} has ended ok${some}.`;
    return { text: `${state}${text}`, tone: run.partial && !failed ? "plain" : "bad" };
  }
  const high = highPercentile(time);
  const { ok, total } = jobs ? summary.jobs.counts : { ok: counts.ok, total: counts.sent };
  const those = ok < total ? `the ${formatCount(time.n)} ${what}s that ended ok` : `${what}s`;
  const first =
    time.n === 1
      ? `The one ${what} that ended ok took ${formatDurationOf(time.mean)}`
      : high !== null
        ? `${high.slice(1)} % of ${those} took at most ${formatDurationOf(time[high])}`
        : `A ${what} took ${formatDurationOf(time.mean)} on average`;
  const parts = [`${first}${overText(summary)}`];
  const shares = causeShares(summary);
  if (shares !== null && jobs) {
    const waiting = WAITING.reduce((sum, cause) => sum + shares[cause], 0);
    parts.push(`${formatShare(waiting)} of a ${what}’s time is waiting in queues`);
  }
  if (counts.failed > 0) parts.push(`${formatShare(counts.failed / counts.sent)} of requests failed`);
  return { text: `${state}${parts.join("; ")}.`, tone: toneOf(summary) };
}

/** p95 where it was asked for, else the nearest below or above it that was; `null` without any above the median. */
function highPercentile(time: Distribution): `p${string}` | null {
  const asked = Object.keys(time).filter(
    (key): key is `p${string}` =>
      /^p\d/.test(key) && Number(key.slice(1)) > 50 && time[key as `p${string}`] != null,
  );
  const distance = (key: string): number => Math.abs(Number(key.slice(1)) - 95);
  return asked.sort((a, b) => distance(a) - distance(b))[0] ?? null;
}

/** A time's high percentile as a key number: which one, its value, and what stands beside it. */
function highNumber(path: string, label: string, time: Distribution): KeyNumber {
  const high = highPercentile(time);
  const median = time["p50"] ?? null;
  return {
    path: `${path}.${high ?? "mean"}`,
    label: `${label}, ${high ?? "mean"}`,
    value: formatDurationOf(high === null ? time.mean : time[high]),
    detail:
      time.n === 0
        ? "none ended ok"
        : median === null
          ? `${formatDurationOf(time.mean)} on average`
          : `half of them within ${formatDurationOf(median)}`,
    tone: "plain",
  };
}

function overText({ jobs }: Summary): string {
  if (jobs.counts.over_budget === null) return "";
  if (jobs.budget_miss_rate === null) return "";
  const { text, sources } = jobs.budget;
  // A trace's own budgets win over the one asked for.
  const one = text !== null && (sources.trace ?? 0) === 0;
  const budget = one ? `the ${plainText(text)} budget` : "their budget";
  return jobs.counts.over_budget === 0
    ? `, none over ${budget}`
    : `, ${formatShare(jobs.budget_miss_rate)} over ${budget}`;
}

function toneOf({ counts, jobs }: Summary): AnswerLine["tone"] {
  if (counts.failed > 0) return "warn";
  if (jobs.counts.over_budget === null || jobs.budget_miss_rate === null) return "plain";
  return jobs.counts.over_budget > 0 ? "warn" : "good";
}

function kinds({ failures }: Summary): string {
  return Object.entries(failures)
    .map(([code, n]) => `${plainText(code)} ${formatCount(n)}`)
    .join(", ");
}

export function keyNumbers(summary: Summary): KeyNumber[] {
  return hasJobs(summary) ? jobNumbers(summary) : requestNumbers(summary);
}

function jobNumbers(summary: Summary): KeyNumber[] {
  const { jobs, throughput: t } = summary;
  const { over_budget, total, ok, censored, not_started } = jobs.counts;
  const shares = causeShares(summary);
  const waiting = shares === null ? null : WAITING.reduce((sum, cause) => sum + shares[cause], 0);
  const judged = total - censored - not_started;
  return [
    highNumber("jobs.job_e2e", "job time", jobs.job_e2e),
    over_budget === null
      ? {
          path: "jobs.counts.ok",
          label: "jobs ok",
          value: formatCount(ok),
          detail: `of ${formatCount(total)}; no budget was set`,
          tone: ok < total ? "warn" : "plain",
        }
      : {
          path: "jobs.budget_miss_rate",
          label: "jobs over budget",
          value: formatShare(jobs.budget_miss_rate),
          detail: judged === 0 ? NO_VERDICT : `${formatCount(over_budget)} of ${formatCount(judged)}`,
          tone: over_budget > 0 ? "warn" : judged === 0 ? "plain" : "good",
        },
    {
      path: "jobs.breakdown_ms",
      label: "of a job is waiting",
      value: formatShare(waiting),
      detail: "slot, client, connect and engine queue",
      tone: "plain",
    },
    t.jobs_in_budget_per_hour === null
      ? {
          path: "throughput.jobs_per_hour",
          label: "jobs an hour",
          value: formatNumber(t.jobs_per_hour),
          detail: `${formatNumber(t.jobs_per_hour_per_user)} for one user`,
          tone: "plain",
        }
      : {
          path: "throughput.jobs_in_budget_per_hour",
          label: "jobs an hour in budget",
          value: formatNumber(t.jobs_in_budget_per_hour),
          detail: `${formatNumber(t.jobs_per_hour)} in all, ${formatNumber(t.jobs_per_hour_per_user)} for one user`,
          tone: "plain",
        },
  ];
}

function requestNumbers(summary: Summary): KeyNumber[] {
  const { requests, counts, throughput: t, goodput } = summary;
  return [
    highNumber("requests.response", "response time", requests.response),
    highNumber("requests.ttft", "first token", requests.ttft),
    {
      path: "throughput.output_tokens_per_s",
      label: "output tokens a second",
      value: formatNumber(t.output_tokens_per_s),
      detail: `${formatNumber(t.requests_per_s)} requests a second`,
      tone: "plain",
    },
    goodput === null
      ? {
          path: "counts.ok",
          label: "requests ok",
          value: formatCount(counts.ok),
          detail: `of ${formatCount(counts.sent)} sent`,
          tone: counts.failed > 0 ? "bad" : "plain",
        }
      : {
          path: "goodput.share",
          label: "meet every objective",
          value: formatShare(goodput.share),
          detail: `${formatNumber(goodput.rate_per_s)} requests a second`,
          tone: "plain",
        },
  ];
}

/** Off by more than this share, a length is worth a warning. */
const LENGTH_BIAS = 0.02;

/** Whether the run did the work that the trace asked for. */
export function fidelityLine({ fidelity: f }: Summary): AnswerLine {
  const parts: string[] = [];
  let warn = false;
  for (const [what, length] of [
    ["prompts", f.prompt_tokens],
    ["outputs", f.output_tokens],
  ] as const) {
    if (length.bias_share === null) continue;
    warn ||= Math.abs(length.bias_share) > LENGTH_BIAS;
    parts.push(`${what} ${formatChange(length.bias_share)} of the length planned`);
  }
  if (f.warmup_duplicates !== null && f.warmup_duplicates > 0) {
    warn = true;
    parts.push(`${formatCount(f.warmup_duplicates)} warm-up prompts were measured`);
  }
  const made = Object.entries(f.provenance).filter(([, how]) => how !== "recorded");
  if (made.length > 0)
    parts.push(
      made.map(([what, how]) => `${plainText(what).replaceAll("_", " ")} ${plainText(how)}`).join(", "),
    );
  else if (Object.keys(f.provenance).length > 0) parts.push("everything as recorded");
  if (f.speed !== 1) parts.push(`arrivals × ${formatNumber(f.speed)}`);
  if (f.think_scale !== 1) parts.push(`think times × ${formatNumber(f.think_scale)}`);
  if (f.gaps_capped > 0) parts.push(`${formatCount(f.gaps_capped)} waits shortened`);
  return {
    label: "Fidelity",
    text: parts.length === 0 ? "the trace tells no lengths to compare with" : parts.join("; "),
    tone: warn ? "warn" : "good",
  };
}
