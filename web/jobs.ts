/** Jobs and turns of a run, read from its columns. Times in ms from t0; NaN = not measured. */
import { CAUSES, type Cause } from "../src/metric/job/causes.ts";
import type { Columns } from "./columns.ts";

export const JOB_STATUS = ["ok", "failed", "unfinished"] as const;
export const TURN_STATUS = ["ok", "failed", "cancelled", "skipped"] as const;
/** As src/report/html/detail.ts writes them. */
export const OUTCOMES = [null, "within", "over", "censored", "not_started"] as const;

export class Jobs {
  readonly columns: Columns;
  readonly n: number;
  readonly ids: readonly string[];
  readonly start: Float64Array;
  readonly length: Float64Array;
  readonly status: Float64Array;
  readonly outcome: Float64Array;
  readonly budget: Float64Array;
  readonly turns: Float64Array;
  readonly queueing: Float64Array;
  /** Shares of the prompt tokens: what an endless cache would reuse, what the server did. */
  readonly optimalHitRate: Float64Array;
  readonly hitRate: Float64Array;
  readonly causes: Readonly<Record<Cause, Float64Array>>;
  /** Turns of job j are those from `firstTurn[j]` to `firstTurn[j+1]`; none where the page left them out. */
  readonly firstTurn: Int32Array;
  readonly turn: TurnColumns;

  constructor(columns: Columns) {
    this.columns = columns;
    this.ids = columns.texts("job.id");
    this.n = this.ids.length;
    this.start = columns.numbers("job.start");
    this.length = columns.numbers("job.length");
    this.status = columns.numbers("job.status");
    this.outcome = columns.numbers("job.outcome");
    this.budget = columns.numbers("job.budget");
    this.turns = columns.numbers("job.job_turns");
    this.queueing = columns.numbers("job.queueing");
    this.optimalHitRate = columns.numbers("job.optimal_hit_rate");
    this.hitRate = columns.numbers("job.hit_rate");
    this.causes = Object.fromEntries(
      CAUSES.map((cause) => [cause, columns.numbers(`job.cause.${cause}`)]),
    ) as Record<Cause, Float64Array>;
    this.turn = turnColumns(columns);
    this.firstTurn = new Int32Array(this.n + 1);
    const owner = columns.numbers("turn.job");
    for (const job of owner) this.firstTurn[job + 1] = (this.firstTurn[job + 1] as number) + 1;
    for (let job = 0; job < this.n; job++)
      this.firstTurn[job + 1] = (this.firstTurn[job + 1] as number) + (this.firstTurn[job] as number);
  }

  statusOf(job: number): (typeof JOB_STATUS)[number] {
    return JOB_STATUS[this.status[job] as number] ?? "unfinished";
  }

  outcomeOf(job: number): (typeof OUTCOMES)[number] {
    return OUTCOMES[this.outcome[job] as number] ?? null;
  }

  turnsOf(job: number): number[] {
    const turns: number[] = [];
    for (let at = this.firstTurn[job] as number; at < (this.firstTurn[job + 1] as number); at++)
      turns.push(at);
    return turns;
  }

  /** The record of a turn as the log has it (without chunk times); `null` where the page left it out. */
  record(turn: number): Record<string, unknown> | null {
    const at = this.turn.record[turn] as number;
    const line = Number.isNaN(at) ? undefined : this.columns.texts("records")[at];
    return line === undefined ? null : (JSON.parse(line) as Record<string, unknown>);
  }
}

export interface TurnColumns {
  readonly n: number;
  readonly job: Float64Array;
  readonly turn: Float64Array;
  readonly status: Float64Array;
  readonly failure: Float64Array;
  readonly agent: Float64Array;
  readonly record: Float64Array;
  readonly intended: Float64Array;
  /** After `intended`. */
  readonly slot: Float64Array;
  readonly sent: Float64Array;
  readonly connect: Float64Array;
  readonly ttft: Float64Array;
  readonly prefill: Float64Array;
  /** First to last token. */
  readonly decode: Float64Array;
  readonly e2e: Float64Array;
  readonly tpot: Float64Array;
  readonly prompt_tokens: Float64Array;
  readonly output_tokens: Float64Array;
  readonly cached_tokens: Float64Array;
}

function turnColumns(columns: Columns): TurnColumns {
  const of = (name: string): Float64Array => columns.numbers(`turn.${name}`);
  return {
    n: of("job").length,
    job: of("job"),
    turn: of("turn"),
    status: of("status"),
    failure: of("failure"),
    agent: of("agent"),
    record: of("record"),
    intended: of("intended"),
    slot: of("slot_after_intended"),
    sent: of("sent_after_intended"),
    connect: of("connect"),
    ttft: of("ttft"),
    prefill: of("prefill"),
    decode: of("last_after_first"),
    e2e: of("e2e"),
    tpot: of("tpot"),
    prompt_tokens: of("prompt_tokens"),
    output_tokens: of("output_tokens"),
    cached_tokens: of("cached_tokens"),
  };
}

export type Phase = "wait" | "engine-queue" | "prefill" | "decode" | "unsplit";

/** The phases of a turn as intervals in ms from t0; nothing for a turn that was never sent. */
export function phases(
  turn: TurnColumns,
  at: number,
  visit: (phase: Phase, from: number, to: number) => void,
): void {
  const due = turn.intended[at] as number;
  const sent = due + (turn.sent[at] as number);
  if (Number.isNaN(sent)) return;
  if (sent > due) visit("wait", due, sent);
  const end = sent + (turn.e2e[at] as number);
  const first = sent + (turn.ttft[at] as number);
  if (Number.isNaN(first)) {
    if (end > sent) visit("unsplit", sent, end);
    return;
  }
  const prefill = turn.prefill[at] as number;
  const begins = Number.isNaN(prefill) ? first : first - prefill;
  if (begins > sent) visit("engine-queue", sent, begins);
  visit("prefill", begins, first);
  const last = first + (turn.decode[at] as number);
  visit("decode", first, Number.isNaN(end) ? last : Math.max(last, end));
}

export const PHASE_TITLES: Readonly<Record<Phase | "tool", string>> = {
  wait: "waiting to be sent",
  "engine-queue": "waiting in the engine",
  prefill: "prefill",
  decode: "decode",
  unsplit: "no first token",
  tool: "tools and thinking",
};

export const PHASE_COLOURS: Readonly<Record<Phase | "tool", string>> = {
  wait: "--slot",
  "engine-queue": "--engine-queue",
  prefill: "--prefill",
  decode: "--decode",
  unsplit: "--unsplit",
  tool: "--tool-soft",
};

/** CSS variables of the causes, for stacked bars. */
export const CAUSE_COLOURS: Readonly<Record<Cause, string>> = {
  tool: "--tool",
  client: "--client",
  slot: "--slot",
  connect: "--connect",
  engine_queue: "--engine-queue",
  prefill: "--prefill",
  decode: "--decode",
  tail: "--tail",
  unsplit: "--unsplit",
};

export { CAUSES, type Cause };
