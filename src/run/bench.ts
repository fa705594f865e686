/** `reprise bench`: a dataset, a plan, a target, one run. Reads as its table of contents. */
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import { resolveTokenizer } from "../prompt/resolve-tokenizer.ts";
import type { PlanFacts } from "../record/manifest.ts";
import { checkBench } from "./bench-checks.ts";
import { type BenchDataset, datasetChoice, loadBenchDataset } from "./bench-dataset.ts";
import { planBench } from "./bench-load.ts";
import { interruptible } from "./interruptible.ts";
import { executeRun, type FinishedRun, type PlanOwn, type StartedRun } from "./execute.ts";
import { backendOf } from "./http-target.ts";
import { readHyperparameters } from "./hyperparameters.ts";
import { lazyTokenizer } from "./lazy-tokenizer.ts";
import { openTarget } from "./open-target.ts";
import type { BenchGiven } from "./options/bench-options.ts";
import { optionsForManifest } from "./options/manifest-options.ts";
import { type ProbeLoad, startProbes } from "./probe-load.ts";
import { type Profiler, startProfile } from "./profile.ts";
import { openPromptTools, type PromptTools } from "./prompt-tools.ts";
import { checkLanes, planLanes } from "./lanes/lane-count.ts";
import { resultFormatOf } from "./result-format.ts";
import type { RunEnvironment } from "./run-environment.ts";
import { protocolNameOf, samplingFields, sideFields } from "./sampling-fields.ts";
import { awaitReady, createSideRequests, type SideRequests, warmUp } from "./side-requests.ts";
import type { Target } from "./target.ts";
import { createSender } from "./sender.ts";
import { createWarmupGuard, type WarmupGuard } from "./warmup-guard.ts";

/** As in the tools whose flags these are. */
const SEED = 0;
const READY_CHECK_MS: Ms = 600_000;

/** Runs the load and returns the finished run. User mistakes are `UserError`s, before anything is sent. */
export async function runBench(given: BenchGiven, env: RunEnvironment): Promise<FinishedRun> {
  const backend = backendOf(given, "openai-chat");
  checkBench(given, backend);
  checkLanes(given);
  const choice = datasetChoice(given);
  const { extra_body, ...targetGiven } = given;
  const fields: JsonObject = {
    ...samplingFields(given, backend),
    ...extra_body,
    ...(given.hyperparameter_path === undefined ? {} : await readHyperparameters(given.hyperparameter_path)),
  };
  if (
    given.burstiness !== undefined &&
    (given.request_rate ?? Infinity) === Infinity &&
    given.ramp_up_strategy === undefined
  )
    env.warn("--burstiness shapes the gaps of a rate: without --request-rate there are none");
  const seed = given.seed ?? SEED;
  const waitMs = given.ready_check_timeout_sec ?? (protocolNameOf(backend) === null ? 0 : READY_CHECK_MS);
  const deadline = env.clock.now() + waitMs;
  // Opened only when something has to be counted, or everything that can be wrong with the load has been looked at.
  let opened: Promise<Target> | null = null;
  const open = (): Promise<Target> =>
    (opened ??= openTarget({
      given: targetGiven,
      seed,
      env,
      defaultBackend: "openai-chat",
      defaultHost: "127.0.0.1",
      waitMs,
    }));
  const lazy = lazyTokenizer(async () => {
    const { tokenizer, model, post } = await open();
    return tokenizer === null
      ? resolveTokenizer({ tokenizerPath: given.tokenizer ?? null, model, post })
      : { tokenizer, warning: null };
  });
  try {
    const dataset = await loadBenchDataset(given, lazy.tokenizer, seed);
    const { plan, lanes } = planLanes(planBench(dataset, given, fields, seed), given.lanes ?? 1);
    env.onLoad?.({ name: dataset.name, path: choice.path, notes: dataset.notes }, plan);
    const target = await open();
    const counted = await lazy.found();
    const tools = await openPromptTools(
      plan,
      counted === null ? target : { ...target, tokenizer: counted.tokenizer },
      {
        tokenizerPath: given.tokenizer ?? null,
        promptSeed: given.prompt_seed ?? null,
        asIds: given.prompt_ids ?? false,
        shareCopies: false,
        always: (given.num_warmups ?? 0) > 0,
      },
    );
    const facts = tokenizerFacts(tools, counted);
    if (facts?.warning != null) env.warn(facts.warning);
    const readyMs = waitMs === 0 ? 0 : Math.max(1, deadline - env.clock.now());
    return await benchOn(
      target,
      { given, backend, dataset, plan, lanes, fields, seed, tools, facts, readyMs },
      env,
    );
  } finally {
    await (opened as Promise<Target> | null)?.then(
      (target) => target.close(),
      () => undefined,
    );
  }
}

interface Prepared {
  readonly given: BenchGiven;
  readonly backend: string;
  readonly dataset: BenchDataset;
  readonly plan: Plan;
  readonly lanes: number;
  /** Body fields of every measured request. */
  readonly fields: JsonObject;
  readonly seed: number;
  readonly tools: PromptTools;
  readonly facts: PromptTools["facts"];
  /** What is left of the ready check's limit; 0 = no check. */
  readonly readyMs: Ms;
}

async function benchOn(target: Target, prepared: Prepared, env: RunEnvironment): Promise<FinishedRun> {
  const { given, dataset, plan, seed, tools } = prepared;
  const side = createSideRequests(target, tools.codec, sideFields(prepared.fields));
  const guard = createWarmupGuard();
  await interruptible((signal) => target.drive(beforeRun(target, prepared, side, guard, signal)), env);
  const detailed = keepsTexts(given, prepared.backend);
  const keepText = given.save_text === true || detailed;
  const sender = createSender(target, {
    plan,
    tools,
    guard,
    keepInput: detailed,
    facts: {
      model: target.model,
      prompts: target.prompts,
      params: null,
      stream: true,
      temperature: 0,
      keepText,
      keepChunks: given.timeline !== "none",
      requestIdHeader: "X-Request-Id",
    },
  });
  const spec = prepared.lanes > 1 ? sender.laneSpec() : null;
  let probes: ProbeLoad | null = null;
  let profiler: Profiler | null = null;
  if (given.profile === true) profiler = await startProfile(target, (text) => env.warn(text));
  try {
    return await executeRun({
      command: "bench",
      label: given.label ?? null,
      metadata: given.metadata ?? {},
      options: manifestOptions(prepared),
      seeds: { seed, ...(given.prompt_seed === undefined ? {} : { prompt_seed: given.prompt_seed }) },
      plan,
      facts: planFacts(prepared),
      tokenizer: prepared.facts,
      target: sender.target,
      prepare: (planned, history) => sender.prepare(planned, history),
      warmupDuplicates: () => sender.warmupDuplicates(),
      lanes: spec === null ? null : { count: prepared.lanes, spec },
      history: "recorded",
      keepChunks: given.timeline !== "none",
      saveText: keepText,
      stop: given.duration === undefined ? null : { duration_ms: given.duration },
      out: given.out ?? null,
      traceName: dataset.name,
      calibration: null,
      onStart: (run: StartedRun) => {
        if ((given.probe_request_rate ?? 0) > 0)
          probes = startProbes(side, target.clock, given.probe_request_rate as number);
        env.onStart?.(run, plan);
      },
      annotate: (record) => sender.annotate(record),
      onRecord: (record) => env.onRecord?.(record),
      onWarning: (text) => env.warn(text),
      onInterrupt: (handler) => env.onInterrupt(handler),
      engineFacts: async () => {
        if (probes === null) return null;
        await target.drive(probes.stop());
        return probes.facts();
      },
    });
  } finally {
    await profiler?.stop();
  }
}

/** Prompts and answers are in a detailed result, and in every result file of FastDeploy. */
function keepsTexts(given: BenchGiven, backend: string): boolean {
  const saves = given.save_result === true || given.append_result === true;
  return given.save_detailed === true || (saves && resultFormatOf(given, backend) === "fastdeploy");
}

/** Ready check and warm-ups, in this order. */
async function beforeRun(
  target: Target,
  { given, plan, tools, readyMs }: Prepared,
  side: SideRequests,
  guard: WarmupGuard,
  signal: AbortSignal,
): Promise<void> {
  if (readyMs > 0) await awaitReady(side, target.clock, readyMs, signal);
  const warmups = given.num_warmups ?? 0;
  if (warmups === 0 || tools.composer === null) return;
  const first = plan.requests.at(0);
  await warmUp(side, tools.composer, warmups, guard, {
    prompt_tokens: first?.planned_prompt_tokens ?? 128,
    output_tokens: first?.planned_output_tokens ?? 16,
  });
}

/** What was given, and the defaults that a result file tells. */
function manifestOptions({ given, backend, dataset, plan, fields }: Prepared): JsonObject {
  const pooling = ["openai-embeddings", "rerank"].includes(protocolNameOf(backend) ?? "");
  return {
    request_rate: "inf",
    burstiness: 1,
    // What does not stream has a latency and nothing else.
    ...(pooling ? { percentile_metrics: ["e2el"] } : {}),
    ...optionsForManifest(given as JsonObject),
    ...(given.hyperparameter_path === undefined ? {} : { hyperparameters: fields }),
    dataset_name: dataset.name,
    num_prompts: plan.requests.length,
    result_format: resultFormatOf(given, backend),
  };
}

function planFacts({ given, dataset, plan }: Prepared): Omit<PlanFacts, PlanOwn> {
  let tokens: number | null = null;
  for (const { planned_prompt_tokens: own } of plan.requests) if (own !== null) tokens = (tokens ?? 0) + own;
  const origin = dataset.madeUp ? "made up" : "recorded";
  return {
    trace: dataset.path,
    trace_sha256: dataset.sha256,
    format: dataset.name,
    speed: 1,
    think_scale: 1,
    duration_ms: given.duration ?? null,
    warmup_ms: given.warmup ?? 0,
    prompt_tokens: tokens,
    provenance: {
      prompt_text: plan.requests.some(isMadeUp) ? "made up" : "recorded",
      prompt_length: origin,
      output_length: origin,
      arrivals: isTimed(given, dataset) ? "recorded" : "made up",
    },
    gpus: given.gpus ?? null,
  };
}

function isMadeUp({ request }: PlannedRequest): boolean {
  return request.prompt.kind === "length";
}

function isTimed(given: BenchGiven, dataset: BenchDataset): boolean {
  return dataset.timed && given.self_timed !== false && given.request_rate === undefined;
}

function tokenizerFacts(
  tools: PromptTools,
  counted: {
    readonly tokenizer: { readonly source: string; readonly name: string };
    readonly warning: string | null;
  } | null,
): PromptTools["facts"] {
  if (counted === null) return tools.facts;
  const { tokenizer, warning } = counted;
  return { source: tokenizer.source, name: tokenizer.name, warning };
}
