/** What a run needs of the process around it, and whom it tells how it goes. */
import type { Clock } from "../core/clock.ts";
import type { Plan } from "../plan/plan.ts";
import type { KnownServer } from "./engine-watch.ts";
import type { EndedRequest } from "./ended-request.ts";
import type { StartedRun } from "./execute.ts";
import type { TraceWorkload } from "./read-workload.ts";

export interface RunEnvironment {
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** What is known of the server beyond its address: a sweep has started it. Its metrics are sampled unless `--engine-metrics off`. */
  readonly server?: KnownServer | null;
  warn(text: string): void;
  /** Which of two things was taken, one line. */
  note?(text: string): void;
  /** Before the target is touched: what will be replayed. */
  onPlan?(workload: TraceWorkload, plan: Plan): void;
  /** The same for a load without a trace's dependencies (bench). */
  onLoad?(
    dataset: { readonly name: string; readonly path: string | null; readonly notes: readonly string[] },
    plan: Plan,
  ): void;
  /** The folder exists and the start instant is chosen. */
  onStart?(run: StartedRun, plan: Plan): void;
  onRecord?(record: EndedRequest): void;
  /** Registers a handler of interrupts; returns how to unregister. */
  onInterrupt(handler: (count: number) => void): () => void;
}
