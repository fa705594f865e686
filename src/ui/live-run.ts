/** A run under way, read from its growing log: only what is new, only when somebody looks. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { Ms } from "../core/units.ts";
import { parseJobBudget } from "../metric/index.ts";
import { readJobs } from "../record/jobs-file.ts";
import { readManifest } from "../record/manifest-file.ts";
import type { Manifest } from "../record/manifest.ts";
import { parseRecordLine } from "../record/record-line.ts";
import { type LiveJob, type LiveNumbers, type LiveSeries, LiveTally } from "../run/live-tally.ts";

export interface LiveState {
  readonly name: string;
  readonly model: string;
  readonly target: string;
  readonly trace: string | null;
  readonly pacing: string;
  readonly simulated: boolean;
  readonly planned_requests: number;
  readonly planned_jobs: number;
  /** ms from t0 to now, or to the end. */
  readonly elapsed_ms: Ms;
  /** The run is over. */
  readonly over: boolean;
  readonly interrupted: boolean;
  readonly numbers: LiveNumbers;
  readonly series: LiveSeries;
  readonly jobs: readonly LiveJob[];
}

const CHUNK = 1 << 20;
const MOST_JOBS = 40;

export class LiveRun {
  readonly #folder: string;
  readonly #wall: () => Ms;
  readonly #turns = new Map<string, { turns: number; budget_ms: Ms | null }>();
  readonly #tally = new LiveTally((job) => this.#turns.get(job) ?? null);
  #jobsRead = false;
  #position = 0;
  #decoder = new StringDecoder("utf8");
  #rest = "";
  #manifest: Manifest | null = null;
  #reading: Promise<void> | null = null;

  constructor(folder: string, wall: () => Ms) {
    this.#folder = folder;
    this.#wall = wall;
  }

  /** Reads what the log has gained and tells how the run stands. Calls at the same time share one reading. */
  async state(): Promise<LiveState> {
    this.#reading ??= this.#catchUp().finally(() => {
      this.#reading = null;
    });
    await this.#reading;
    const manifest = this.#manifest as Manifest;
    const { end, plan, target } = manifest;
    const elapsed = end?.ended_ms ?? Math.max(0, this.#wall() - manifest.t0_wall_ms);
    return {
      name: manifest.label ?? manifest.plan.trace ?? manifest.id,
      model: target.model,
      target: target.url,
      trace: plan.trace,
      pacing: plan.pacing,
      simulated: target.simulated,
      planned_requests: plan.requests,
      planned_jobs: plan.jobs,
      elapsed_ms: elapsed,
      over: end !== null,
      interrupted: end?.interrupted ?? false,
      numbers: end === null ? this.#tally.numbers(elapsed) : this.#tally.numbers(),
      series: this.#tally.series(),
      jobs: this.#tally.jobs(MOST_JOBS),
    };
  }

  async #catchUp(): Promise<void> {
    // Its end is written last: once there, it does not change.
    if (this.#manifest?.end == null) this.#manifest = await readManifest(this.#folder);
    if (!this.#jobsRead) {
      this.#jobsRead = true;
      const budget = budgetForAll(this.#manifest);
      for await (const batch of readJobs(this.#folder))
        for (const { job_id, turns, budget_ms } of batch)
          this.#turns.set(job_id, { turns, budget_ms: budget_ms ?? budget });
    }
    const file = await open(join(this.#folder, "records.jsonl")).catch(() => null);
    if (file === null) return;
    try {
      const buffer = Buffer.allocUnsafe(CHUNK);
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK, this.#position);
        if (bytesRead === 0) return;
        this.#position += bytesRead;
        this.#take(this.#rest + this.#decoder.write(buffer.subarray(0, bytesRead)));
      }
    } finally {
      await file.close();
    }
  }

  #take(text: string): void {
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      const record = parseRecordLine(text.slice(from, at));
      // A damaged line is for the report to tell; the live view goes on.
      if (typeof record !== "string") this.#tally.add(record);
      from = at + 1;
    }
    this.#rest = text.slice(from);
  }
}

/** `--job-budget 30s`; a relative one is known only when the run is over. */
function budgetForAll({ options }: Manifest): Ms | null {
  const text = options["job_budget"];
  if (typeof text !== "string") return null;
  try {
    const budget = parseJobBudget(text);
    return budget.kind === "absolute" ? budget.ms : null;
  } catch {
    return null;
  }
}
