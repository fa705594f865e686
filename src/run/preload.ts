/**
 * `--preload`: prefixes that several jobs share (system prompts, tool lists) are sent once before the run, so that it starts
 * with the cache a server that has been up for a while would have.
 */
import type { ModelPrompt } from "../client/client.ts";
import type { JsonObject } from "../core/json.ts";
import type { Plan, PlannedRequest } from "../plan/plan.ts";
import type { PromptComposer } from "../prompt/composer.ts";
import type { BlockId, LengthPrompt } from "../trace/trace-request.ts";

/** One prompt for each prefix that at least two jobs begin with. Bare text and token ids are left alone. */
export function preloadPrompts(plan: Plan, composer: PromptComposer | null): ModelPrompt[] {
  // Copies begin like their originals (`common`).
  const firsts = plan.jobs.flatMap((job) =>
    job.copy_of === undefined ? (plan.requests.at(job.requests[0] as number) ?? []) : [],
  );
  return [...sharedMessages(firsts), ...(composer === null ? [] : sharedBlocks(firsts, composer))];
}

function sharedMessages(firsts: readonly PlannedRequest[]): ModelPrompt[] {
  const seen = new Map<
    string,
    { count: number; messages: readonly JsonObject[]; tools: readonly JsonObject[] | null }
  >();
  for (const { request } of firsts) {
    if (request.prompt.kind !== "messages") continue;
    const { messages, tools } = request.prompt;
    const end = messages.findIndex(
      (message) => message["role"] !== "system" && message["role"] !== "developer",
    );
    const system = messages.slice(0, end === -1 ? messages.length : end);
    if (system.length === 0) continue;
    const key = JSON.stringify([system, tools]);
    const entry = seen.get(key) ?? { count: 0, messages: system, tools };
    entry.count++;
    seen.set(key, entry);
  }
  return [...seen.values()]
    .filter(({ count }) => count > 1)
    .map(({ messages, tools }) => ({
      kind: "messages" as const,
      messages: [...messages, { role: "user", content: "." }],
      tools,
    }));
}

function sharedBlocks(firsts: readonly PlannedRequest[], composer: PromptComposer): ModelPrompt[] {
  const groups = new Map<
    string,
    { count: number; prompt: LengthPrompt; ids: readonly BlockId[]; from: PlannedRequest }
  >();
  for (const planned of firsts) {
    const { prompt, copy } = planned.request;
    if (prompt.kind !== "length" || prompt.hash_ids === null || prompt.block_tokens === null) continue;
    const [first] = prompt.hash_ids;
    // The last block may be partial: only whole ones are shared.
    const whole = prompt.hash_ids.slice(0, Math.floor(prompt.tokens / prompt.block_tokens));
    if (first === undefined || whole.length === 0) continue;
    const key = JSON.stringify([prompt.hash_scope, copy, first]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { count: 1, prompt, ids: whole, from: planned });
    else {
      group.count++;
      let same = 0;
      while (same < group.ids.length && group.ids[same] === whole[same]) same++;
      group.ids = group.ids.slice(0, same);
    }
  }
  return [...groups.values()]
    .filter(({ count, ids }) => count > 1 && ids.length > 0)
    .map(({ prompt, ids, from }) =>
      composer.compose(
        {
          prompt: { ...prompt, tokens: ids.length * (prompt.block_tokens as number), hash_ids: ids },
          copy: from.request.copy,
        },
        { request_id: `preload-${from.request_id}`, job_id: "preload" },
      ),
    );
}
