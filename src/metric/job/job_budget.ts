/**
 * The time a job may take. A trace's own `budget_ms` wins over `--job-budget`; a relative one (`2x`) is that many times
 * the job's time on the unloaded server: its critical path with this run's think times and the service times of a
 * calibration pass at concurrency 1; without calibration its recorded time, labelled so.
 */
import { parseDuration } from "../../core/duration.ts";
import { UserError } from "../../core/failure.ts";
import type { Ms } from "../../core/units.ts";
import type { Calibration } from "../calibration.ts";
import type { JobView } from "./job-view.ts";

export type JobBudget =
  | { readonly kind: "absolute"; readonly ms: Ms; readonly text: string }
  | { readonly kind: "relative"; readonly factor: number; readonly text: string };

export type BudgetSource = "trace" | "flag" | "calibration" | "recorded";

/** `30s`, `500ms`, `2m` or `2x`. {@link UserError} for anything else, and for zero. */
export function parseJobBudget(text: string, flag = "--job-budget"): JobBudget {
  const relative = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*x\s*$/i.exec(text);
  if (relative !== null) {
    const factor = Number(relative[1]);
    if (factor <= 0) throw zeroBudget(flag, text);
    return { kind: "relative", factor, text: text.trim() };
  }
  const ms = parseDuration(text, flag);
  if (ms <= 0) throw zeroBudget(flag, text);
  return { kind: "absolute", ms, text: text.trim() };
}

function zeroBudget(flag: string, text: string): UserError {
  return new UserError(`${flag}: "${text}": a budget must be above zero`, {
    hint: "write a time (30s) or a multiple of the unloaded time (2x)",
  });
}

export interface BudgetedJob {
  readonly ms: Ms;
  readonly source: BudgetSource;
}

/** The budget of one job, or `null`. */
export function budgetOf(
  planned: { readonly budget_ms: Ms; readonly recorded_ms: Ms; readonly unloaded_ms: Ms },
  job: JobView,
  complete: boolean,
  flag: JobBudget | null,
  calibration: Calibration | null,
): BudgetedJob | null {
  if (!Number.isNaN(planned.budget_ms)) return { ms: planned.budget_ms, source: "trace" };
  if (flag === null) return null;
  if (flag.kind === "absolute") return { ms: flag.ms, source: "flag" };
  // As the run was planned: it is known for jobs that the run's end has cut, too.
  const unloaded =
    Number.isNaN(planned.unloaded_ms) && complete && calibration !== null
      ? unloadedTime(job, calibration)
      : planned.unloaded_ms;
  if (!Number.isNaN(unloaded)) return { ms: flag.factor * unloaded, source: "calibration" };
  if (!Number.isNaN(planned.recorded_ms))
    return { ms: flag.factor * planned.recorded_ms, source: "recorded" };
  return null;
}

/** The job's critical path on a server that serves each turn as the calibration pass saw it; NaN where it saw not all. */
export function unloadedTime({ table, rows, start_ms }: JobView, calibration: Calibration): Ms {
  const { intended, end } = table.columns;
  const finish = new Map<number, Ms>();
  let latest = 0;
  // Parents end before their children: the order of ends is an order of the DAG.
  for (const row of [...rows].sort((a, b) => (end[a] as number) - (end[b] as number) || a - b)) {
    const service = calibration.service_ms.get(table.requestIds[row] as string);
    if (service === undefined) return NaN;
    const due = intended[row] as number;
    let begin = due - start_ms;
    const parents = table.parents(row);
    if (parents.length > 0) {
      let lastEnd = -Infinity;
      let ready = -Infinity;
      for (const parent of parents) {
        lastEnd = Math.max(lastEnd, end[parent] as number);
        ready = Math.max(ready, finish.get(parent) ?? NaN);
      }
      begin = ready + (due - lastEnd);
    }
    finish.set(row, begin + service);
    latest = Math.max(latest, begin + service);
  }
  return latest;
}
