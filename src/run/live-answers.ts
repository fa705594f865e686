/** What the model answered in earlier turns, as the prompt of a later turn takes it. */
import type { HistoryTurn } from "../dispatch/live-history.ts";
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import type { LiveAnswer } from "../prompt/live-history.ts";

/** Turns whose text was not kept are left out. `plan` is the one that the turns' indices are of. */
export function liveAnswers(history: readonly HistoryTurn[] | null, plan: Plan): LiveAnswer[] | null {
  if (history === null) return null;
  return history.flatMap((turn) => {
    if (turn.text === null) return [];
    const { prompt } = (plan.requests.at(turn.index) as PlannedRequest).request;
    const position = prompt.kind === "messages" ? prompt.messages.length : null;
    return [{ recorded: null, position, text: turn.text }];
  });
}
