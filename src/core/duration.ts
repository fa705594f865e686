/** Durations as people write them on a command line or in YAML. */
import { UserError } from "./failure.ts";
import type { Ms } from "./units.ts";

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * `30s`, `2m`, `1.5h`, `200ms`, or a bare number in `bareUnit` (the unit of the flag's name; seconds if it has none).
 * Returns milliseconds. A negative or malformed value is a {@link UserError} that names `flag`.
 */
export function parseDuration(text: string, flag: string, bareUnit: "ms" | "s" = "s"): Ms {
  const match = /^\s*(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?\s*(ms|s|m|h)?\s*$/i.exec(text);
  const value = match === null ? NaN : Number(`${match[1]}${match[2] === undefined ? "" : `e${match[2]}`}`);
  if (match === null || !Number.isFinite(value)) {
    throw new UserError(`${flag}: "${text}" is not a duration`, {
      hint: `write a number in ${bareUnit === "s" ? "seconds" : "milliseconds"}, or with a unit: 500ms, 30s, 2m, 1h`,
    });
  }
  return value * (UNIT_MS[(match[3] ?? bareUnit).toLowerCase()] as number);
}

/** A duration for people: `842 ms`, `4.2 s`, `3 min 20 s`, `2 h 05 min`. */
export function formatDuration(ms: Ms): string {
  if (ms < 0) return `-${formatDuration(Math.abs(ms))}`;
  if (ms < 1000)
    return `${ms < 10 ? trim(ms.toFixed(2)) : ms < 100 ? trim(ms.toFixed(1)) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${trim((ms / 1000).toFixed(ms < 10_000 ? 2 : 1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${(minutes / 1440).toFixed(1)} days`;
}

function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
