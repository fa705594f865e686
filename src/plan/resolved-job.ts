/**
 * What plan/ asks of a job whose dependencies have been resolved (trace/jobs.ts produces it): a DAG of turns, parents
 * before children. Stated here as plan/'s own requirement, so that anything of this shape can be planned.
 */
import type { Ms } from "../core/units.ts";
import type { TraceRequest } from "../trace/trace-request.ts";

export interface ResolvedTurn {
  readonly request: TraceRequest;
  /** Positions in the job's `turns`, each smaller than this turn's own; `[]` = a root. */
  readonly parents: readonly number[];
  /** From the end of the last parent to this turn, tools included; `null` = unknown. */
  readonly think_ms: Ms | null;
  readonly think_origin: "recorded" | "inferred" | "missing";
}

export interface ResolvedJob {
  readonly job_id: string;
  readonly turns: readonly ResolvedTurn[];
  readonly budget_ms: Ms | null;
}
