/** `--history live`: what the model really answered in the earlier turns of a job, for the prompts of the later ones. */
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import { scheduleAt } from "../plan/planned-requests.ts";
import type { Observation, ToolCallRecord } from "../record/observation.ts";

/** An earlier turn of the same job and its live answer. */
export interface HistoryTurn {
  readonly index: number;
  readonly request_id: string;
  readonly turn: number;
  /** `null` if the client kept no text. */
  readonly text: string | null;
  readonly tool_calls: readonly ToolCallRecord[] | null;
}

export class LiveHistory {
  readonly #plan: Plan;
  readonly #answers = new Map<number, HistoryTurn>();

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  add(planned: PlannedRequest, seen: Observation): void {
    this.#answers.set(planned.index, {
      index: planned.index,
      request_id: planned.request_id,
      turn: planned.turn,
      text: seen.text,
      tool_calls: seen.tool_calls,
    });
  }

  /** All turns that this one descends from, parents before children (plan order). */
  of(planned: PlannedRequest): readonly HistoryTurn[] {
    const seen = new Set<number>();
    const open = [planned.release];
    for (let release = open.pop(); release !== undefined; release = open.pop()) {
      if (release.kind !== "after") continue;
      for (const parent of release.parents) {
        if (seen.has(parent)) continue;
        seen.add(parent);
        open.push(scheduleAt(this.#plan.requests, parent).release);
      }
    }
    return [...seen].sort((a, b) => a - b).flatMap((index) => this.#answers.get(index) ?? []);
  }

  /** The job is over: its answers are needed no more. */
  forget(job: number): void {
    for (const index of this.#plan.jobs.at(job)?.requests ?? []) this.#answers.delete(index);
  }
}
