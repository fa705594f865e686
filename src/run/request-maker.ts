/** A planned request becomes what the client sends: prompt made up or adapted, length forced or capped, fields merged. */
import type { ModelPrompt, ModelRequest } from "../client/client.ts";
import type { JsonObject } from "../core/json.ts";
import type { PlannedRequest } from "../plan/plan.ts";
import { adaptPrompt, type PromptCodec, type PromptKind } from "../prompt/adapt-prompt.ts";
import type { PromptComposer } from "../prompt/composer.ts";
import { type LiveAnswer, withLiveHistory } from "../prompt/live-history.ts";

export interface RequestMakerOptions {
  readonly model: string;
  /** `null`: the plan holds no made-up prompt and no copy. */
  readonly composer: PromptComposer | null;
  readonly prompts: readonly PromptKind[];
  readonly codec: PromptCodec;
  /** Further body fields of every request; a request's own win. */
  readonly params: JsonObject | null;
  readonly stream: boolean;
  /** Sampling temperature where the trace tells none; `null` leaves it to the server. */
  readonly temperature: number | null;
  /** Asked for each request, since it may change during the run. */
  keepText(): boolean;
  readonly keepChunks: boolean;
  jobIdOf(planned: PlannedRequest): string;
  /** HTTP headers by request (request ids). */
  readonly headers: ((planned: PlannedRequest) => Readonly<Record<string, string>> | null) | null;
}

/** What the requests of a run have in common, as plain data: it is the same on every lane. */
export interface RequestFacts {
  readonly model: string;
  readonly prompts: readonly PromptKind[];
  readonly params: JsonObject | null;
  readonly stream: boolean;
  readonly temperature: number | null;
  readonly keepText: boolean;
  readonly keepChunks: boolean;
  /** This header of each request holds its id; `null` = none does. */
  readonly requestIdHeader: string | null;
}

/** The maker's options from the facts and this thread's own tools. */
export function makerOptions(
  facts: RequestFacts,
  tools: Pick<RequestMakerOptions, "composer" | "codec" | "jobIdOf"> & { needsText(): boolean },
): RequestMakerOptions {
  const { requestIdHeader: header } = facts;
  return {
    ...facts,
    composer: tools.composer,
    codec: tools.codec,
    keepText: () => facts.keepText || tools.needsText(),
    jobIdOf: tools.jobIdOf,
    headers: header === null ? null : (planned) => ({ [header]: planned.request_id }),
  };
}

export type RequestMaker = (planned: PlannedRequest, history: readonly LiveAnswer[] | null) => ModelRequest;

export function createRequestMaker(options: RequestMakerOptions): RequestMaker {
  const { composer, params } = options;
  return (planned, history) => {
    const { request } = planned;
    const composed: ModelPrompt =
      composer === null
        ? (request.prompt as ModelPrompt)
        : composer.compose(request, { request_id: planned.request_id, job_id: options.jobIdOf(planned) });
    const live =
      history !== null && composed.kind === "messages"
        ? { ...composed, messages: withLiveHistory(composed.messages, history).messages }
        : composed;
    return {
      request_id: planned.request_id,
      model: request.model ?? options.model,
      prompt: adaptPrompt(live, options.prompts, options.codec),
      max_tokens: request.forced_output_tokens ?? request.max_tokens,
      force_length: request.forced_output_tokens !== null,
      temperature: request.temperature ?? options.temperature,
      stream: options.stream,
      params: params === null ? request.params : { ...params, ...request.params },
      headers: options.headers?.(planned) ?? null,
      keep_text: options.keepText(),
      keep_chunks: options.keepChunks,
    };
  };
}
