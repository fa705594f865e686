/** Numbers as people read them. What was not measured is `n/a`, never 0. */
import type { Ms } from "../core/units.ts";

export const NOT_MEASURED = "n/a";

/** The unit in which a row of times is shown: seconds once its middle is 10 s or more. */
export function timeUnit(typical: Ms | null): "ms" | "s" {
  return typical !== null && Math.abs(typical) >= 10_000 ? "s" : "ms";
}

/** A number alone, about three significant digits: `0.042`, `4.21`, `42.1`, `421`, `4,211`. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOT_MEASURED;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 0.0005) return value.toExponential(1);
  const digits = size < 0.1 ? 4 : size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0;
  return groupDigits(trimZeros(value.toFixed(digits)));
}

/** A count: whole, thousands grouped. */
export function formatCount(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOT_MEASURED;
  return groupDigits(String(Math.round(value)));
}

/** A time in this unit, without the unit. */
export function formatTime(value: Ms | null | undefined, unit: "ms" | "s"): string {
  if (value === null || value === undefined) return NOT_MEASURED;
  return formatNumber(unit === "s" ? value / 1000 : value);
}

/** A time with its unit: `4.21 ms`, `12.3 s`, `312 s`. */
export function formatDurationOf(value: Ms | null | undefined): string {
  if (value === null || value === undefined) return NOT_MEASURED;
  const unit = Math.abs(value) >= 1000 ? "s" : "ms";
  return `${formatTime(value, unit)} ${unit}`;
}

/** 0.0321 → `3.2 %`. A share that is not 0 is never shown as 0. */
export function formatShare(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOT_MEASURED;
  const percent = value * 100;
  if (percent !== 0 && Math.abs(percent) < 0.05) return percent > 0 ? "< 0.1 %" : "> -0.1 %";
  const text = trimZeros(percent.toFixed(1));
  // What is not all is never shown as all.
  return `${text === "100" && value < 1 ? "> 99.9" : text} %`;
}

/** The value of an objective in its own unit. */
export function formatObjective(value: number, unit: "ms" | "share" | "number"): string {
  if (unit === "ms") return formatDurationOf(value);
  return unit === "share" ? formatShare(value) : formatNumber(value);
}

/** `+2.7 %`, `-3 %`, `±0 %`; from tenfold on `× 12.5`. */
export function formatChange(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOT_MEASURED;
  if (value >= 9) return `× ${formatNumber(value + 1)}`;
  const text = trimZeros(Math.abs(value * 100).toFixed(1));
  return `${text === "0" ? "±" : value > 0 ? "+" : "-"}${text} %`;
}

function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function groupDigits(text: string): string {
  const [whole = "", fraction] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
