/**
 * The measured window: first intended → last end, or what `--warmup` and `--duration` set. Latencies are over requests
 * intended in it; rates over ends and tokens that fall inside it. Both ends belong to it.
 */
import type { Ms } from "../../core/units.ts";
import type { Manifest } from "../../record/manifest.ts";
import type { Clip } from "../clip.ts";
import { type RequestTable, SKIPPED } from "../request-table.ts";

/**
 * What the options alone say. `--duration` counts from t0, the warm-up included; a run that was interrupted before its
 * duration was over is measured up to its end.
 */
export function windowClip({ plan, end }: Pick<Manifest, "plan" | "end">): Clip {
  const duration = plan.duration_ms ?? Infinity;
  const cutShort = end !== null && end.interrupted ? end.ended_ms : Infinity;
  return {
    from_ms: plan.warmup_ms > 0 ? plan.warmup_ms : -Infinity,
    to_ms: duration === Infinity ? Infinity : Math.min(duration, cutShort),
  };
}

/** The window, ms from t0; `null` where nothing was sent and no option sets it. */
export function measured_window(table: RequestTable, clip: Clip): { start_ms: Ms; end_ms: Ms } | null {
  const { intended, end } = table.columns;
  let start = Infinity;
  let last = -Infinity;
  for (let row = 0; row < table.n; row++) {
    if (table.status[row] === SKIPPED) continue;
    start = Math.min(start, orElse(intended[row], Infinity));
    last = Math.max(last, orElse(end[row], -Infinity));
  }
  // A duration alone sets the whole window: it begins at t0.
  if (clip.to_ms !== Infinity) start = 0;
  const start_ms = clip.from_ms === -Infinity ? start : clip.from_ms;
  const end_ms = clip.to_ms === Infinity ? last : clip.to_ms;
  return Number.isFinite(start_ms) && end_ms > start_ms ? { start_ms, end_ms } : null;
}

function orElse(value: number | undefined, fallback: number): number {
  return value === undefined || Number.isNaN(value) ? fallback : value;
}
