/** The part of the run's clock that counts, as far as the options set it; see run/measured_window.ts. */
import type { Ms } from "../core/units.ts";

export interface Clip {
  /** −Infinity where no warm-up was asked for. */
  readonly from_ms: Ms;
  /** Infinity where no duration was asked for. */
  readonly to_ms: Ms;
}

/** Whether this instant lies in the window. Both ends belong to it. */
export function inClip(at: Ms | null, clip: Clip): boolean {
  return at !== null && at >= clip.from_ms && at <= clip.to_ms;
}
