/** How faithful the replay was: planned against achieved lengths, hit shares, and what was recorded or made up. */
import { percentile, sortSamples } from "../../core/quantile.ts";
import type { Manifest } from "../../record/manifest.ts";
import { type Clip, inClip } from "../clip.ts";
import { OK, type RequestTable } from "../request-table.ts";
import type { Fidelity, LengthFidelity, PrefixCache } from "../summary.ts";

export function fidelity(table: RequestTable, clip: Clip, manifest: Manifest, cache: PrefixCache): Fidelity {
  const { columns } = table;
  const { plan } = manifest;
  return {
    prompt_tokens: lengths(table, clip, columns.planned_prompt_tokens, columns.prompt_tokens),
    output_tokens: lengths(table, clip, columns.planned_output_tokens, columns.output_tokens),
    hit_share: { planned: cache.optimal_hit_rate, reported: cache.hit_rate },
    provenance: plan.provenance,
    pacing: plan.pacing,
    speed: plan.speed,
    think_scale: plan.think_scale,
    gaps_capped: plan.gaps_capped,
    warmup_duplicates: plan.warmup_duplicates ?? null,
    tokenizer_warning: manifest.tokenizer?.warning ?? null,
    notes: plan.notes,
  };
}

/** Over ok requests of the window where both lengths are known. */
function lengths(
  table: RequestTable,
  clip: Clip,
  planned: Float64Array,
  achieved: Float64Array,
): LengthFidelity {
  const differences: number[] = [];
  let plannedSum = 0;
  let achievedSum = 0;
  for (let row = 0; row < table.n; row++) {
    const want = planned[row] as number;
    const got = achieved[row] as number;
    if (table.status[row] !== OK || Number.isNaN(want) || Number.isNaN(got)) continue;
    if (!inClip(table.columns.intended[row] as number, clip)) continue;
    plannedSum += want;
    achievedSum += got;
    differences.push(Math.abs(got - want));
  }
  const n = differences.length;
  return {
    n,
    planned_mean: n === 0 ? null : plannedSum / n,
    achieved_mean: n === 0 ? null : achievedSum / n,
    bias_tokens: n === 0 ? null : (achievedSum - plannedSum) / n,
    bias_share: plannedSum > 0 ? achievedSum / plannedSum - 1 : null,
    p95_difference_tokens: percentile(sortSamples(differences), 95),
  };
}
