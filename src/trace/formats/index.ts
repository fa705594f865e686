/**
 * The table of trace formats: one file a format, one line here. Adding a format touches its own file and this table
 * (CONTRIBUTING has the recipe). Order matters only between equal detection scores: the first wins.
 */
import type { TraceFormat } from "../format.ts";
import { azure } from "./azure.ts";
import { bailian } from "./bailian.ts";
import { burstgpt } from "./burstgpt.ts";
import { llmservingsim } from "./llmservingsim.ts";
import { lmcache } from "./lmcache.ts";
import { mooncake, timedTrace } from "./mooncake.ts";
import { reprise } from "./reprise.ts";
import { seedA } from "./seed-a.ts";
import { vidur } from "./vidur.ts";
import { weka } from "./weka.ts";

export const FORMATS: readonly TraceFormat[] = [
  // arrival traces
  reprise,
  seedA,
  mooncake,
  timedTrace,
  azure,
  burstgpt,
  bailian,
  vidur,
  llmservingsim,
  lmcache,
  // agent traces
  weka,
];

/** The format of this name, or `undefined`. */
export function formatNamed(name: string): TraceFormat | undefined {
  return FORMATS.find((format) => format.name === name);
}
