/**
 * Prefix cache: `optimal_hit_rate` is the plan's (an endless cache); `hit_rate` is what the server reports, cached ÷ prompt
 * tokens over ok requests of the window that tell both, else the interval difference of its counters.
 */
import type { Manifest } from "../../record/manifest.ts";
import { type Clip, inClip } from "../clip.ts";
import { OK, type RequestTable } from "../request-table.ts";
import { engineNumber } from "./engine-number.ts";
import type { PrefixCache } from "../summary.ts";

export function prefix_cache(table: RequestTable, clip: Clip, manifest: Manifest): PrefixCache {
  const { cached_tokens, prompt_tokens, intended } = table.columns;
  let cached = 0;
  let prompt = 0;
  let n = 0;
  for (let row = 0; row < table.n; row++) {
    const hit = cached_tokens[row] as number;
    const whole = prompt_tokens[row] as number;
    if (table.status[row] !== OK || !inClip(intended[row] as number, clip)) continue;
    if (Number.isNaN(hit) || Number.isNaN(whole)) continue;
    cached += hit;
    prompt += whole;
    n++;
  }
  const optimal = manifest.plan.optimal_hit_rate;
  const counters = engineNumber(manifest, "hit_rate");
  const told = prompt > 0;
  const hitRate = told ? cached / prompt : counters;
  return {
    optimal_hit_rate: optimal,
    hit_rate: hitRate,
    source: told ? "requests" : counters === null ? null : "engine_counters",
    shortfall: optimal === null || hitRate === null ? null : optimal - hitRate,
    n,
  };
}
