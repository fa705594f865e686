/**
 * One run: folder, log, dispatch, end. Everything that sends load (replay, bench, demo, sweep) comes through here. The
 * folder is made only after the target has answered, and is complete whatever happens after that.
 */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { cpus, hostname } from "node:os";
import { join } from "node:path";
import { reserveDescriptors } from "../core/descriptor-table.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import { VERSION } from "../core/version.ts";
import type { DispatchCounts, StopRule } from "../dispatch/dispatch-env.ts";
import type { Plan } from "../plan/plan.ts";
import type { LiveAnswer } from "../prompt/live-history.ts";
import type { PreparedRequest } from "../client/client.ts";
import type { PlannedRequest } from "../plan/plan.ts";
import { optimalOf } from "../plan/planned-requests.ts";
import { rewriteJobs, writeJobs } from "../record/jobs-file.ts";
import { endManifest, writeManifest } from "../record/manifest-file.ts";
import type { Manifest, PlanFacts, RunEnd } from "../record/manifest.ts";
import { CALIBRATION_FILE } from "../record/read-run.ts";
import { recordLine } from "../record/record-line.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { createRunFolder } from "../record/run-folder.ts";
import { openRunLog } from "../record/run-log.ts";
import { createEarlyStop, type EarlyStop } from "./early-stop.ts";
import type { EndedRequest } from "./ended-request.ts";
import type { LaneSpec } from "./lanes/lane-messages.ts";
import { type Load, type LoadEvents, startLocalLoad } from "./load.ts";
import { plannedJobRecords } from "./planned-jobs.ts";
import { begunPlan, repeatedOf } from "./spare-jobs.ts";
import type { Target } from "./target.ts";

export interface RunRequest {
  readonly command: Manifest["command"];
  readonly label: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The resolved options, for the manifest. */
  readonly options: JsonObject;
  readonly seeds: Readonly<Record<string, number>>;
  readonly plan: Plan;
  /** What the manifest says of the plan beyond the plan itself. */
  readonly facts: Omit<PlanFacts, PlanOwn>;
  readonly tokenizer: Manifest["tokenizer"];
  readonly target: Target;
  prepare(planned: PlannedRequest, history: readonly LiveAnswer[] | null): PreparedRequest;
  readonly history: "recorded" | "live";
  readonly keepChunks: boolean;
  readonly saveText: boolean;
  readonly stop: StopRule | null;
  /** Send from several worker threads, each made by this description; `null` or absent = from this thread. */
  readonly lanes?: { readonly count: number; readonly spec: LaneSpec } | null;
  readonly out: string | null;
  readonly traceName: string | null;
  /** Records of the calibration pass, kept beside the log; `null` = there was none. */
  readonly calibration: readonly RequestRecord[] | null;
  /** Told once the folder exists. */
  onStart?(run: StartedRun): void;
  onRecord?(record: EndedRequest): void;
  /** Adds to a record what only this kind of run keeps, before it is written. */
  annotate?(record: RequestRecord): RequestRecord;
  onWarning(text: string): void;
  /** Registers the handler of SIGINT; `count` says how often it came. Returns how to unregister. */
  onInterrupt(handler: (count: number) => void): () => void;
  /** Measured prompts that equal one of the warm-ups; `null` where there was none. Asked when the run is over. */
  warmupDuplicates?(): number | null;
  /** What else is to be kept beside the engine's own metrics. Asked when the run is over. */
  engineFacts?(): Promise<JsonObject | null>;
}

export type PlanOwn =
  | "pacing"
  | "requests"
  | "jobs"
  | "span_ms"
  | "max_concurrency"
  | "max_concurrent_jobs"
  | "repeated"
  | "gaps_capped"
  | "optimal_hit_rate"
  | "optimal_cached_tokens"
  | "notes";

export interface StartedRun {
  readonly folder: string;
  readonly counts: DispatchCounts;
  /** On the target's clock. */
  readonly t0: Ms;
  readonly virtual: boolean;
}

export interface FinishedRun {
  readonly folder: string;
  readonly interrupted: boolean;
  readonly earlyStop: EarlyStop | null;
  /** Records that the disk refused. */
  readonly lost: number;
}

/** Executes the plan against the target. Rejects on bugs only; failures of requests are in the log. */
export async function executeRun(request: RunRequest): Promise<FinishedRun> {
  const { plan, target } = request;
  const watch = target.watch ?? null;
  const server = (await watch?.open(plan.span_ms, (text) => request.onWarning(text))) ?? target.server;
  const startedWall = target.clock.wall();
  const folder = createRunFolder({
    out: request.out,
    startedAt: startedWall,
    trace: request.traceName,
    model: target.model,
  });
  writeJobs(folder, plannedJobRecords(plan, request.calibration));
  if (request.calibration !== null) writeCalibration(folder, request.calibration);
  let manifest = manifestOf(request, startedWall, server);
  writeManifest(folder, manifest);
  const log = openRunLog(folder, {
    onError: (error) => request.onWarning(`the run log cannot be written: ${error.message}`),
  });
  const stopEarly = createEarlyStop();
  let earlyStop: EarlyStop | null = null;
  const ended = (record: EndedRequest): void => {
    request.onRecord?.(record);
    const stop = stopEarly(record);
    if (stop === null) return;
    earlyStop = stop;
    load.drain(0);
  };
  const load = await startLoad(request, {
    onRecord: (record) => {
      log.append(request.annotate?.(record) ?? record);
      ended(record);
    },
    onLines: (lines, records) => {
      log.appendLines(lines, records.length);
      for (const record of records) ended(record);
    },
    onStart: ({ t0, t0_wall_ms }) => {
      manifest = { ...manifest, t0_wall_ms };
      writeManifest(folder, manifest);
      watch?.start({ folder, t0, span_ms: plan.span_ms });
      request.onStart?.({ folder, counts: load.counts, t0, virtual: target.virtual });
    },
  });
  const unregister = request.onInterrupt((count) => (count === 1 ? load.drain() : load.abort()));
  try {
    const result = await target.drive(load.done);
    const saved = await log.close();
    const engine = joined((await watch?.finish()) ?? null, (await request.engineFacts?.()) ?? null);
    const interrupted = result.interrupted && earlyStop === null;
    const duplicates = result.warmupDuplicates;
    if (duplicates !== null)
      manifest = { ...manifest, plan: { ...manifest.plan, warmup_duplicates: duplicates } };
    const lost = saved.lost;
    if (lost > 0)
      request.onWarning(`${lost} records could not be saved (${saved.error?.message ?? "disk error"})`);
    const begun = plan.spare_from === undefined ? null : await begunPlan(folder, plan, plan.spare_from);
    const ranOut = begun !== null && begun.jobs.length === plan.jobs.length;
    const troubles = [...result.degraded, ...(ranOut ? [RAN_OUT] : [])];
    for (const text of troubles) request.onWarning(text);
    const degraded = [...troubles, ...(lost > 0 ? [`${lost} records could not be saved`] : [])];
    if (begun !== null) {
      const { requests, jobs } = begun;
      manifest = {
        ...manifest,
        plan: { ...manifest.plan, requests, jobs: jobs.length, ...optimalOf(plan, jobs) },
      };
    }
    const notSent = result.not_sent - (begun?.dropped ?? 0);
    const end: RunEnd = {
      ended_ms: result.ended_ms,
      stopped_ms: result.stopped_ms,
      interrupted: result.interrupted,
      not_sent: notSent,
      overdue: Math.min(result.overdue, notSent),
      generator: result.health,
      engine,
      ...(degraded.length > 0 ? { degraded } : {}),
      ...(result.lanes === null ? {} : { lanes: result.lanes }),
    };
    try {
      if (begun !== null) rewriteJobs(folder, plannedJobRecords(plan, request.calibration, begun.jobs));
      endManifest(folder, manifest, end);
    } catch (error) {
      // A disk that is full at the end: the log up to there is whole, and the folder reads as a run that was killed.
      if (!(error instanceof UserError)) throw error;
      request.onWarning(`the run's end could not be written: ${error.message}`);
    }
    return { folder, interrupted, earlyStop, lost };
  } finally {
    unregister();
    await watch?.finish();
    log.flushSync();
  }
}

/** Throughput and steady state of such a run are too low. */
const RAN_OUT = "the jobs and all their copies had begun before the duration was over: slots stood empty";

function writeCalibration(folder: string, records: readonly RequestRecord[]): void {
  writeFileSync(join(folder, CALIBRATION_FILE), records.map(recordLine).join(""));
}

/** Several lanes: the code for worker threads is loaded only then. */
async function startLoad(request: RunRequest, events: LoadEvents): Promise<Load> {
  const { lanes, plan, target } = request;
  if (target.spec !== null)
    reserveDescriptors(Math.min(plan.requests.length, plan.max_concurrency ?? Infinity));
  if (lanes === undefined || lanes === null || lanes.count <= 1) return startLocalLoad(request, events);
  const [{ startLaneLoad }, { laneEntry }] = await Promise.all([
    import("./lanes/lane-load.ts"),
    import("./lanes/lane-entry.ts"),
  ]);
  target.disconnect?.();
  return startLaneLoad(
    { ...request, lanes: lanes.count, spec: lanes.spec, entry: await laneEntry() },
    events,
  );
}

function joined(metrics: JsonObject | null, facts: JsonObject | null): JsonObject | null {
  return metrics === null && facts === null ? null : { ...metrics, ...facts };
}

function manifestOf(request: RunRequest, startedWall: Ms, server: JsonObject | null): Manifest {
  const { plan, target } = request;
  return {
    reprise_run: 1,
    id: randomBytes(8).toString("hex"),
    started_at: new Date(startedWall).toISOString(),
    t0_wall_ms: startedWall,
    command: request.command,
    label: request.label,
    version: VERSION,
    host: {
      platform: `${process.platform} ${process.arch}`,
      node: process.versions.node,
      cpus: cpus().length,
      name: hostname(),
    },
    options: request.options,
    seeds: request.seeds,
    target: {
      url: target.url,
      model: target.model,
      backend: target.backend,
      // One that is served under another name says so in its metrics.
      simulated: target.simulated || server?.["engine"] === "sim",
      server,
    },
    plan: {
      ...request.facts,
      pacing: plan.pacing,
      ...(plan.spare_from === undefined ? {} : { repeated: repeatedOf(plan, plan.spare_from) }),
      requests: plan.requests.length,
      jobs: plan.jobs.length,
      span_ms: plan.span_ms,
      max_concurrency: plan.max_concurrency,
      max_concurrent_jobs: plan.max_concurrent_jobs,
      gaps_capped: plan.gaps_capped,
      optimal_hit_rate: plan.optimal_hit_rate,
      optimal_cached_tokens: plan.optimal_cached_tokens,
      notes: plan.notes,
    },
    tokenizer: request.tokenizer,
    metadata: request.metadata,
    end: null,
  };
}
