/**
 * Bailian (Qwen) JSONL: `chat_id`, `parent_chat_id` (−1 = a root), `timestamp` in seconds, `input_length`,
 * `output_length`, `type`, `turn`, `hash_ids`? of 16 tokens. A conversation is the chain of its chats.
 */
import { msFromSeconds, type Ms } from "../../core/units.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { newRecorded, newRequest } from "../new-request.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { idField, integerField, numberField, optionalInteger, optionalString } from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";
import { blockPrompt } from "./mooncake.ts";

const BLOCK = 16;

export const bailian: TraceFormat = {
  name: "bailian",
  title: "Bailian (Qwen) JSONL: chat_id, parent_chat_id, timestamp (s), input_length, output_length",
  marks: ["chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"],
  detect: (sample: Sample) => (mostRowsHave(sample, "chat_id", "parent_chat_id", "timestamp") ? 1 : 0),
  read: readBailian,
};

interface Chat {
  readonly line: number;
  readonly parent: string | null;
  readonly request: TraceRequest;
}

async function readBailian(path: string, options: ReadOptions): Promise<Trace> {
  const account = new RowAccount(path, options);
  const chats = new Map<string, Chat>();
  await readJsonlRows(path, account, (row, line) => {
    const id = idField(row, "chat_id");
    if (chats.has(id)) throw new BadRow(`chat_id ${id} occurred before`);
    const parent = row["parent_chat_id"] == null ? "-1" : idField(row, "parent_chat_id");
    if (parent === id) throw new BadRow(`chat ${id} is its own parent`);
    const type = optionalString(row, "type");
    const turn = optionalInteger(row, "turn");
    const request = newRequest({
      request_id: id,
      job_id: id,
      arrival_ms: msFromSeconds(numberField(row, "timestamp")),
      prompt: blockPrompt(row, options.blockTokens ?? BLOCK, true),
      recorded: newRecorded({ output_tokens: integerField(row, "output_length", 1) }),
      metadata: { ...(type === null ? {} : { type }), ...(turn === null ? {} : { turn }) },
    });
    chats.set(id, { line, parent: parent === "-1" ? null : parent, request });
  });
  refuseBeforeParent(account, chats);
  return chain(account, chats);
}

/** What follows a refused chat starts a job, as after one that is not in the file. */
function refuseBeforeParent(account: RowAccount, chats: Map<string, Chat>): void {
  const early: [id: string, line: number, reason: string][] = [];
  for (const [id, { line, parent, request }] of chats) {
    const before = parent === null ? undefined : chats.get(parent)?.request;
    if (before === undefined || (request.arrival_ms as Ms) >= (before.arrival_ms as Ms)) continue;
    const reason = `chat ${id} is at ${request.arrival_ms} ms, before its parent ${parent} (${before.arrival_ms} ms)`;
    early.push([id, line, reason]);
  }
  for (const [id, line, reason] of early) {
    account.revoke(line, reason);
    chats.delete(id);
  }
}

/** Follows each chat to its root, whose id names the job. A parent outside the file makes a chat a root, and is noted. */
function chain(account: RowAccount, chats: ReadonlyMap<string, Chat>): Trace {
  const roots = new Map<string, string>();
  let orphans = 0;
  const requests: TraceRequest[] = [];
  for (const [id, { parent, request }] of chats) {
    const after = parent !== null && chats.has(parent) ? [parent] : [];
    if (parent !== null && after.length === 0) orphans++;
    requests.push({ ...request, job_id: rootOf(id, chats, roots), after });
  }
  return newTrace("bailian", account, {
    requests,
    provenance: {
      arrivals: "recorded",
      order: "recorded",
      prompt_length: "recorded",
      output_length: "recorded",
      prefix_sharing: toldBy(requests).prefix_sharing,
    },
    notes: orphans > 0 ? [`${orphans} chats follow a chat that is not in the file; they start a job`] : [],
  });
}

function rootOf(id: string, chats: ReadonlyMap<string, Chat>, roots: Map<string, string>): string {
  const path: string[] = [];
  let at = id;
  // A cycle of parents ends at its first repeated chat; resolving the jobs names it as a fault.
  const seen = new Set<string>();
  while (!roots.has(at) && !seen.has(at)) {
    seen.add(at);
    path.push(at);
    const parent = chats.get(at)?.parent ?? null;
    if (parent === null || !chats.has(parent)) break;
    at = parent;
  }
  const root = roots.get(at) ?? at;
  for (const chat of path) roots.set(chat, root);
  return root;
}
