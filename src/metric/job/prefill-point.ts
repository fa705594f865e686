import type { Ms, Tokens } from "../../core/units.ts";

/** One request: the prompt tokens the server had to compute, and the time to its first token. */
export interface PrefillPoint {
  readonly tokens: Tokens;
  readonly ttft_ms: Ms;
}
