/** What several jobs of a trace begin with: system prompts, tool lists. */
import type { BlockId, TracePrompt } from "../trace/trace-request.ts";
import type { Workload } from "./workload.ts";

/**
 * Tells of a prompt how many of its leading prefix blocks, or messages, are those that at least two of the first `jobs` jobs
 * begin with (by their first turns); 0 for one that begins like no other job, for bare text and for token ids.
 */
export function commonPrefixes(
  { requests, first, row }: Workload,
  jobs: number,
): (prompt: TracePrompt) => number {
  const blocks = new Map<string, { jobs: number; ids: readonly BlockId[] }>();
  const systems = new Map<string, number>();
  for (let job = 0; job < jobs; job++) {
    const prompt = requests.prompt(row[first[job] as number] as number);
    if (prompt.kind === "messages") {
      const key = systemKey(prompt);
      if (key !== null) systems.set(key, (systems.get(key) ?? 0) + 1);
    }
    const ids = wholeBlocks(prompt);
    if (ids.length === 0) continue;
    const key = blockKey(prompt, ids);
    const group = blocks.get(key);
    if (group === undefined) blocks.set(key, { jobs: 1, ids });
    else {
      group.jobs++;
      group.ids = group.ids.slice(0, commonLength(group.ids, ids));
    }
  }
  return (prompt) => {
    if (prompt.kind === "messages") {
      const key = systemKey(prompt);
      return key !== null && (systems.get(key) ?? 0) > 1 ? systemMessages(prompt) : 0;
    }
    const ids = wholeBlocks(prompt);
    const group = ids.length === 0 ? undefined : blocks.get(blockKey(prompt, ids));
    return group === undefined || group.jobs < 2 ? 0 : commonLength(group.ids, ids);
  };
}

/** The last block may be partial: only whole ones are shared. */
function wholeBlocks(prompt: TracePrompt): readonly BlockId[] {
  if (prompt.kind !== "length" || prompt.hash_ids === null || prompt.block_tokens === null) return [];
  return prompt.hash_ids.slice(0, Math.floor(prompt.tokens / prompt.block_tokens));
}

function blockKey(prompt: TracePrompt, ids: readonly BlockId[]): string {
  const scope = prompt.kind === "length" ? prompt.hash_scope : null;
  return JSON.stringify([scope, ids[0]]);
}

function commonLength(a: readonly BlockId[], b: readonly BlockId[]): number {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return same;
}

type Messages = Extract<TracePrompt, { kind: "messages" }>;

function systemMessages({ messages }: Messages): number {
  const end = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  return end === -1 ? messages.length : end;
}

function systemKey(prompt: Messages): string | null {
  const n = systemMessages(prompt);
  return n === 0 ? null : JSON.stringify([prompt.messages.slice(0, n), prompt.tools]);
}
