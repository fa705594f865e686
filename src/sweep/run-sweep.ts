/**
 * Runs a sweep: a server for each engine configuration, the same work on each, one row a cell. A cell that fails is
 * reported and the rest goes on; whatever happens, no server is left behind.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { secrets } from "../core/secret.ts";
import type { Ms } from "../core/units.ts";
import type { Summary } from "../metric/summary.ts";
import { resetCache } from "../server/cache-reset.ts";
import type { HttpCall } from "../server/http-call.ts";
import { launchServer, type LaunchedServer } from "../server/launch-server.ts";
import { killAllServers } from "../server/process.ts";
import { joinCell, type CellResult, type CellRunResult } from "./cell-result.ts";
import type { EngineSection, SweepSections } from "./config-schema.ts";
import {
  cellGpus,
  durationOf,
  engineSpec,
  modelKnob,
  registerSecrets,
  runsInProcess,
} from "./engine-spec.ts";
import { orderRuns, promptSeed, type Cell, type PlannedRun, type ServerTurn } from "./grid.ts";
import { SweepLog } from "./sweep-log.ts";
import { sweepWork } from "./sweep-work.ts";

/** One run to be made by the run layer. */
export interface CellTask {
  readonly cell: Cell;
  readonly repeat: number;
  /** Options of replay, the cell's load merged in; `base_url`, `model`, `gpus` set where the server tells them. */
  readonly options: JsonObject;
  /** Run folder to be made. */
  readonly out: string;
  /** What was launched; `null` for a server that ran before, or runs inside this process. */
  readonly server: LaunchedServer | null;
  /** Knobs for the in-process simulator; `null` otherwise. */
  readonly in_process: JsonObject | null;
  /** A DCGM exporter's metrics; `null` = none was told. */
  readonly dcgm_url: string | null;
  /** Aborted by an interrupt, which may come before the run listens for one. */
  readonly signal: AbortSignal;
}

export interface CellOutcome {
  readonly folder: string;
  readonly summary: Summary;
  readonly interrupted: boolean;
  /** All prompts were made up for this run alone: no later run can find them in a cache. */
  readonly fresh_prompts: boolean;
}

/** Makes one run and writes its `summary.json`. Rejects with a `UserError` where nothing could be measured. */
export type RunOnce = (task: CellTask) => Promise<CellOutcome>;

export interface SweepProgress {
  readonly done: number;
  readonly failed: number;
  readonly total: number;
  /** What is under way; `null` between runs. */
  readonly current: {
    readonly cell: string;
    readonly repeat: number;
    readonly step: "starting" | "warming" | "running";
  } | null;
  /** From the mean time of the runs so far; `null` before the first. */
  readonly left_ms: Ms | null;
}

export interface SweepRequest {
  readonly sections: SweepSections;
  readonly cells: readonly Cell[];
  /** Options of replay, from the file and the flags. */
  readonly options: JsonObject;
  /** Flags that win over the options; part of what makes results comparable. */
  readonly flags?: JsonObject;
  /** Identifies the trace's content: an edited trace is other work. */
  readonly trace_sha256?: string;
  /** Folder of the sweep; one that is there is gone on with. */
  readonly out: string;
}

export interface SweepEnvironment {
  readonly clock: Clock;
  readonly call: HttpCall;
  readonly runOnce: RunOnce;
  warn(text: string): void;
  onProgress?(progress: SweepProgress): void;
  /** After each run: all cells as they stand. */
  onResults?(results: readonly CellResult[]): void;
  /** Registers a handler of interrupts; returns how to unregister. */
  onInterrupt(handler: (count: number) => void): () => void;
}

export interface SweepOutcome {
  readonly results: readonly CellResult[];
  readonly interrupted: boolean;
  /** Runs that an earlier start of the sweep had finished. */
  readonly resumed: number;
}

export async function runSweep(request: SweepRequest, env: SweepEnvironment): Promise<SweepOutcome> {
  const { sections, cells, out } = request;
  if (sections.engine !== null) registerSecrets(sections.engine);
  const log = SweepLog.open(out, sweepWork(request));
  const turns = orderRuns(cells, sections);
  const todo = turns
    .map((turn) => ({
      ...turn,
      runs: turn.runs.filter(({ cell, repeat }) => !log.isDone(cell.slug, repeat)),
    }))
    .filter(({ runs }) => runs.length > 0);
  const total = turns.reduce((sum, { runs }) => sum + runs.length, 0);
  const sweep = new Sweep(
    request,
    env,
    log,
    total,
    total - todo.reduce((sum, { runs }) => sum + runs.length, 0),
  );
  const unregister = env.onInterrupt((count) => sweep.interrupt(count));
  try {
    for (const turn of todo) {
      if (sweep.interrupted) break;
      await sweep.serve(turn);
    }
  } finally {
    unregister();
  }
  return {
    results: cells.map((cell) => joinCell(cell, log.results, sections.repeats)),
    interrupted: sweep.interrupted,
    resumed: sweep.resumed,
  };
}

class Sweep {
  interrupted = false;
  readonly resumed: number;
  readonly #request: SweepRequest;
  readonly #env: SweepEnvironment;
  readonly #log: SweepLog;
  readonly #total: number;
  readonly #abort = new AbortController();
  /** Nothing of the runs so far can be found in a prefix cache. */
  #freshPrompts = true;
  #warnedOfCache = false;
  #done: number;
  #failed = 0;
  #spentMs = 0;
  #finished = 0;

  constructor(request: SweepRequest, env: SweepEnvironment, log: SweepLog, total: number, resumed: number) {
    this.#request = request;
    this.#env = env;
    this.#log = log;
    this.#total = total;
    this.#done = resumed;
    this.resumed = resumed;
  }

  interrupt(count: number): void {
    this.interrupted = true;
    this.#abort.abort(new UserError("interrupted"));
    if (count > 1) killAllServers();
  }

  /** All runs of one server, which is started first and always stopped. */
  async serve(turn: ServerTurn): Promise<void> {
    let server: LaunchedServer | null = null;
    // The same server would fail the same way, as slowly, for each load level.
    let failedStart: UserError | null = null;
    this.#freshPrompts = true;
    try {
      for (const [index, run] of turn.runs.entries()) {
        if (this.interrupted) return;
        const begin = this.#env.clock.now();
        const notes: string[] = [];
        try {
          if (failedStart !== null) throw failedStart;
          if (server !== null) server = await this.#refreshed(server, notes);
          if (server === null) {
            try {
              server = await this.#start(run, index);
            } catch (error) {
              if (error instanceof UserError) failedStart = error;
              throw error;
            }
          }
          if (server === null) await this.#emptyRunning(notes);
          await this.#measure(run, server, notes);
        } catch (error) {
          if (!(error instanceof UserError)) throw error;
          this.#note(run, null, error, notes);
          // Whatever is wrong with it: the next level shall not inherit it.
          await server?.process.stop();
          server = null;
        }
        this.#finished++;
        this.#spentMs += this.#env.clock.now() - begin;
        this.#tell(null);
        this.#env.onResults?.(
          this.#request.cells.map((cell) =>
            joinCell(cell, this.#log.results, this.#request.sections.repeats),
          ),
        );
      }
    } finally {
      if (server !== null) await server.process.stop();
    }
  }

  /** The server for the next run: emptied, or stopped if it cannot be emptied or has died. */
  async #refreshed(server: LaunchedServer, notes: string[]): Promise<LaunchedServer | null> {
    if (server.process.alive() && this.#request.sections.cache === "warm") return server;
    if (server.process.alive()) {
      const reset = await resetCache(this.#env.call, server.command.base_url, server.command.cache_reset);
      if (reset.done) return server;
      if (this.#freshPrompts) {
        notes.push(
          `its prefix cache was not emptied (${reset.how}), but no prompt of this run was sent before`,
        );
        return server;
      }
      notes.push(`restarted for an empty cache: ${reset.how}`);
    }
    await server.process.stop();
    return null;
  }

  /** A server that ran before the sweep, and stays: its cache is emptied where it can be. */
  async #emptyRunning(notes: string[]): Promise<void> {
    const { sections, options, flags } = this.#request;
    if (sections.engine !== null || sections.cache === "warm") return;
    const reset = await resetCache(this.#env.call, runningServer({ ...options, ...flags }), { kind: "try" });
    if (reset.done || this.#freshPrompts) return;
    notes.push(`its prefix cache was not emptied: ${reset.how}`);
    if (this.#warnedOfCache) return;
    this.#warnedOfCache = true;
    this.#env.warn(
      `the prefix cache of the running server cannot be emptied (${reset.how}), and every run sends the same prompts: ` +
        "later runs find what earlier ones left. cache: warm treats all alike; an engine section starts servers afresh",
    );
  }

  async #start({ cell, repeat }: PlannedRun, attempt: number): Promise<LaunchedServer | null> {
    const { engine } = this.#request.sections;
    if (engine === null || this.#inProcess(engine)) return null;
    this.#tell({ cell: cell.name, repeat, step: "starting" });
    const launched = await launchServer({
      spec: engineSpec(engine, cell.knobs),
      port: engine.port,
      folder: this.#fresh(
        join("servers", `${cell.slug}-r${repeat}${attempt === 0 ? "" : `-${attempt + 1}`}`),
      ),
      ready_timeout_ms:
        engine.ready_timeout === null ? null : durationOf(engine.ready_timeout, "engine.ready_timeout"),
      grace_ms: durationOf(engine.stop_grace, "engine.stop_grace"),
      own_port: engine.own_port,
      clock: this.#env.clock,
      call: this.#env.call,
      signal: this.#abort.signal,
    });
    if (engine.metrics_url === null) return launched;
    return { ...launched, command: { ...launched.command, metrics_url: engine.metrics_url } };
  }

  async #measure(run: PlannedRun, server: LaunchedServer | null, notes: string[]): Promise<void> {
    const { cell, repeat } = run;
    const { sections, options } = this.#request;
    const { engine } = sections;
    const inProcess = engine !== null && this.#inProcess(engine);
    const gpus = this.#gpusOf(cell);
    const merged: JsonObject = {
      // One seed for all: every cell and every repeat gets the same work.
      seed: sections.order_seed,
      ...options,
      ...cell.load,
      ...(server === null ? {} : { base_url: server.command.base_url, model: server.ready.model }),
      ...(gpus === null ? {} : { gpus }),
    };
    const warm = sections.cache === "warm";
    // Warm: both passes say the same, and no other cell does. Cold: made-up text is new in every run by itself.
    const seeded =
      warm && merged["prompt_seed"] === undefined
        ? { ...merged, prompt_seed: promptSeed(cell, repeat) }
        : merged;
    const task = (folder: string): CellTask => ({
      cell,
      repeat,
      options: seeded,
      out: this.#fresh(join("runs", folder)),
      server,
      dcgm_url: engine?.dcgm_url ?? null,
      signal: this.#abort.signal,
      in_process: inProcess
        ? { ...modelKnob(engine.model), ...(engine.knobs as JsonObject), ...cell.knobs }
        : null,
    });
    if (warm && !inProcess) {
      this.#tell({ cell: cell.name, repeat, step: "warming" });
      const warming = await this.#env.runOnce(task(`${cell.slug}-r${repeat}-warming`));
      if (warming.interrupted || this.interrupted) return;
    }
    this.#tell({ cell: cell.name, repeat, step: "running" });
    const outcome = await this.#env.runOnce(task(`${cell.slug}-r${repeat}`));
    this.#freshPrompts &&= outcome.fresh_prompts;
    if (outcome.interrupted) this.interrupted = true;
    // After a second interrupt it was us who ended it.
    if (server !== null && !server.process.alive() && !this.interrupted) {
      const lines = server.process.lastLines(5).join(" | ");
      this.#note(
        run,
        outcome,
        new UserError(`the server died during the run: ${lines === "" ? "it wrote nothing" : lines}`),
        notes,
      );
      return;
    }
    this.#note(run, outcome, null, notes);
  }

  #note(
    { cell, repeat }: PlannedRun,
    outcome: CellOutcome | null,
    error: UserError | null,
    notes: readonly string[],
  ): void {
    const status =
      error !== null
        ? this.interrupted && outcome === null
          ? "interrupted"
          : "failed"
        : outcome?.interrupted === true
          ? "interrupted"
          : "done";
    const result: CellRunResult = {
      slug: cell.slug,
      repeat,
      status,
      folder: outcome?.folder ?? null,
      summary: outcome?.summary ?? null,
      error: error === null ? null : secrets.redact(oneLine(error)),
      gpus: this.#gpusOf(cell),
      notes,
    };
    this.#log.add(result);
    if (status === "done") this.#done++;
    if (status === "failed") {
      this.#failed++;
      this.#env.warn(`${cell.name} (run ${repeat}) failed: ${result.error ?? ""}`);
    }
  }

  #tell(current: SweepProgress["current"]): void {
    const left = this.#total - this.#done - this.#failed;
    this.#env.onProgress?.({
      done: this.#done,
      failed: this.#failed,
      total: this.#total,
      current,
      left_ms: this.#finished === 0 ? null : (this.#spentMs / this.#finished) * left,
    });
  }

  /** What the user says, else what the command of this cell tells. */
  #gpusOf(cell: Cell): number | null {
    const said = this.#request.options["gpus"];
    const { engine } = this.#request.sections;
    return typeof said === "number" ? said : engine === null ? null : cellGpus(engine, cell.knobs);
  }

  #inProcess(engine: EngineSection): boolean {
    return runsInProcess(engine, this.#request.options);
  }

  /** A folder name of the sweep that is not taken: an interrupted run left its own. */
  #fresh(name: string): string {
    const base = join(this.#request.out, name);
    if (!existsSync(base)) return base;
    for (let n = 2; ; n++) {
      if (!existsSync(`${base}.${n}`)) return `${base}.${n}`;
    }
  }
}

/** Address of a server that the sweep did not start. */
function runningServer({ base_url: url, host, port }: JsonObject): string {
  if (typeof url === "string") return url.replace(/\/+$/, "").replace(/\/v1$/, "");
  return `http://${typeof host === "string" ? host : "localhost"}:${typeof port === "number" ? port : 8000}`;
}

/** Message and hint, log lines included, on one line. */
function oneLine({ message, hint }: UserError): string {
  return (hint === null ? message : `${message}; ${hint}`).replace(/\s*\n\s*/g, " | ");
}
