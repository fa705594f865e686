/** Requests for `planLoad`: r0, r1, ...; with their own arrival times where a test gives them. */
import type { LoadRequest } from "../../src/plan/plan-load.ts";
import type { PlannedTurn } from "../../src/plan/plan.ts";

const turn: PlannedTurn = {
  prompt: { kind: "text", text: "x" },
  forced_output_tokens: null,
  max_tokens: 1,
  temperature: null,
  params: null,
  model: null,
  copy: 0,
};

export const load = (n: number, offsets?: (i: number) => number): LoadRequest[] =>
  Array.from({ length: n }, (_, i) => ({
    request_id: `r${i}`,
    request: turn,
    planned_prompt_tokens: null,
    planned_output_tokens: null,
    ...(offsets === undefined ? {} : { offset_ms: offsets(i) }),
  }));
