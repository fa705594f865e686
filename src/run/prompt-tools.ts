/** The tokenizer and the prompt composer of a run, made only where the plan needs made-up text. */
import { randomBytes } from "node:crypto";
import type { Plan } from "../plan/plan.ts";
import { createPromptComposer, type PromptComposer } from "../prompt/composer.ts";
import type { PromptCodec } from "../prompt/adapt-prompt.ts";
import { resolveTokenizer } from "../prompt/resolve-tokenizer.ts";
import { isSyncTokenizer, type Tokenizer } from "../prompt/tokenizer.ts";
import type { Manifest } from "../record/manifest.ts";
import type { Target } from "./target.ts";

export interface PromptTools {
  readonly composer: PromptComposer | null;
  readonly tokenizer: Tokenizer | null;
  readonly codec: PromptCodec;
  /** For the manifest. */
  readonly facts: Manifest["tokenizer"];
}

export interface PromptToolsOptions {
  readonly tokenizerPath: string | null;
  readonly promptSeed: number | null;
  readonly asIds: boolean;
  readonly shareCopies: boolean;
  /** Also without made-up text: warm-ups, prompts in a form that the protocol does not take. */
  readonly always: boolean;
}

export async function openPromptTools(
  plan: Plan,
  target: Target,
  options: PromptToolsOptions,
): Promise<PromptTools> {
  if (!options.always && !needsComposer(plan, target)) {
    // A named tokenizer is still of use: output tokens are counted with it where the server tells none.
    if (options.tokenizerPath === null)
      return { composer: null, tokenizer: target.tokenizer, codec: {}, facts: null };
  }
  const { tokenizer, warning } =
    target.tokenizer === null
      ? await resolveTokenizer({
          tokenizerPath: options.tokenizerPath,
          model: target.model,
          post: target.post,
        })
      : { tokenizer: target.tokenizer, warning: null };
  const composer = await createPromptComposer({
    tokenizer,
    promptSeed: options.promptSeed,
    salt: randomBytes(16).toString("hex"),
    asIds: options.asIds && target.prompts.includes("ids"),
    shareCopies: options.shareCopies,
  });
  const sync = isSyncTokenizer(tokenizer) ? tokenizer : null;
  return {
    composer,
    tokenizer,
    codec: {
      encode: sync === null ? null : (text) => sync.encode(text),
      decode: sync?.decode === undefined ? null : (ids) => sync.decode?.(ids) ?? "",
    },
    facts: { source: tokenizer.source, name: tokenizer.name, warning },
  };
}

function needsComposer(plan: Plan, target: Target): boolean {
  return plan.requests.some(
    ({ request }) =>
      request.copy > 0 ||
      request.prompt.kind === "length" ||
      (request.prompt.kind === "ids" && !target.prompts.includes("ids")),
  );
}
