/**
 * Calls to a model as tracing tools record them (OpenTelemetry, Langfuse, Inspect, LLM logs), turned into requests: jobs,
 * inferred parents, think time and the tools that ran between a call and the calls it waited for.
 */
import type { JsonObject } from "../core/json.ts";
import type { Ms, Tokens } from "../core/units.ts";
import { inferParents } from "./infer-parents.ts";
import { gapAfter } from "./instant.ts";
import { lengthPrompt, newRecorded, newRequest } from "./new-request.ts";
import { answerText, toolCallIds } from "./openai-messages.ts";
import { BadRow } from "./row-account.ts";
import type { TraceRequest } from "./trace-request.ts";

export interface RecordedCall {
  readonly call_id: string;
  readonly job_id: string;
  readonly start_ms: Ms | null;
  readonly first_token_ms: Ms | null;
  readonly end_ms: Ms | null;
  /** OpenAI messages; empty where the source keeps no text. */
  readonly input: readonly JsonObject[];
  readonly output: readonly JsonObject[];
  readonly tools: readonly JsonObject[] | null;
  readonly prompt_tokens: Tokens | null;
  readonly output_tokens: Tokens | null;
  readonly cached_tokens: Tokens | null;
  readonly max_tokens: Tokens | null;
  readonly temperature: number | null;
  readonly params: JsonObject | null;
  readonly agent: string | null;
  readonly metadata: JsonObject | null;
}

/** A tool's run, with its job. */
export interface ToolRun {
  readonly job_id: string;
  readonly name: string;
  readonly start_ms: Ms;
  readonly end_ms: Ms;
}

export interface LinkedRequests {
  readonly requests: readonly TraceRequest[];
  /** Calls whose parents were found by text; the others' come from time order. */
  readonly by_text: number;
  readonly notes: readonly string[];
}

/** Logs round instants: a tool that ends this much after the next call began still ran before it. */
const ROUNDING_MS = 2;

/** A call without text needs at least its length, else nothing can be sent. */
export function checkCall(call: RecordedCall): void {
  if (call.input.length === 0 && call.prompt_tokens === null)
    throw new BadRow("the call tells neither its messages nor its prompt tokens");
  if (call.start_ms !== null && call.end_ms !== null && call.end_ms < call.start_ms)
    throw new BadRow("the call ends before it starts");
}

export function linkCalls(calls: readonly RecordedCall[], tools: readonly ToolRun[]): LinkedRequests {
  const jobs = new Map<string, RecordedCall[]>();
  for (const call of calls) {
    const own = jobs.get(call.job_id);
    if (own === undefined) jobs.set(call.job_id, [call]);
    else own.push(call);
  }
  const toolsOf = new Map<string, ToolRun[]>();
  for (const tool of tools) {
    const own = toolsOf.get(tool.job_id);
    if (own === undefined) toolsOf.set(tool.job_id, [tool]);
    else own.push(tool);
  }
  const requests: TraceRequest[] = [];
  let by_text = 0;
  let continued = 0;
  for (const [job, own] of jobs) {
    const sorted = sortByStart(own);
    continued += continueHistories(sorted);
    const inferred = inferParents(sorted);
    by_text += inferred.by_text;
    const runs = [...(toolsOf.get(job) ?? [])].sort((a, b) => a.start_ms - b.start_ms);
    sorted.forEach((call, at) => {
      const parents = (inferred.parents[at] ?? []).map((parent) => sorted[parent] as RecordedCall);
      requests.push(toRequest(call, at, parents, runs));
    });
  }
  const notes =
    continued > 0
      ? [`${continued} calls tell only what is new in them: their prompts begin with the call before`]
      : [];
  return { requests, by_text, notes };
}

/**
 * A stateful API is told only what is new: a tool's result whose call no message of the prompt makes, but an earlier answer does. In
 * place, such a call gets that call's prompt and answer before its own; returns how many did.
 */
function continueHistories(calls: RecordedCall[]): number {
  const makers = new Map<string, number>();
  let continued = 0;
  calls.forEach((call, at) => {
    const first = call.input.find(({ role }) => role !== "system");
    const made = new Set(call.input.flatMap(toolCallIds));
    const id = first?.["role"] === "tool" ? first["tool_call_id"] : undefined;
    const maker = typeof id === "string" && id !== "" && !made.has(id) ? makers.get(id) : undefined;
    if (maker !== undefined) {
      const before = calls[maker] as RecordedCall;
      const isSaid = call.input.some(({ role }) => role === "system");
      const history = before.input.filter(({ role }) => !isSaid || role !== "system");
      const system = call.input.filter(({ role }) => role === "system");
      const rest = call.input.filter(({ role }) => role !== "system");
      calls[at] = { ...call, input: [...system, ...history, ...before.output, ...rest] };
      continued++;
    }
    for (const made of call.output.flatMap(toolCallIds)) makers.set(made, at);
  });
  return continued;
}

/** By start; calls without one stay behind the call before them. */
function sortByStart(calls: readonly RecordedCall[]): RecordedCall[] {
  let last = -Infinity;
  const keyed = calls.map((call) => ({ call, key: (last = call.start_ms ?? last) }));
  return keyed.sort((a, b) => (a.key === b.key ? 0 : a.key - b.key)).map(({ call }) => call);
}

function toRequest(
  call: RecordedCall,
  turn: number,
  parents: readonly RecordedCall[],
  runs: readonly ToolRun[],
): TraceRequest {
  const ends = parents.map((parent) => parent.end_ms);
  const ran = parents.length === 0 ? [] : toolsBetween(runs, ends, call.start_ms);
  return newRequest({
    request_id: call.call_id,
    job_id: call.job_id,
    turn,
    arrival_ms: call.start_ms,
    after: parents.map((parent) => parent.call_id),
    think_ms: gapAfter(call.start_ms, ends),
    tool: ran.length > 0 ? ran.map(({ name, start_ms, end_ms }) => ({ name, ms: end_ms - start_ms })) : null,
    prompt:
      call.input.length > 0
        ? { kind: "messages", messages: call.input, tools: call.tools }
        : lengthPrompt(call.prompt_tokens ?? 0),
    max_tokens: call.max_tokens,
    temperature: call.temperature,
    params: call.params,
    agent: call.agent,
    recorded: newRecorded({
      sent_ms: call.start_ms,
      first_token_ms: call.first_token_ms,
      end_ms: call.end_ms,
      prompt_tokens: call.prompt_tokens,
      output_tokens: call.output_tokens,
      cached_tokens: call.cached_tokens,
    }),
    response_text: answerText(call.output),
    metadata: call.metadata,
  });
}

function toolsBetween(runs: readonly ToolRun[], ends: readonly (Ms | null)[], start: Ms | null): ToolRun[] {
  if (start === null) return [];
  const known = ends.filter((end) => end !== null);
  if (known.length === 0) return [];
  const from = Math.max(...known) - ROUNDING_MS;
  return runs.filter((run) => run.start_ms >= from && run.end_ms <= start + ROUNDING_MS);
}
