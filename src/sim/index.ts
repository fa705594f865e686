/**
 * The simulated engine: a model of a continuous-batching server on an injected clock. The same engine serves in
 * process on virtual time (`createSimClient`) and behind HTTP in real time (`startSimServer`).
 *
 *     config ─► engine ─► scheduler ─► block-pool, host-tier
 *                  │          └─► step-time (roofline, cudagraph)
 *                  ├─► sim-client                (in process)
 *                  └─► server ─► completion-route, prometheus
 */
export {
  resolveSimConfig,
  simConfigSchema,
  type FaultConfig,
  type ResolvedSim,
  type SimConfig,
  type SimConfigInput,
} from "./config.ts";
export {
  createSimEngine,
  type SequenceEnd,
  type SimEngine,
  type SimHandle,
  type SimRequest,
  type SimStats,
  type TokenListener,
} from "./engine.ts";
export { SIM_FLAGS, simConfigFromFlags, type SimFlag, type SimFlagType } from "./flags.ts";
export { GPUS, MODELS, type GpuSpec, type ModelSpec } from "./hardware.ts";
export { SIM_PRESETS, type SimPreset } from "./presets.ts";
export { digestPrompt, type PromptDigest } from "./prompt-digest.ts";
export { startSimServer, type SimServer, type SimServerOptions } from "./server.ts";
export { createSimClient, type SimClientOptions } from "./sim-client.ts";
export { SIM_VOCABULARY, countTokens, decode, encode } from "./tokenizer.ts";
