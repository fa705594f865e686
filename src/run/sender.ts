/** What turns planned requests into answers: prompts, bodies, client, output counter. In this thread, or described for lanes. */
import type { PreparedRequest } from "../client/client.ts";
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import { jobIdAt } from "../plan/planned-requests.ts";
import type { LiveAnswer } from "../prompt/live-history.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { createInputTexts } from "./input-texts.ts";
import type { LaneSpec } from "./lanes/lane-messages.ts";
import { countingClient, createOutputCounter } from "./output-counter.ts";
import type { PromptTools } from "./prompt-tools.ts";
import {
  createRequestMaker,
  makerOptions,
  type RequestFacts,
  type RequestMakerOptions,
} from "./request-maker.ts";
import type { Target } from "./target.ts";
import type { WarmupGuard } from "./warmup-guard.ts";

export interface Sender {
  /** The target, its client counting output tokens where the server tells none. */
  readonly target: Target;
  readonly maker: RequestMakerOptions;
  prepare(planned: PlannedRequest, history: readonly LiveAnswer[] | null): PreparedRequest;
  /** Measured prompts that equal a warm-up prompt; `null` = there were no warm-ups. */
  warmupDuplicates(): number | null;
  /** Adds to a record what it sent, where that is kept. */
  annotate(record: RequestRecord): RequestRecord;
  /** The same for a lane; `null` where the engine is in this process. Ask after the warm-ups. */
  laneSpec(): LaneSpec | null;
}

export function createSender(
  target: Target,
  parts: {
    readonly plan: Plan;
    readonly tools: PromptTools;
    readonly facts: RequestFacts;
    readonly guard: WarmupGuard;
    /** Keep what each request sent for its record. */
    readonly keepInput?: boolean;
  },
): Sender {
  const { plan, tools, facts, guard, keepInput = false } = parts;
  const inputs = keepInput ? createInputTexts() : null;
  const counter = createOutputCounter(tools.tokenizer);
  const maker = makerOptions(facts, {
    composer: tools.composer,
    codec: tools.codec,
    needsText: () => counter.needsText(),
    jobIdOf: (planned) => jobIdAt(plan.jobs, planned.job),
  });
  const make = createRequestMaker(maker);
  return {
    target: {
      ...target,
      openStreams: () => target.openStreams(),
      client: countingClient(target.client, counter),
    },
    maker,
    prepare: (planned, history) => {
      const model = make(planned, history);
      guard.measured(model.prompt);
      inputs?.keep(planned.request_id, model.prompt);
      return target.client.prepare(model);
    },
    warmupDuplicates: () => guard.duplicates(),
    annotate: (record) => inputs?.annotate(record) ?? record,
    laneSpec: () =>
      target.spec === null
        ? null
        : { client: target.spec, tools: tools.spec, facts, warmups: guard.known(), keepInput },
  };
}
