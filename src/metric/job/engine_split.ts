/**
 * `ttft` split into `engine_queue` and `prefill`. Where the server tells its prefill time of a request, `prefill` =
 * min(that, ttft). Otherwise it is an estimate: the time that this many uncached prompt tokens take on the unloaded
 * server, read off the lower envelope of TTFT against uncached prompt length, of a calibration pass where there was one,
 * else of this run; the latter scaled so that its mean is what the engine's own counters say of prefill over the run,
 * where they were scraped. In a run that never idles the envelope alone takes some of the waiting for prefill.
 *
 * The envelope is the greatest function below all points that is convex and never falls: prefill costs a constant, a part
 * that grows with the length and, through attention, one that grows with its square.
 */
import type { Ms, Tokens } from "../../core/units.ts";
import type { RequestTable } from "../request-table.ts";
import { OK } from "../request-table.ts";
import type { Calibration } from "../calibration.ts";
import type { PrefillPoint } from "./prefill-point.ts";

export interface EngineSplit {
  /** Prefill of a row with a first token, ms, never above its ttft; NaN without a first token. */
  prefill(row: number): Ms;
  /** Whether the server told it. */
  told(row: number): boolean;
  readonly estimatedFrom: "calibration" | "engine_counters" | "envelope";
}

/** `meanPrefill`: the engine's own mean prefill time over the run, from its counters; `null` where not scraped. */
export function splitEngineTime(
  table: RequestTable,
  calibration: Calibration | null,
  meanPrefill: Ms | null = null,
): EngineSplit {
  const server = table.columns.server_prefill;
  const ttft = table.metrics.ttft;
  let envelope: ((tokens: Tokens) => Ms) | null = null;
  const calibrated = calibration !== null && calibration.prefills.length > 0;
  const estimate = (tokens: Tokens): Ms => {
    // Made when the first estimate is asked for: a server that tells all needs none.
    envelope ??= calibrated ? lowerEnvelope(calibration.prefills) : runEnvelope(table, meanPrefill);
    return envelope(tokens);
  };
  return {
    prefill: (row) => {
      const told = server[row] as number;
      const limit = ttft[row] as number;
      if (!Number.isNaN(told) || Number.isNaN(limit)) return Number.isNaN(limit) ? NaN : told;
      return Math.min(limit, estimate(uncachedTokens(table, row)));
    },
    told: (row) => !Number.isNaN(server[row] as number),
    estimatedFrom: calibrated ? "calibration" : meanPrefill === null ? "envelope" : "engine_counters",
  };
}

/** Prompt tokens that the server had to compute, as far as it is known: counted, else planned, less those cached. */
export function uncachedTokens(table: RequestTable, row: number): Tokens {
  const { prompt_tokens, planned_prompt_tokens, cached_tokens } = table.columns;
  const counted = prompt_tokens[row] as number;
  const prompt = Number.isNaN(counted) ? (planned_prompt_tokens[row] as number) : counted;
  if (Number.isNaN(prompt)) return 0;
  const cached = cached_tokens[row] as number;
  return Math.max(0, prompt - (Number.isNaN(cached) ? 0 : cached));
}

function runEnvelope(table: RequestTable, meanPrefill: Ms | null): (tokens: Tokens) => Ms {
  const points = runPrefills(table);
  const envelope = lowerEnvelope(points);
  if (meanPrefill === null || points.length === 0) return envelope;
  const estimates = points.map(({ tokens }) => envelope(tokens));
  const mean = (factor: number): Ms =>
    points.reduce((sum, { ttft_ms }, i) => sum + Math.min(ttft_ms, factor * (estimates[i] as Ms)), 0) /
    points.length;
  // The mean grows with the factor up to the mean ttft: halve the interval until it is met.
  let low = 0;
  let high = 1;
  while (mean(high) < meanPrefill && high < 1e6) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (mean(middle) < meanPrefill) low = middle;
    else high = middle;
  }
  return (tokens) => high * envelope(tokens);
}

function runPrefills(table: RequestTable): PrefillPoint[] {
  const points: PrefillPoint[] = [];
  const ttft = table.metrics.ttft;
  for (let row = 0; row < table.n; row++) {
    if (table.status[row] !== OK || Number.isNaN(ttft[row])) continue;
    points.push({ tokens: uncachedTokens(table, row), ttft_ms: Math.max(0, ttft[row] as number) });
  }
  return points;
}

/** The greatest convex, never falling function below all points; beyond the longest prompt it goes on straight. */
export function lowerEnvelope(points: readonly PrefillPoint[]): (tokens: Tokens) => Ms {
  const sorted = [...points].sort((a, b) => a.tokens - b.tokens || a.ttft_ms - b.ttft_ms);
  const hull: PrefillPoint[] = [];
  for (const point of sorted) {
    if (hull[hull.length - 1]?.tokens === point.tokens) continue;
    while (hull.length >= 2 && !turnsUp(hull[hull.length - 2]!, hull[hull.length - 1]!, point)) hull.pop();
    hull.push(point);
  }
  // The falling part on the left: its points were slowed by something other than their length.
  let lowest = 0;
  for (let i = 1; i < hull.length; i++)
    if ((hull[i] as PrefillPoint).ttft_ms <= (hull[lowest] as PrefillPoint).ttft_ms) lowest = i;
  const rising = hull.slice(lowest);
  return (tokens) => {
    const first = rising[0];
    if (first === undefined) return 0;
    if (tokens <= first.tokens || rising.length === 1) return first.ttft_ms;
    let low = 0;
    let high = rising.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((rising[middle] as PrefillPoint).tokens <= tokens) low = middle;
      else high = middle;
    }
    const a = rising[low] as PrefillPoint;
    const b = rising[high] as PrefillPoint;
    return a.ttft_ms + ((b.ttft_ms - a.ttft_ms) * (tokens - a.tokens)) / (b.tokens - a.tokens);
  };
}

function turnsUp(a: PrefillPoint, b: PrefillPoint, c: PrefillPoint): boolean {
  return (b.ttft_ms - a.ttft_ms) * (c.tokens - b.tokens) < (c.ttft_ms - b.ttft_ms) * (b.tokens - a.tokens);
}
