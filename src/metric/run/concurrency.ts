/** Intervals [sent, end] of all sent requests, cut to the window. */
import type { Ms } from "../../core/units.ts";
import type { RequestTable } from "../request-table.ts";

interface Window {
  readonly start_ms: Ms;
  readonly end_ms: Ms;
}

/** Most requests in flight at one instant. Departures come before arrivals. `null` when nothing was sent. */
export function peak_concurrency(table: RequestTable, window: Window): number | null {
  const starts: number[] = [];
  const ends: number[] = [];
  forEachOverlap(table, window, (from, to) => {
    starts.push(from);
    ends.push(to);
  });
  if (starts.length === 0) return null;
  const arrivals = Float64Array.from(starts).sort();
  const departures = Float64Array.from(ends).sort();
  let gone = 0;
  let peak = 0;
  for (let come = 0; come < arrivals.length; come++) {
    while ((departures[gone] as number) <= (arrivals[come] as number) && gone < come) gone++;
    peak = Math.max(peak, come + 1 - gone);
  }
  return peak;
}

/** Σ overlap of [sent, end] with the window ÷ window. `null` when nothing was sent. */
export function mean_concurrency(table: RequestTable, window: Window): number | null {
  let sum = 0;
  let n = 0;
  forEachOverlap(table, window, (from, to) => {
    sum += to - from;
    n++;
  });
  return n === 0 ? null : sum / (window.end_ms - window.start_ms);
}

function forEachOverlap(table: RequestTable, window: Window, visit: (from: Ms, to: Ms) => void): void {
  const { sent, end } = table.columns;
  for (let row = 0; row < table.n; row++) {
    const from = Math.max(sent[row] as number, window.start_ms);
    const to = Math.min(end[row] as number, window.end_ms);
    // NaN (never sent, no end) compares false.
    if (to >= from) visit(from, to);
  }
}
