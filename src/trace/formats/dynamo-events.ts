/**
 * `dynamo.agent.trace.v1`: `request_end` events are turns, tool events the time between them. A trajectory's requests
 * follow each other; a sub-agent's trajectory starts after the parent's latest request that had ended, and the parent's
 * next request after its end joins it. A session is a job.
 */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { BadRow } from "../row-account.ts";
import {
  blockIdsField,
  integerField,
  objectField,
  optionalInteger,
  optionalNumber,
  optionalObject,
  optionalString,
  stringField,
} from "../row-fields.ts";
import type { ToolCall, TracePrompt, TraceRequest } from "../trace-request.ts";

interface Call {
  readonly request: TraceRequest;
  readonly trajectory: string;
  readonly start_ms: Ms | null;
  readonly end_ms: Ms;
  after: string[];
}

interface Tool extends ToolCall {
  readonly trajectory: string;
  readonly start_ms: Ms;
  readonly end_ms: Ms;
}

export class DynamoEvents {
  readonly #calls = new Map<string, Call>();
  readonly #tools: Tool[] = [];
  readonly #parentOf = new Map<string, string>();
  #withoutStart = 0;

  /** Takes one event; the word for its kind where it is no turn. */
  add(event: JsonObject, _line: number): string | undefined {
    const type = stringField(event, "event_type");
    if (type === "request_end") {
      this.#addCall(event);
      return undefined;
    }
    if ((type === "tool_end" || type === "tool_error") && event["tool"] != null) this.#addTool(event);
    return `event ${type}`;
  }

  requests(): TraceRequest[] {
    const trajectories = new Map<string, Call[]>();
    for (const call of this.#calls.values()) {
      const own = trajectories.get(call.trajectory);
      if (own === undefined) trajectories.set(call.trajectory, [call]);
      else own.push(call);
    }
    for (const own of trajectories.values()) {
      own.sort((a, b) => (a.start_ms ?? a.end_ms) - (b.start_ms ?? b.end_ms) || a.end_ms - b.end_ms);
      own.forEach((call, at) => {
        const before = own[at - 1];
        if (before !== undefined) call.after.push(before.request.request_id);
      });
    }
    for (const [child, parent] of this.#parentOf) {
      linkChild(trajectories.get(child) ?? [], trajectories.get(parent) ?? []);
    }
    return [...this.#calls.values()].map((call) => ({
      ...call.request,
      after: call.after,
      tool: this.#toolsBefore(call),
    }));
  }

  notes(): string[] {
    return [
      ...(this.#calls.size > 0
        ? [
            "order inferred: a trajectory's requests follow each other; sub-agents fork from and join their parent by time",
          ]
        : []),
      ...(this.#withoutStart > 0
        ? [
            `${this.#withoutStart} requests tell when they ended, not when they were sent: they have no arrival`,
          ]
        : []),
    ];
  }

  #addCall(event: JsonObject): void {
    const metrics = objectField(event, "request");
    const request_id = stringField(metrics, "request_id");
    if (this.#calls.has(request_id)) throw new BadRow(`request_id "${request_id}" occurred before`);
    const context = optionalObject(event, "agent_context");
    const end_ms = integerField(event, "event_time_unix_ms");
    const total = optionalNumber(metrics, "total_time_ms");
    const sent = optionalNumber(metrics, "request_received_ms") ?? (total === null ? null : end_ms - total);
    const ended = sent !== null && total !== null ? sent + total : end_ms;
    const ttft = optionalNumber(metrics, "ttft_ms");
    const job_id = (context === null ? null : optionalString(context, "session_id")) ?? request_id;
    const trajectory = (context === null ? null : optionalString(context, "trajectory_id")) ?? job_id;
    const parent = context === null ? null : optionalString(context, "parent_trajectory_id");
    const model = optionalString(metrics, "model");
    const prompt = promptOf(metrics);
    const request = newRequest({
      request_id,
      job_id,
      arrival_ms: sent,
      prompt,
      agent: trajectory === job_id ? null : trajectory,
      recorded: newRecorded({
        sent_ms: sent,
        first_token_ms: sent === null || ttft === null ? null : sent + ttft,
        end_ms: ended,
        output_tokens: integerField(metrics, "output_tokens"),
        cached_tokens: optionalInteger(metrics, "cached_tokens"),
      }),
      metadata: model === null ? null : { model },
    });
    if (sent === null) this.#withoutStart++;
    if (parent !== null && parent !== trajectory) this.#parentOf.set(trajectory, parent);
    this.#calls.set(request_id, { request, trajectory, start_ms: sent, end_ms: ended, after: [] });
  }

  #addTool(event: JsonObject): void {
    const tool = objectField(event, "tool");
    const context = optionalObject(event, "agent_context");
    const end = optionalNumber(tool, "ended_at_unix_ms") ?? integerField(event, "event_time_unix_ms");
    const ms = optionalNumber(tool, "duration_ms");
    const start = optionalNumber(tool, "started_at_unix_ms") ?? end - (ms ?? 0);
    this.#tools.push({
      name: optionalString(tool, "tool_class") ?? optionalString(tool, "tool_name") ?? "tool",
      ms: ms ?? end - start,
      trajectory: (context === null ? null : optionalString(context, "trajectory_id")) ?? "",
      start_ms: start,
      end_ms: end,
    });
  }

  /** Tools of the trajectory that ran between the end of the last parent and this request. */
  #toolsBefore(call: Call): readonly ToolCall[] | null {
    const { start_ms } = call;
    if (start_ms === null || call.after.length === 0) return null;
    let from = -Infinity;
    for (const id of call.after) from = Math.max(from, this.#calls.get(id)?.end_ms ?? -Infinity);
    const ran = this.#tools.filter(
      (tool) => tool.trajectory === call.trajectory && tool.start_ms >= from && tool.end_ms <= start_ms,
    );
    return ran.length === 0 ? null : ran.map(({ name, ms }) => ({ name, ms }));
  }
}

function linkChild(child: readonly Call[], parent: readonly Call[]): void {
  const first = child[0];
  if (first === undefined || first.start_ms === null) return;
  const start = first.start_ms;
  let spawn: Call | null = null;
  for (const call of parent) {
    if (call.request.job_id !== first.request.job_id) return;
    if (call.end_ms <= start && (spawn === null || call.end_ms > spawn.end_ms)) spawn = call;
  }
  if (spawn !== null) first.after.push(spawn.request.request_id);
  let last = first;
  for (const call of child) if (call.end_ms > last.end_ms) last = call;
  const join = parent.find((call) => call.start_ms !== null && call.start_ms >= last.end_ms);
  if (join !== undefined) join.after.push(last.request.request_id);
}

function promptOf(metrics: JsonObject): TracePrompt {
  const replay = optionalObject(metrics, "replay");
  if (replay === null) return lengthPrompt(integerField(metrics, "input_tokens", 1));
  const tokens = integerField(replay, "input_length", 1);
  if (replay["input_sequence_hashes"] == null) return lengthPrompt(tokens);
  const block_tokens = integerField(replay, "trace_block_size", 1);
  const hash_ids = blockIdsField(replay, "input_sequence_hashes");
  if (
    hash_ids.length !== Math.floor(tokens / block_tokens) &&
    hash_ids.length !== Math.ceil(tokens / block_tokens)
  )
    throw new BadRow(`${hash_ids.length} hashes of ${block_tokens} tokens do not cover ${tokens} tokens`);
  return { kind: "length", tokens, hash_ids, block_tokens, hash_scope: null };
}
