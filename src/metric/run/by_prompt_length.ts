/** A request metric against the length of its prompt: quantiles by bin over all ok requests, and single points for a chart. */
import { describeSamples } from "../../core/quantile.ts";
import type { Tokens } from "../../core/units.ts";
import { type Clip, inClip } from "../clip.ts";
import { OK, type RequestTable } from "../request-table.ts";

export interface LengthBin {
  readonly from_tokens: Tokens;
  readonly to_tokens: Tokens;
  readonly n: number;
  readonly p50: number | null;
  readonly p95: number | null;
}

export interface ByPromptLength {
  /** Requests that tell both. */
  readonly n: number;
  readonly bins: readonly LengthBin[];
  /** A sample, evenly over the log. */
  readonly points: { readonly tokens: readonly number[]; readonly value: readonly number[] };
}

const MOST_POINTS = 1500;
const BINS = 12;

/** `null` where no request tells both. */
export function by_prompt_length(
  table: RequestTable,
  clip: Clip,
  column: Float64Array,
): ByPromptLength | null {
  const { prompt_tokens, intended } = table.columns;
  const rows: number[] = [];
  for (let row = 0; row < table.n; row++) {
    if (table.status[row] !== OK || !inClip(intended[row] as number, clip)) continue;
    if (!Number.isNaN(column[row] as number) && (prompt_tokens[row] as number) > 0) rows.push(row);
  }
  if (rows.length === 0) return null;
  const length = (row: number): number => prompt_tokens[row] as number;
  let low = Infinity;
  let high = 0;
  for (const row of rows) {
    low = Math.min(low, length(row));
    high = Math.max(high, length(row));
  }
  const count = high > low ? BINS : 1;
  const values: number[][] = Array.from({ length: count }, () => []);
  const scale = count / Math.log(high / low || 1);
  for (const row of rows) {
    const bin = count === 1 ? 0 : Math.min(count - 1, Math.floor(Math.log(length(row) / low) * scale));
    (values[bin] as number[]).push(column[row] as number);
  }
  const edge = (i: number): number => (i === count ? high : low * (high / low) ** (i / count));
  const stride = Math.max(1, rows.length / MOST_POINTS);
  const shown = Array.from(
    { length: Math.min(rows.length, MOST_POINTS) },
    (_, i) => rows[Math.floor(i * stride)] as number,
  );
  return {
    n: rows.length,
    bins: values.flatMap((bin, i) => {
      if (bin.length === 0) return [];
      const { n, p50 = null, p95 = null } = describeSamples(bin, [50, 95]);
      return [{ from_tokens: edge(i), to_tokens: edge(i + 1), n, p50, p95 }];
    }),
    points: { tokens: shown.map(length), value: shown.map((row) => column[row] as number) },
  };
}
