/** All requests of a run as columns, filled in one pass over the log. */
import { FAILURE_CODES, UserError } from "../core/failure.ts";
import type { RequestRecord, RequestStatus } from "../record/request-record.ts";
import { IndexColumn, NumberColumn, groupBy } from "../core/column.ts";
import { GapPool } from "./gap-pool.ts";
import {
  POOLED_METRICS,
  REQUEST_METRICS,
  REQUEST_METRIC_IDS,
  type RequestMetricId,
} from "./request/index.ts";
import { type Clip, inClip } from "./clip.ts";
import { TokenClock } from "./token-clock.ts";

export const STATUS: readonly RequestStatus[] = ["ok", "failed", "cancelled", "skipped"];
export const OK = 0;
export const FAILED = 1;
export const CANCELLED = 2;
export const SKIPPED = 3;

const TIMES = ["intended", "slot", "sent", "connect", "first_token", "last_token", "end"] as const;
const COUNTS = [
  "prompt_tokens",
  "output_tokens",
  "cached_tokens",
  "planned_prompt_tokens",
  "planned_output_tokens",
] as const;
type ColumnName = (typeof TIMES)[number] | (typeof COUNTS)[number] | "server_prefill" | "chunks";

/** Columns by request, in the order of the log. NaN = not measured. Times are ms from t0. */
export interface RequestTable {
  readonly n: number;
  readonly requestIds: readonly string[];
  /** Position in {@link jobIds}. */
  readonly job: Int32Array;
  readonly jobIds: readonly string[];
  readonly turn: Int32Array;
  /** Position in {@link STATUS}. */
  readonly status: Int32Array;
  /** Position in FAILURE_CODES; −1 without a failure. */
  readonly failure: Int32Array;
  readonly columns: Readonly<Record<ColumnName, Float64Array>>;
  readonly metrics: Readonly<Record<RequestMetricId, Float64Array>>;
  /** Each request's own mean `itl`, for objectives. */
  readonly itlMean: Float64Array;
  readonly gaps: GapPool;
  readonly tokens: TokenClock;
  /** Who told engine times, and for how many requests. */
  readonly engineSources: ReadonlyMap<string, number>;
  /** Rows of the parents that released this row. */
  parents(row: number): Int32Array;
}

export class RequestTableBuilder {
  readonly #requestIds: string[] = [];
  readonly #rowOf = new Map<string, number>();
  readonly #jobIds: string[] = [];
  readonly #jobOf = new Map<string, number>();
  readonly #job = new IndexColumn();
  readonly #turn = new IndexColumn();
  readonly #status = new IndexColumn();
  readonly #failure = new IndexColumn();
  readonly #columns: Record<ColumnName, NumberColumn>;
  readonly #metrics: Record<RequestMetricId, NumberColumn>;
  readonly #itlMean = new NumberColumn();
  readonly #gaps = new GapPool();
  readonly #tokens: TokenClock;
  readonly #clip: Clip;
  readonly #child = new IndexColumn();
  readonly #parent = new IndexColumn();
  readonly #unknownParents: { row: number; id: string }[] = [];
  readonly #engineSources = new Map<string, number>();

  constructor(clip: Clip) {
    this.#clip = clip;
    this.#tokens = new TokenClock(clip);
    const names = [...TIMES, ...COUNTS, "server_prefill", "chunks"] as const;
    this.#columns = Object.fromEntries(names.map((name) => [name, new NumberColumn()])) as Record<
      ColumnName,
      NumberColumn
    >;
    this.#metrics = Object.fromEntries(REQUEST_METRIC_IDS.map((id) => [id, new NumberColumn()])) as Record<
      RequestMetricId,
      NumberColumn
    >;
  }

  /** A job that the plan knows; jobs that only records name are added as they come. Returns its position. */
  job(id: string): number {
    let job = this.#jobOf.get(id);
    if (job === undefined) {
      job = this.#jobIds.length;
      this.#jobIds.push(id);
      this.#jobOf.set(id, job);
    }
    return job;
  }

  add(record: RequestRecord): void {
    const row = this.#requestIds.length;
    // One of the two did not happen, or both happened to somebody else's request.
    if (this.#rowOf.has(record.request_id))
      throw new UserError(`the log holds request "${record.request_id}" twice`, {
        hint: "the run folder is damaged: each request has one record",
      });
    this.#requestIds.push(record.request_id);
    this.#rowOf.set(record.request_id, row);
    this.#job.push(this.job(record.job_id));
    this.#turn.push(record.turn);
    this.#status.push(STATUS.indexOf(record.status));
    this.#failure.push(record.failure === null ? -1 : FAILURE_CODES.indexOf(record.failure.code));
    const columns = this.#columns;
    for (const name of TIMES) columns[name].push(record[`${name}_ms`]);
    for (const name of COUNTS) columns[name].push(record[name]);
    if (record.cached_tokens === null && typeof record.engine?.cached_tokens === "number")
      columns.cached_tokens.values()[row] = record.engine.cached_tokens;
    columns.chunks.push(record.chunks);
    this.#addEngine(record);
    for (const id of REQUEST_METRIC_IDS) this.#metrics[id].push(REQUEST_METRICS[id].value(record));
    this.#itlMean.push(POOLED_METRICS.itl.mean(record));
    if (record.status === "ok" && inClip(record.intended_ms, this.#clip)) this.#gaps.add(record);
    this.#tokens.add(record);
    for (const id of record.after) this.#addParent(row, id);
  }

  #addEngine({ engine, first_token_ms, sent_ms }: RequestRecord): void {
    let prefill: number | null = null;
    if (engine !== null && first_token_ms !== null && sent_ms !== null) {
      const ttft = first_token_ms - sent_ms;
      if (typeof engine.prefill_ms === "number") prefill = Math.min(engine.prefill_ms, ttft);
      else if (typeof engine.queue_ms === "number") prefill = Math.max(0, ttft - engine.queue_ms);
      if (prefill !== null)
        this.#engineSources.set(engine.source, (this.#engineSources.get(engine.source) ?? 0) + 1);
    }
    this.#columns.server_prefill.push(prefill);
  }

  #addParent(row: number, id: string): void {
    const parent = this.#rowOf.get(id);
    if (parent === undefined) this.#unknownParents.push({ row, id });
    else this.#link(row, parent);
  }

  #link(row: number, parent: number): void {
    if (row === parent) return;
    this.#child.push(row);
    this.#parent.push(parent);
  }

  finish(): RequestTable {
    for (const { row, id } of this.#unknownParents) {
      const parent = this.#rowOf.get(id);
      if (parent !== undefined) this.#link(row, parent);
    }
    this.#rowOf.clear();
    const n = this.#requestIds.length;
    const links = groupBy(this.#child.values(), n);
    const parent = this.#parent.values();
    for (let i = 0; i < links.order.length; i++) links.order[i] = parent[links.order[i] as number] as number;
    return {
      n,
      requestIds: this.#requestIds,
      job: this.#job.values(),
      jobIds: this.#jobIds,
      turn: this.#turn.values(),
      status: this.#status.values(),
      failure: this.#failure.values(),
      columns: mapValues(this.#columns),
      metrics: mapValues(this.#metrics),
      itlMean: this.#itlMean.values(),
      gaps: this.#gaps,
      tokens: this.#tokens,
      engineSources: this.#engineSources,
      parents: (row) => links.order.subarray(links.starts[row], links.starts[row + 1]),
    };
  }
}

function mapValues<K extends string>(columns: Record<K, NumberColumn>): Record<K, Float64Array> {
  return Object.fromEntries(
    (Object.entries(columns) as [K, NumberColumn][]).map(([key, column]) => [key, column.values()]),
  ) as Record<K, Float64Array>;
}
