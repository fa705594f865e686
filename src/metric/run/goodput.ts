/**
 * Goodput: requests that meet every objective ÷ window, and their share of all requests sent or overdue. Inclusive (≤).
 * An objective on a metric that an ok request does not have is met only by `tpot`/`itl` of a reply with at most one token.
 */
import { UserError } from "../../core/failure.ts";
import { nearestHint } from "../../core/nearest.ts";
import type { Ms } from "../../core/units.ts";
import { type Clip, inClip } from "../clip.ts";
import { ROUNDING_MS } from "../job/over_budget.ts";
import { OK, type RequestTable, SKIPPED } from "../request-table.ts";
import { REQUEST_METRIC_IDS, type RequestMetricId } from "../request/index.ts";
import type { Goodput } from "../summary.ts";

export interface GoodputObjective {
  /** As the user wrote it: `e2el` stays `e2el`. */
  readonly name: string;
  readonly metric: RequestMetricId | "itl";
  /** Upper bound in the metric's unit; for `output_tps` a lower bound. */
  readonly bound: number;
}

const NAMES: Readonly<Record<string, RequestMetricId | "itl">> = {
  ...(Object.fromEntries(REQUEST_METRIC_IDS.map((id) => [id, id])) as Record<string, RequestMetricId>),
  itl: "itl",
  // vLLM's word.
  e2el: "e2e",
};

/** `["ttft:200", "tpot:50", "e2el:2000"]`, also several in one item. {@link UserError} names the nearest metric. */
export function parseGoodput(items: readonly string[], flag = "--goodput"): GoodputObjective[] {
  const objectives: GoodputObjective[] = [];
  const known = Object.keys(NAMES);
  for (const item of items.flatMap((text) => text.trim().split(/[\s,]+/))) {
    const [name = "", value, ...rest] = item.split(":");
    const metric = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
    if (value === undefined || rest.length > 0 || value.trim() === "")
      throw new UserError(`${flag}: "${item}" is not NAME:MILLISECONDS`, { hint: "e.g. ttft:200 tpot:50" });
    if (metric === undefined) {
      throw new UserError(`${flag}: unknown metric "${name}"`, {
        hint: [nearestHint(name, known), `known: ${known.join(", ")}`].filter(Boolean).join(" "),
      });
    }
    const bound = Number(value);
    if (!Number.isFinite(bound) || bound < 0)
      throw new UserError(`${flag}: "${item}": the bound must be a number of at least 0`);
    if (objectives.some((other) => other.metric === metric))
      throw new UserError(`${flag}: ${name} is given twice`);
    objectives.push({ name, metric, bound });
  }
  return objectives;
}

export function goodput(
  table: RequestTable,
  clip: Clip,
  window: { readonly start_ms: Ms; readonly end_ms: Ms } | null,
  objectives: readonly GoodputObjective[],
  overdue: number | null,
): Goodput | null {
  if (objectives.length === 0) return null;
  let good = 0;
  let ended = 0;
  let sent = 0;
  for (let row = 0; row < table.n; row++) {
    if (table.status[row] === SKIPPED || !inClip(table.columns.intended[row] as number, clip)) continue;
    sent++;
    if (table.status[row] !== OK || !objectives.every((objective) => isMet(table, row, objective))) continue;
    good++;
    const end = table.columns.end[row] as number;
    if (window !== null && end >= window.start_ms && end <= window.end_ms) ended++;
  }
  const asked = sent + (overdue ?? 0);
  return {
    objectives: Object.fromEntries(objectives.map(({ name, bound }) => [name, bound])),
    good,
    rate_per_s: window === null ? null : (ended * 1000) / (window.end_ms - window.start_ms),
    share: asked === 0 ? null : good / asked,
  };
}

function isMet(table: RequestTable, row: number, { metric, bound }: GoodputObjective): boolean {
  const value = (metric === "itl" ? table.itlMean[row] : table.metrics[metric][row]) as number;
  if (!Number.isNaN(value))
    return metric === "output_tps" ? value >= bound - ROUNDING_MS : value <= bound + ROUNDING_MS;
  if (metric !== "tpot" && metric !== "itl") return false;
  const told = table.columns.output_tokens[row] as number;
  const tokens = Number.isNaN(told) ? (table.columns.chunks[row] as number) : told;
  return tokens <= 1;
}
