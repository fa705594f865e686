/**
 * The table of trace formats: one file a format, one line here. Adding a format touches its own file and this table
 * (CONTRIBUTING has the recipe). Order matters only between equal detection scores: the first wins.
 */
import type { TraceFormat } from "../format.ts";
import { aiperf } from "./aiperf.ts";
import { atif } from "./atif.ts";
import { azure } from "./azure.ts";
import { bailian } from "./bailian.ts";
import { burstgpt } from "./burstgpt.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { dynamo } from "./dynamo.ts";
import { inspectAi } from "./inspect-ai.ts";
import { langfuse } from "./langfuse.ts";
import { litellm } from "./litellm.ts";
import { llmservingsim } from "./llmservingsim.ts";
import { lmcache } from "./lmcache.ts";
import { mlperfAgentic } from "./mlperf-agentic.ts";
import { mooncake, timedTrace } from "./mooncake.ts";
import { openaiBatch } from "./openai-batch.ts";
import { openhandsLlmLog } from "./openhands-llm-log.ts";
import { openhandsSdk } from "./openhands-sdk.ts";
import { openhands } from "./openhands.ts";
import { otel } from "./otel.ts";
import { reprise } from "./reprise.ts";
import { seedA } from "./seed-a.ts";
import { sharegpt } from "./sharegpt.ts";
import { sweAgent } from "./swe-agent.ts";
import { tauBench } from "./tau-bench.ts";
import { tracelab } from "./tracelab.ts";
import { trtllmReplay } from "./trtllm-replay.ts";
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
  aiperf,
  dynamo,
  sharegpt,
  openaiBatch,
  litellm,
  // agent traces
  weka,
  mlperfAgentic,
  tracelab,
  otel,
  langfuse,
  claudeCode,
  codex,
  openhands,
  openhandsSdk,
  openhandsLlmLog,
  inspectAi,
  atif,
  sweAgent,
  tauBench,
  trtllmReplay,
];

/** The format of this name, or `undefined`. */
export function formatNamed(name: string): TraceFormat | undefined {
  return FORMATS.find((format) => format.name === name);
}
