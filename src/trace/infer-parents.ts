/**
 * Which calls of an agent waited for which, where a log tells only times and texts (OpenTelemetry, Langfuse, Inspect, LLM
 * logs): a call whose input holds an earlier call's output waited for it; a call that holds none comes, by time,
 * after the calls that had ended before it began.
 */
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import { messageText, toolCallIds } from "./openai-messages.ts";

export interface Call {
  readonly start_ms: Ms | null;
  /** `null` = not told: then it is taken to have ended before any later call. */
  readonly end_ms: Ms | null;
  /** OpenAI messages. */
  readonly input: readonly JsonObject[];
  readonly output: readonly JsonObject[];
}

export interface InferredParents {
  /** Positions of parents, each smaller than the call's own. */
  readonly parents: readonly (readonly number[])[];
  /** How many calls found their parents by text; the other calls with parents found them by time. */
  readonly by_text: number;
}

/** Clocks of a log round: a call that begins this much before another's end may still have waited for it. */
const ROUNDING_MS = 1;
/** An output shorter than this is not looked for inside other messages: "ok" is everywhere. */
const TELLING_CHARS = 24;
/** Calls of a job beyond this are compared by whole messages only, not searched through. */
const SEARCHED_CALLS = 500;

/** Infers the parents of one job's calls, which must be sorted by start. */
export function inferParents(calls: readonly Call[]): InferredParents {
  const parents: number[][] = [];
  const outputs = calls.map((call) => outputKeys(call.output));
  const latest = new Map<string, number[]>();
  let by_text = 0;
  calls.forEach((call, at) => {
    const told = new Set<number>();
    for (const key of inputKeys(call.input)) {
      const found = (latest.get(key) ?? []).findLast((earlier) => endedBefore(calls, earlier, call));
      if (found !== undefined) told.add(found);
    }
    if (at < SEARCHED_CALLS) addQuoted(calls, outputs, call, at, told);
    if (told.size > 0) by_text++;
    parents.push(told.size > 0 ? withoutAncestors([...told], parents) : endedLast(calls, at));
    for (const key of (outputs[at] as OutputKeys).keys) {
      const known = latest.get(key);
      if (known === undefined) latest.set(key, [at]);
      else known.push(at);
    }
  });
  return { parents, by_text };
}

interface OutputKeys {
  readonly keys: readonly string[];
  readonly text: string;
}

function outputKeys(output: readonly JsonObject[]): OutputKeys {
  const text = output
    .map((message) => messageText(message).trim())
    .filter((part) => part !== "")
    .join("\n");
  const ids = output.flatMap(toolCallIds);
  return { keys: [...(text === "" ? [] : [`text:${text}`]), ...ids.map((id) => `call:${id}`)], text };
}

function inputKeys(input: readonly JsonObject[]): string[] {
  return input.flatMap((message) => {
    if (message["role"] !== "assistant") return [];
    const ids = toolCallIds(message).map((id) => `call:${id}`);
    const text = messageText(message).trim();
    // A short text beside tool calls ("Let me look.") tells less than the calls' ids.
    return text === "" || (ids.length > 0 && text.length < TELLING_CHARS) ? ids : [...ids, `text:${text}`];
  });
}

/** Adds earlier calls whose output stands inside a message of another role (a sub-agent's report, a quote). */
function addQuoted(
  calls: readonly Call[],
  outputs: readonly OutputKeys[],
  call: Call,
  at: number,
  told: Set<number>,
): void {
  const texts = call.input.filter((message) => message["role"] !== "assistant").map(messageText);
  for (let earlier = 0; earlier < at; earlier++) {
    const { text } = outputs[earlier] as OutputKeys;
    if (text.length < TELLING_CHARS || told.has(earlier) || !endedBefore(calls, earlier, call)) continue;
    if (texts.some((held) => held.includes(text))) told.add(earlier);
  }
}

function endedBefore(calls: readonly Call[], earlier: number, call: Call): boolean {
  const { start_ms, end_ms } = calls[earlier] as Call;
  if (call.start_ms === null) return true;
  const end = end_ms ?? start_ms;
  return end === null || end <= call.start_ms + ROUNDING_MS;
}

/** By time: of the calls that had ended, those that no other of them came after. */
function endedLast(calls: readonly Call[], at: number): number[] {
  const call = calls[at] as Call;
  const ended: number[] = [];
  let lastStart = -Infinity;
  for (let earlier = 0; earlier < at; earlier++) {
    if (!endedBefore(calls, earlier, call)) continue;
    ended.push(earlier);
    lastStart = Math.max(lastStart, calls[earlier]?.start_ms ?? earlier);
  }
  const last = ended.at(-1);
  if (last === undefined) return [];
  const open = ended.filter((earlier) => {
    const end = (calls[earlier] as Call).end_ms;
    return end !== null && end > lastStart;
  });
  return open.length > 0 ? open : [last];
}

/** Drops parents that another parent waits for anyway. */
function withoutAncestors(own: readonly number[], parents: readonly (readonly number[])[]): number[] {
  const sorted = [...own].sort((a, b) => a - b);
  const lowest = sorted[0] as number;
  const implied = new Set<number>();
  const seen = new Set<number>();
  const open = [...sorted];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const parent of parents[next] ?? []) {
      implied.add(parent);
      if (parent < lowest || seen.has(parent)) continue;
      seen.add(parent);
      open.push(parent);
    }
  }
  return sorted.filter((parent) => !implied.has(parent));
}
