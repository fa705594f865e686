/** How many lanes a plan gets, and what the user is told of it. */
import { UserError } from "../../core/failure.ts";
import { type EngineGiven, inProcessEngine } from "../in-process-engine.ts";
import type { Plan } from "../../plan/plan.ts";

/** `--lanes` with an engine in this process is a `UserError`: it lives in one thread. */
export function checkLanes(given: EngineGiven & { readonly lanes?: number }, vllmMayRun = false): void {
  if ((given.lanes ?? 1) <= 1) return;
  const engine = inProcessEngine(given, vllmMayRun);
  if (engine !== null)
    throw new UserError(`--lanes: --backend ${engine} runs in this process, in one lane`, {
      hint: "leave --lanes out",
    });
  if (given.backend === "sim")
    throw new UserError("--lanes: the simulated engine runs in this process, in one lane", {
      hint: "reprise sim starts one behind HTTP; or leave --lanes out",
    });
}

/** The plan with a note where the lanes change something, and the number of lanes: no more than jobs, or than its caps. */
export function planLanes(plan: Plan, asked: number): { readonly plan: Plan; readonly lanes: number } {
  if (asked <= 1) return { plan, lanes: 1 };
  const { max_concurrency: requests, max_concurrent_jobs: jobs } = plan;
  const cap = Math.min(requests ?? Infinity, jobs ?? Infinity);
  const lanes = Math.max(1, Math.min(asked, cap, plan.jobs.length));
  const why = cap < plan.jobs.length ? `concurrency is capped at ${cap}` : `the plan has ${plan.jobs.length}`;
  const notes = [
    `${lanes} lane${lanes === 1 ? "" : "s"} of load${lanes < asked ? ` instead of ${asked}: ${cap < plan.jobs.length ? why : `${why} job${plan.jobs.length === 1 ? "" : "s"}`}` : ""}`,
  ];
  if (lanes > 1 && cap !== Infinity)
    notes.push(
      `the cap of ${cap} is shared out among the lanes: a free slot goes to the earliest request of its own lane`,
    );
  return { plan: { ...plan, notes: [...plan.notes, ...notes] }, lanes };
}
