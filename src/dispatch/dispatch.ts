/** One dispatcher executes every plan: open loop, closed loop and dependency-preserving replay differ only in the plan. */
import type { Plan } from "../plan/plan.ts";
import type { DispatchEnv, DispatchRun } from "./dispatch-env.ts";
import { Dispatcher } from "./dispatcher.ts";

/** Starts executing `plan` at once. */
export function dispatch(plan: Plan, env: DispatchEnv): DispatchRun {
  return new Dispatcher(plan, env).start();
}
