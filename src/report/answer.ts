/** The answer in words: job time, budget, where the time goes, whether to believe it. The same lines in every report. */
import { plainText } from "../core/terminal-text.ts";
import { CAUSES, type Cause } from "../metric/job/causes.ts";
import type { Summary } from "../metric/summary.ts";
import { formatCount, formatDurationOf, formatShare } from "./quantity.ts";

export interface AnswerLine {
  readonly label: string;
  readonly text: string;
  readonly tone: "plain" | "good" | "warn" | "bad";
}

export const CAUSE_TITLES: Readonly<Record<Cause, string>> = {
  tool: "tools and thinking",
  client: "load generator late",
  slot: "waiting for a slot",
  connect: "connecting",
  engine_queue: "waiting in the engine",
  prefill: "prefill",
  decode: "decode",
  tail: "after the last token",
  unsplit: "not split",
};

/** Waiting of every kind, as against work. */
export const WAITING: readonly Cause[] = ["slot", "client", "connect", "engine_queue"];

/** Whether jobs are more than single requests, so that job numbers say something of their own. */
export function hasJobs(summary: Summary): boolean {
  const { jobs, counts } = summary;
  return (jobs.job_turns.max ?? 0) > 1 || counts.planned > jobs.counts.total;
}

/** Heading of the table of causes. */
export function causeTitle(summary: Summary): string {
  return `Where a ${hasJobs(summary) ? "job" : "request"}'s time goes`;
}

export function answerLines(summary: Summary): AnswerLine[] {
  return [
    timeLine(summary),
    ...budgetLine(summary),
    ...causeLine(summary),
    ...failureLine(summary),
    verdictLine(summary),
  ];
}

function timeLine(summary: Summary): AnswerLine {
  const jobs = hasJobs(summary);
  const time = jobs ? summary.jobs.job_e2e : summary.requests.response;
  const what = jobs ? "jobs" : "requests";
  const label = jobs ? "Job time" : "Response time";
  if (time.n === 0) return { label, text: `n/a: no ${what} ended ok`, tone: "bad" };
  const keys = (["p50", "p95"] as const).filter((key) => time[key] !== undefined);
  const numbers = keys.map((key) => `${key} ${formatDurationOf(time[key])}`);
  if (numbers.length === 0) numbers.push(`mean ${formatDurationOf(time.mean)}`);
  return {
    label,
    text: `${numbers.join(", ")} (${formatCount(time.n)} ${time.n === 1 ? what.slice(0, -1) : what} ok)`,
    tone: "plain",
  };
}

/** Neither a job that ended nor one that had used up its budget. */
export const NO_VERDICT = "no job came to its end or its budget";

function budgetLine({ jobs }: Summary): AnswerLine[] {
  const { over_budget, censored, not_started, total } = jobs.counts;
  if (over_budget === null) return [];
  const judged = total - censored - not_started;
  const own = (jobs.budget.sources.trace ?? 0) > 0 ? "the trace's budgets" : null;
  const flag = jobs.budget.text === null ? null : `budget ${plainText(jobs.budget.text)}`;
  const basis =
    (jobs.budget.sources.recorded ?? 0) > 0 ? ", relative to recorded times, for want of a calibration" : "";
  if (judged === 0) return [{ label: "Over budget", text: `n/a: ${NO_VERDICT}`, tone: "plain" }];
  return [
    {
      label: "Over budget",
      text:
        `${formatShare(jobs.budget_miss_rate)} of jobs (${formatCount(over_budget)} of ${formatCount(judged)}; ` +
        `${[own, flag].filter((part) => part !== null).join(", else ")}${basis})`,
      tone: over_budget > 0 ? "warn" : "good",
    },
  ];
}

function causeLine(summary: Summary): AnswerLine[] {
  const shares = causeShares(summary);
  if (shares === null) return [];
  const waiting = WAITING.reduce((sum, cause) => sum + shares[cause], 0);
  const parts = CAUSES.filter((cause) => !WAITING.includes(cause) && shares[cause] >= 0.005)
    .sort((a, b) => shares[b] - shares[a])
    .map((cause) => `${formatShare(shares[cause])} ${CAUSE_TITLES[cause]}`);
  const within = WAITING.filter((cause) => shares[cause] >= 0.005).map(
    (cause) => `${CAUSE_TITLES[cause]} ${formatShare(shares[cause])}`,
  );
  const detail = within.length > 0 ? ` (${within.join(", ")})` : "";
  return [
    {
      label: "Time goes to",
      text: [`${formatShare(waiting)} waiting in queues${detail}`, ...parts].join("; "),
      tone: "plain",
    },
  ];
}

/** Each cause's share of the mean job time; `null` without ok jobs. */
export function causeShares({ jobs }: Summary): Record<Cause, number> | null {
  const total = CAUSES.reduce((sum, cause) => sum + (jobs.breakdown_ms[cause] ?? 0), 0);
  if (jobs.breakdown_ms.decode === null || total <= 0) return null;
  return Object.fromEntries(
    CAUSES.map((cause) => [cause, (jobs.breakdown_ms[cause] ?? 0) / total]),
  ) as Record<Cause, number>;
}

function failureLine({ counts, failures }: Summary): AnswerLine[] {
  if (counts.failed === 0) return [];
  const kinds = Object.entries(failures).map(([code, n]) => `${plainText(code)} ${formatCount(n)}`);
  return [
    {
      label: "Failures",
      text: `${formatShare(counts.failed / counts.sent)} of requests sent (${kinds.join(", ")})`,
      tone: "bad",
    },
  ];
}

function verdictLine({ validity, run }: Summary): AnswerLine {
  const { verdict, reasons, lateness } = validity;
  const simulated = run.simulated ? "; the engine is a SIMULATION" : "";
  if (verdict === "valid") {
    const late = lateness["p99"] ?? null;
    const text = late === null ? "valid" : `valid: sends ${formatDurationOf(Math.max(0, late))} late at p99`;
    return { label: "Verdict", text: `${text}${simulated}`, tone: "good" };
  }
  return {
    label: "Verdict",
    text: `${verdict}: ${reasons.map(plainText).join("; ")}${simulated}`,
    tone: "bad",
  };
}
