/** `reprise replay`: a trace, a plan, a target, one run. Reads as its table of contents. */
import { drawSeed } from "../core/random.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import type { Plan } from "../plan/plan.ts";
import { createPromptComposer } from "../prompt/composer.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { basename } from "node:path";
import { executeRun, type FinishedRun, type StartedRun } from "./execute.ts";
import { backendOf } from "./http-target.ts";
import { interruptible } from "./interruptible.ts";
import type { ReplayGiven } from "./options/replay-options.ts";
import { optionsForManifest } from "./options/manifest-options.ts";
import { planOfTrace } from "./plan-of-trace.ts";
import { preloadPrompts } from "./preload.ts";
import { openPromptTools, type PromptTools } from "./prompt-tools.ts";
import { readWorkload, type TraceWorkload } from "./read-workload.ts";
import { checkLanes, planLanes } from "./lanes/lane-count.ts";
import { createRequestMaker, type RequestFacts } from "./request-maker.ts";
import { createSender, type Sender } from "./sender.ts";
import { awaitReady, createSideRequests, warmUp } from "./side-requests.ts";
import { checkTarget, openTarget } from "./open-target.ts";
import { samplingFields } from "./sampling-fields.ts";
import type { Target } from "./target.ts";
import { createWarmupGuard, type WarmupGuard } from "./warmup-guard.ts";
import type { RunEnvironment } from "./run-environment.ts";
import { planFacts, type TraceFacts } from "./plan-facts.ts";
import { calibrate } from "./calibrate.ts";
import { summaryFlags } from "./analyze-run.ts";
import { parseSummaryOptions } from "../metric/index.ts";

export interface ReplayRequest {
  readonly given: ReplayGiven;
  readonly tracePath: string;
  readonly command: "replay" | "demo" | "sweep";
}

/** Replays the trace and returns the finished run. User mistakes are `UserError`s, before anything is sent. */
export async function runReplay(request: ReplayRequest, env: RunEnvironment): Promise<FinishedRun> {
  const { given, tracePath } = request;
  checkContradictions(given, request.command === "replay");
  checkLanes(given, request.command === "replay");
  const planned = await planReplay(tracePath, given, env);
  const { plan, seed, defaultBackend } = planned;
  const params = samplingFields({ ...given, best_of: given.best_of ?? 1 }, backendOf(given, defaultBackend));
  const target = await openTarget({
    given,
    seed,
    env,
    defaultBackend,
    defaultHost: "localhost",
    waitMs: given.ready_check_timeout_sec ?? 0,
    vllmMayRun: request.command === "replay",
    engineSeed: given.seed ?? null,
  });
  try {
    const tools = await openPromptTools(plan, target, {
      tokenizerPath: given.tokenizer ?? null,
      promptSeed: given.prompt_seed ?? null,
      asIds: given.prompt_ids ?? false,
      shareCopies: given.share_copies ?? false,
      always: (given.num_warmups ?? 0) > 0,
    });
    if (tools.facts?.warning != null) env.warn(tools.facts.warning);
    return await replayOn(target, { ...planned, request, tools, params }, env);
  } finally {
    await target.close();
  }
}

/** A function of its own: the trace, which a long run has no memory for, is let go when it returns. */
async function planReplay(
  tracePath: string,
  given: ReplayGiven,
  env: RunEnvironment,
): Promise<PlannedReplay> {
  const workload = await readReplayWorkload(tracePath, given);
  const seed = given.seed ?? drawSeed();
  const { plan, lanes } = planLanes(planOfTrace(workload.jobs, given, seed), given.lanes ?? 1);
  checkHistory(given, plan);
  env.onPlan?.(workload, plan);
  const chat = workload.jobs.columns.requests.holdsPrompt("messages");
  return {
    plan,
    lanes,
    seed,
    traceFacts: planFacts(workload, plan, tracePath, given),
    defaultBackend: chat ? "openai-chat" : "openai",
  };
}

/**
 * Refuses, before a server is started for it, what {@link runReplay} would refuse before sending: contradictions among options,
 * objectives nobody can judge, a pacing that the trace cannot follow.
 */
export function checkReplay(given: ReplayGiven, jobs: TraceWorkload["jobs"]): void {
  checkContradictions(given);
  checkLanes(given);
  parseSummaryOptions(summaryFlags(given as JsonObject));
  checkHistory(given, planOfTrace(jobs, given, given.seed ?? 0));
}

/** The trace as a run reads it. Every bad row that is not skipped is a `UserError`. */
export function readReplayWorkload(tracePath: string, given: ReplayGiven): Promise<TraceWorkload> {
  return readWorkload(tracePath, {
    skipBad: given.skip_bad ?? false,
    ...(given.format === undefined ? {} : { format: given.format }),
    ...(given.block_tokens === undefined ? {} : { blockTokens: given.block_tokens }),
  });
}

interface PlannedReplay {
  readonly plan: Plan;
  readonly lanes: number;
  readonly seed: number;
  readonly traceFacts: TraceFacts;
  readonly defaultBackend: "openai" | "openai-chat";
}

interface Prepared extends PlannedReplay {
  readonly request: ReplayRequest;
  readonly tools: PromptTools;
  /** Body fields of every request. */
  readonly params: JsonObject;
}

async function replayOn(target: Target, prepared: Prepared, env: RunEnvironment): Promise<FinishedRun> {
  const { request, plan, lanes, seed, tools, params } = prepared;
  const { given, tracePath } = request;
  const side = createSideRequests(target, tools.codec);
  const guard = createWarmupGuard();
  await interruptible((signal) => target.drive(beforeRun(target, prepared, side, guard, signal)), env);
  const keepsText = given.save_text === true || given.save_result === true;
  const facts: RequestFacts = {
    model: target.model,
    prompts: target.prompts,
    params: Object.keys(params).length === 0 ? null : params,
    stream: true,
    temperature: 0,
    keepText: keepsText || given.history === "live",
    keepChunks: given.timeline !== "none",
    requestIdHeader: null,
  };
  const sender = createSender(target, { plan, tools, facts, guard });
  const spec = lanes > 1 ? sender.laneSpec() : null;
  const calibration = given.calibrate === true ? await calibrationPass(sender, prepared, env) : null;
  const gpus = target.server?.["gpus"];
  return executeRun({
    command: request.command,
    label: given.label ?? null,
    metadata: given.metadata ?? {},
    options: { trace: tracePath, ...optionsForManifest(given as JsonObject) },
    seeds: { seed, ...(given.prompt_seed === undefined ? {} : { prompt_seed: given.prompt_seed }) },
    plan,
    facts: { ...prepared.traceFacts, gpus: given.gpus ?? (typeof gpus === "number" ? gpus : null) },
    tokenizer: tools.facts,
    target: sender.target,
    prepare: (planned, history) => sender.prepare(planned, history),
    warmupDuplicates: () => sender.warmupDuplicates(),
    lanes: spec === null ? null : { count: lanes, spec },
    history: given.history ?? "recorded",
    keepChunks: given.timeline !== "none",
    saveText: keepsText,
    stop: given.duration === undefined ? null : { duration_ms: given.duration },
    out: given.out ?? null,
    traceName:
      tracePath === "-" ? "stdin" : basename(tracePath).replace(/(\.jsonl?|\.csv|\.json)?(\.gz)?$/i, ""),
    calibration,
    onStart: (run: StartedRun) => env.onStart?.(run, plan),
    onRecord: (record) => env.onRecord?.(record),
    onWarning: (text) => env.warn(text),
    onInterrupt: (handler) => env.onInterrupt(handler),
  });
}

/** The same work, with other made-up text: the run must not be served from a cache that the calibration has filled. */
async function calibrationPass(
  { target, maker }: Sender,
  { plan, tools }: Prepared,
  env: RunEnvironment,
): Promise<readonly RequestRecord[]> {
  if (plan.requests.some(({ request }) => request.prompt.kind !== "length"))
    env.warn(
      "the calibration sends the recorded prompts too: a server with a prefix cache will have seen them before the run",
    );
  const composer =
    tools.composer === null
      ? null
      : await createPromptComposer({
          tokenizer: tools.composer.tokenizer,
          promptSeed: null,
          salt: `calibration-${drawSeed()}`,
          lexicon: tools.composer.lexicon,
        });
  const make = createRequestMaker({ ...maker, composer, keepChunks: false });
  return calibrate(
    target,
    plan,
    (planned) => target.client.prepare(make(planned, null)),
    (handler) => env.onInterrupt(handler),
  );
}

/** Ready check, warm-ups and preloaded prefixes, in this order. */
async function beforeRun(
  target: Target,
  { request, plan, tools }: Prepared,
  side: ReturnType<typeof createSideRequests>,
  guard: WarmupGuard,
  signal: AbortSignal,
): Promise<void> {
  const { given } = request;
  const wait = given.ready_check_timeout_sec ?? 0;
  if (wait > 0) await awaitReady(side, target.clock, wait, signal);
  // COMPAT A: its users' command lines name the trace by this flag, and send one test request first.
  else if (given.trace_file !== undefined) await awaitReady(side, target.clock, 0, signal);
  const warmups = given.num_warmups ?? 0;
  if (warmups > 0 && tools.composer !== null) {
    const first = plan.requests.at(0);
    await warmUp(side, tools.composer, warmups, guard, {
      prompt_tokens: first?.planned_prompt_tokens ?? 128,
      output_tokens: first?.planned_output_tokens ?? 16,
    });
  }
  if (given.preload === true)
    for (const prompt of preloadPrompts(plan, tools.composer)) await side.send(prompt, 1);
}

/** Live answers need later turns that hold the earlier ones as messages, and that wait for them. */
function checkHistory({ history }: ReplayGiven, plan: Plan): void {
  if (history !== "live") return;
  if (!plan.requests.some(({ request }) => request.prompt.kind === "messages"))
    throw new UserError(
      "--history live: the trace holds no messages, so there is no history to put answers into",
      {
        hint: "leave it out: the prompts have the recorded lengths and prefixes",
      },
    );
  if (plan.pacing === "recorded")
    throw new UserError("--history live: with --pacing recorded no turn waits for the answer before it", {
      hint: "use --pacing jobs",
    });
}

function checkContradictions(given: ReplayGiven, vllmMayRun = false): void {
  checkTarget(given, vllmMayRun);
  if (given.warmup !== undefined && given.duration !== undefined && given.warmup >= given.duration)
    throw new UserError("--warmup leaves nothing of --duration to measure", {
      hint: "make the warm-up shorter",
    });
}
