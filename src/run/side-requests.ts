/** Requests beside the measured ones: ready check, warm-ups, preloaded prefixes. None of them is in the log. */
import type { ModelPrompt, ModelRequest } from "../client/client.ts";
import { type Clock, sleep } from "../core/clock.ts";
import { EXIT, UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import type { Ms, Tokens } from "../core/units.ts";
import { adaptPrompt, type PromptCodec, type PromptKind } from "../prompt/adapt-prompt.ts";
import type { PromptComposer } from "../prompt/composer.ts";
import type { Observation } from "../record/observation.ts";
import type { Target } from "./target.ts";
import type { WarmupGuard } from "./warmup-guard.ts";

const RETRY_EVERY_MS = 1000;
/** Failures that waiting cannot mend. */
const FINAL_STATUS = new Set([400, 401, 403, 404, 405, 422]);

const READY: ModelPrompt = { kind: "text", text: "Are you ready?" };

export interface SideRequests {
  /** Prompts that the protocol takes, and how others become such. */
  readonly prompts: readonly PromptKind[];
  readonly codec: PromptCodec;
  /** Sends one prompt and waits for its end. */
  send(prompt: ModelPrompt, maxTokens: Tokens): Promise<Observation>;
  /** The same, cut as a timeout after `limitMs`. */
  sendWithin(prompt: ModelPrompt, maxTokens: Tokens, limitMs: Ms): Promise<Observation>;
}

/** `params`: body fields that they carry besides their own. */
export function createSideRequests(
  target: Target,
  codec: PromptCodec,
  params: JsonObject | null = null,
): SideRequests {
  let count = 0;
  const requestOf = (prompt: ModelPrompt, maxTokens: Tokens): ModelRequest => ({
    request_id: `reprise-side-${count++}`,
    model: target.model,
    prompt: adaptPrompt(prompt, target.prompts, codec),
    max_tokens: maxTokens,
    force_length: false,
    temperature: 0,
    stream: true,
    params,
    headers: null,
    keep_text: false,
    keep_chunks: false,
  });
  const { client, clock } = target;
  return {
    prompts: target.prompts,
    codec,
    send: (prompt, maxTokens) =>
      new Promise((resolve) => {
        client.send(client.prepare(requestOf(prompt, maxTokens)), resolve);
      }),
    sendWithin: (prompt, maxTokens, limitMs) =>
      new Promise((resolve) => {
        const sent = client.send(client.prepare(requestOf(prompt, maxTokens)), (seen) => {
          clock.cancel(limit);
          resolve(seen);
        });
        const limit = clock.at(clock.now() + limitMs, () =>
          sent.cancel("timeout", `no answer within ${Math.round(limitMs / 1000)} s`),
        );
      }),
  };
}

/**
 * Waits until the server answers a real one-token request, at most `timeoutMs` (0: one request, as long as any may take). A
 * {@link UserError} with exit code 3 when it does not, or at once for a refusal that waiting cannot mend.
 */
export async function awaitReady(
  side: SideRequests,
  clock: Clock,
  timeoutMs: Ms,
  signal: AbortSignal | null = null,
): Promise<void> {
  const deadline = clock.now() + timeoutMs;
  for (;;) {
    const seen = await (timeoutMs > 0
      ? side.sendWithin(READY, 1, Math.max(1, deadline - clock.now()))
      : side.send(READY, 1));
    if (seen.failure === null) return;
    const { message, http_status } = seen.failure;
    const final = http_status !== null && FINAL_STATUS.has(http_status);
    if (final || clock.now() + RETRY_EVERY_MS > deadline) {
      throw new UserError(`the server does not answer a one-token request: ${message}`, {
        hint: final
          ? "check --model, --backend, --endpoint and the API key"
          : timeoutMs > 0
            ? `waited ${Math.round(timeoutMs / 1000)} s`
            : "the run is not started",
        exitCode: EXIT.unreachable,
      });
    }
    await sleep(clock, RETRY_EVERY_MS);
    signal?.throwIfAborted();
  }
}

/** `count` unmeasured requests, one after the other, of prompts that no measured request has. */
export async function warmUp(
  side: SideRequests,
  composer: PromptComposer,
  count: number,
  guard: WarmupGuard,
  size: { readonly prompt_tokens: Tokens; readonly output_tokens: Tokens },
): Promise<void> {
  for (let index = 0; index < count; index++) {
    const prompt = composer.warmup(size.prompt_tokens, index);
    guard.warmup(adaptPrompt(prompt, side.prompts, side.codec));
    const seen = await side.send(prompt, size.output_tokens);
    if (seen.failure !== null)
      throw new UserError(`a warm-up request failed: ${seen.failure.message}`, {
        exitCode: EXIT.unreachable,
      });
  }
}
