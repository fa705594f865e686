/** Numbers and foreign text as the other reports write them: the same functions. */
export {
  formatChange,
  formatCount,
  formatDurationOf,
  formatNumber,
  formatShare,
  NOT_MEASURED,
} from "../src/report/quantity.ts";
export { plainText, shortText } from "../src/core/terminal-text.ts";
import { formatDurationOf } from "../src/report/quantity.ts";

/** NaN (a column's "not measured") as `n/a`. */
export function timeOf(value: number | undefined): string {
  return formatDurationOf(value === undefined || Number.isNaN(value) ? null : value);
}

/** A tick of a time axis: short. */
export function tickTime(ms: number): string {
  if (ms === 0) return "0";
  const seconds = ms / 1000;
  if (Math.abs(ms) < 1000) return `${trim(ms)} ms`;
  if (Math.abs(seconds) < 120) return `${trim(seconds)} s`;
  if (Math.abs(seconds) < 7200) return `${trim(seconds / 60)} min`;
  return `${trim(seconds / 3600)} h`;
}

export function tickNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  return trim(value);
}

export function tickShare(value: number): string {
  return `${trim(value * 100)} %`;
}

function trim(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** A number stays on the line of its unit. */
export function words(text: string): string {
  return text.replace(/([\d)]) (%|ms|s|min|h|tokens|GPUs?)(?![\p{L}\d])/gu, "$1\u00a0$2");
}
