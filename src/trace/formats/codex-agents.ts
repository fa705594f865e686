/**
 * Sub-agents of Codex are threads with logs of their own: which request started or woke each (the call that names it), and which first
 * had its result (the wait, the notice or the message that names it). Ids, paths and tasks name a thread.
 */
import type { JsonObject } from "../../core/json.ts";
import { gapAfter } from "../instant.ts";
import { isObject, scalarText, textOf } from "../openai-messages.ts";
import type { TraceRequest } from "../trace-request.ts";
import { numberedByTime } from "../turn-numbers.ts";

/** A thread, and what its requests said to and heard of others. */
export class CodexThread {
  id = "";
  /** The thread that started it; empty for a user's own. */
  parent = "";
  /** What it is called by; the first is shown. */
  names: readonly string[] = [];
  readonly turns: {
    readonly id: string;
    readonly calls: readonly string[];
    readonly heard: readonly string[];
  }[] = [];
  readonly #named = new Map<string, string[]>();
  #calls: string[] = [];
  #heard: string[] = [];
  #next: string[] = [];

  /** Its `session_meta`. A fork that a user made is nobody's sub-agent. */
  begin(meta: JsonObject): void {
    this.id = scalarText(meta["id"]);
    const source = isObject(meta["source"]) ? (meta["source"]["subagent"] ?? null) : null;
    if (source === null && meta["thread_source"] !== "subagent") return;
    const spawn = isObject(source) && isObject(source["thread_spawn"]) ? source["thread_spawn"] : {};
    this.parent = scalarText(spawn["parent_thread_id"] ?? meta["parent_thread_id"] ?? meta["forked_from_id"]);
    const path = scalarText(meta["agent_path"] ?? spawn["agent_path"]);
    const nickname = scalarText(meta["agent_nickname"] ?? spawn["agent_nickname"]);
    this.names = [path, nickname, this.id, lastPart(path)].filter((name) => name !== "");
  }

  /** A tool call of the answer in progress. */
  call(id: string, payload: JsonObject): void {
    this.#calls.push(id);
    const input = jsonObject(payload["arguments"]);
    const target = scalarText(input["target"] ?? input["id"] ?? input["agent_id"]);
    // Other tools' ids name no thread; a wait starts nothing.
    if (target !== "" && !scalarText(payload["name"]).startsWith("wait")) this.#name(id, [target]);
  }

  /** What a call's result or an event says of the agent that the call started. */
  started(payload: JsonObject): void {
    const { type } = payload;
    const item = isObject(payload["item"]) ? payload["item"] : payload;
    if (type === "collab_agent_spawn_end")
      this.#name(scalarText(payload["call_id"]), [scalarText(payload["new_thread_id"])]);
    else if (type === "sub_agent_activity" || item["type"] === "SubAgentActivity")
      this.#name(scalarText(item["event_id"] ?? item["id"]), [
        scalarText(item["agent_thread_id"]),
        scalarText(item["agent_path"]),
      ]);
    else if (scalarText(type).endsWith("_output"))
      this.#name(scalarText(payload["call_id"]), [scalarText(jsonObject(payload["output"])["agent_id"])]);
  }

  /** An input: of the request in the making, or (`isNext`) of the one after it. */
  hear(payload: JsonObject, isNext: boolean): void {
    const names = [scalarText(payload["author"]), ...namesIn(payload)].filter((name) => name !== "");
    (isNext ? this.#next : this.#heard).push(...names);
  }

  close(id: string): void {
    this.turns.push({ id, calls: this.#calls, heard: this.#heard });
    this.#heard = [];
    this.#calls = [];
  }

  /** What an answer without usage called and heard goes to the next request. */
  proceed(): void {
    this.#heard = [...this.#heard, ...this.#next];
    this.#next = [];
  }

  /** Requests whose calls named `thread`, in order. */
  callers(thread: CodexThread): string[] {
    return this.turns
      .filter(({ calls }) => calls.some((call) => isNamed(thread, this.#named.get(call) ?? [])))
      .map(({ id }) => id);
  }

  /** Requests that heard of `thread`, in order. */
  hearers(thread: CodexThread): string[] {
    return this.turns.filter(({ heard }) => isNamed(thread, heard)).map(({ id }) => id);
  }

  #name(call: string, names: readonly string[]): void {
    const known = this.#named.get(call) ?? [];
    this.#named.set(call, [...known, ...names.filter((name) => name !== "")]);
  }
}

function isNamed(thread: CodexThread, names: readonly string[]): boolean {
  return names.some((name) => thread.names.includes(name));
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whom the result of a wait or a notice is about, if its work has ended. */
function namesIn(payload: JsonObject): string[] {
  if (payload["output"] !== undefined) {
    const { status } = jsonObject(payload["output"]);
    return isObject(status) ? Object.keys(status).filter((name) => isEnded(status[name])) : [];
  }
  const notice = /<subagent_notification>([^]*?)<\/subagent_notification>/.exec(textOf(payload["content"]));
  if (notice === null) return [];
  const told = jsonObject(notice[1]);
  return isEnded(told["status"]) ? [scalarText(told["agent_id"] ?? told["agent_path"])] : [];
}

function isEnded(status: unknown): boolean {
  return isObject(status) ? !("running" in status) : status !== "running" && status !== "pending_init";
}

function jsonObject(value: unknown): JsonObject {
  if (isObject(value)) return value;
  if (typeof value !== "string" || !value.trimStart().startsWith("{")) return {};
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

export interface JoinedThreads {
  readonly requests: readonly TraceRequest[];
  readonly notes: readonly string[];
}

/** Puts each sub-agent's requests into its parent's job, between the request that started it and the first that had its result. */
export function joinThreads(
  requests: readonly TraceRequest[],
  threads: readonly CodexThread[],
): JoinedThreads {
  const links = new Links(requests);
  const byId = new Map<string, CodexThread>();
  for (const thread of threads)
    if (!byId.has(thread.id) && thread.turns.length > 0 && links.knows(thread)) byId.set(thread.id, thread);
  let [joined, byTime, lost] = [0, 0, 0];
  for (const thread of threads) {
    if (thread.parent === "" || thread.turns.length === 0) continue;
    const root = rootOf(thread, byId);
    const parent = byId.get(thread.parent);
    if (root === null || root === thread || parent === undefined) lost++;
    else {
      joined++;
      if (!links.join(thread, parent, root)) byTime++;
    }
  }
  const notes = [
    ...(joined > 0 ? [`${joined} sub-agents' sessions are part of the jobs that started them`] : []),
    ...(byTime > 0 ? [`${byTime} of them are named by no call: they fork by time`] : []),
    ...(lost > 0 ? [`${lost} sub-agents' sessions, whose parents are not here, are jobs of their own`] : []),
  ];
  return { requests: joined > 0 ? links.requests() : requests, notes };
}

/** The thread that a user started; `null` where threads tell a circle. */
function rootOf(thread: CodexThread, byId: ReadonlyMap<string, CodexThread>): CodexThread | null {
  const seen = new Set([thread]);
  let root = byId.get(thread.id) ?? thread;
  if (root !== thread) return null;
  for (let next = byId.get(root.parent); next !== undefined; next = byId.get(root.parent)) {
    if (seen.has(next)) return null;
    seen.add(next);
    root = next;
  }
  return root;
}

class Links {
  readonly #requests = new Map<string, TraceRequest>();
  readonly #linked = new Set<string>();
  readonly #jobs = new Set<string>();

  constructor(requests: readonly TraceRequest[]) {
    for (const request of requests) this.#requests.set(request.request_id, request);
  }

  knows({ turns }: CodexThread): boolean {
    return turns.every(({ id }) => this.#requests.has(id));
  }

  /** Whether a call tells where it began. */
  join(thread: CodexThread, parent: CodexThread, root: CodexThread): boolean {
    const job_id = this.#all(root)[0]?.job_id ?? root.id;
    this.#jobs.add(job_id);
    for (const { id } of thread.turns) this.#change(id, { job_id, agent: thread.names[0] ?? null });
    const own = this.#all(thread);
    const first = own[0] as TraceRequest;
    const callers = parent.callers(thread).map((id) => this.#at(id));
    const told = callers[0] !== undefined && isBefore(callers[0], first) ? callers[0] : undefined;
    const started = told ?? this.#all(parent).findLast((one) => isBefore(one, first));
    const starts = new Map([[0, started]]);
    // Each later call wakes it again.
    for (const caller of callers.slice(1)) {
      const woken = own.findIndex((one, at) => at > 0 && isBefore(caller, one));
      if (woken > 0) starts.set(woken, caller);
    }
    for (const [at, caller] of starts)
      if (caller !== undefined) this.#link((own[at] as TraceRequest).request_id, caller.request_id);
    const hearers = parent.hearers(thread).map((id) => this.#at(id));
    const begins = [...starts.keys()].sort((a, b) => a - b);
    begins.forEach((_, at) => {
      const next = own[begins[at + 1] ?? own.length];
      const last = own[(begins[at + 1] ?? own.length) - 1] as TraceRequest;
      // What is heard after it was woken again is the later result.
      const hearer = hearers.find(
        (one) => isBefore(last, one, last.recorded?.end_ms) && (next === undefined || isBefore(one, next)),
      );
      if (hearer !== undefined) this.#link(hearer.request_id, last.request_id);
    });
    return callers.length > 0;
  }

  /** All requests; those of jobs with sub-agents numbered anew. */
  requests(): TraceRequest[] {
    for (const id of this.#linked) {
      const { recorded, after } = this.#at(id);
      const ends = (after ?? []).map((parent) => this.#at(parent).recorded?.end_ms ?? null);
      this.#change(id, { think_ms: gapAfter(recorded?.sent_ms ?? null, ends) });
    }
    const all = [...this.#requests.values()];
    return [
      ...all.filter(({ job_id }) => !this.#jobs.has(job_id)),
      ...[...this.#jobs].flatMap((job) => numberedByTime(all.filter(({ job_id }) => job_id === job))),
    ];
  }

  #all({ turns }: CodexThread): TraceRequest[] {
    return turns.map(({ id }) => this.#at(id));
  }

  #at(id: string): TraceRequest {
    return this.#requests.get(id) as TraceRequest;
  }

  #change(id: string, change: Partial<TraceRequest>): void {
    this.#requests.set(id, { ...this.#at(id), ...change });
  }

  /** Clocks and damaged logs may tell a circle, or a parent that came later: such a link is left out. */
  #link(id: string, parent: string): void {
    const request = this.#at(id);
    if (request.after?.includes(parent) === true || !isBefore(this.#at(parent), request)) return;
    const seen = new Set<string>();
    const open = [parent];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === id) return;
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(this.#at(next).after ?? []));
    }
    this.#linked.add(id);
    this.#change(id, { after: [...(request.after ?? []), parent] });
  }
}

/** Whether `one` (or what happened at `instant`) came no later than `other` was asked; where no times are told, it did. */
function isBefore(one: TraceRequest, other: TraceRequest, instant: number | null = one.arrival_ms): boolean {
  return instant === null || other.arrival_ms === null || instant <= other.arrival_ms;
}
