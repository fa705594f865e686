/** Jobs whose turns follow each other one by one: `<job>/0`, `<job>/1`, ... */
import type { Ms } from "../core/units.ts";
import { gapAfter } from "./instant.ts";
import type { TraceRequest } from "./trace-request.ts";

export type ChainedTurn = Pick<TraceRequest, "request_id" | "job_id" | "turn" | "after">;

/** Turn `turn` (from 0) of a job, after the turn before it. */
export function chainedTurn(job_id: string, turn: number): ChainedTurn {
  return {
    request_id: `${job_id}/${turn}`,
    job_id,
    turn,
    after: turn === 0 ? [] : [`${job_id}/${turn - 1}`],
  };
}

/** The turns of one job, placed in time by a log that stamps answers, and may not tell when they were asked for. */
export class TimedChain {
  #turns = 0;
  #arrival: Ms | null = null;
  #end: Ms | null = null;

  /** When the last answer was complete. An agent that heard nothing since asked again at once. */
  get end(): Ms | null {
    return this.#end;
  }

  /** The next turn: it arrives when it was sent (else when it was answered), and never before the one it follows. */
  next(
    job_id: string,
    sent: Ms | null,
    end: Ms | null,
  ): ChainedTurn & Pick<TraceRequest, "arrival_ms" | "think_ms"> {
    const turn = this.#turns++;
    const asked = sent ?? end;
    const arrival_ms = asked === null ? null : Math.max(asked, this.#arrival ?? asked);
    const think_ms = turn === 0 ? null : gapAfter(sent, [this.#end]);
    this.#arrival = arrival_ms;
    this.#end = end;
    return { ...chainedTurn(job_id, turn), arrival_ms, think_ms };
  }
}
