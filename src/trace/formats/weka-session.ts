/**
 * One Weka session as a DAG. A sub-agent's marker stands where it *completed*: it was spawned `duration_ms` earlier, by the
 * request of its parent that had just ended, and the next request of the parent waits for it (unless it was launched
 * asynchronously). The file's own think_time of that request includes the sub-agents' time, and is counted from the last
 * request that tells its end; so think times are computed here from the recorded instants instead.
 */
import type { Ms } from "../../core/units.ts";
import { handleItem } from "../document-rows.ts";
import { gapAfter } from "../instant.ts";
import { newRecorded, newRequest } from "../new-request.ts";
import { numberedByTime } from "../turn-numbers.ts";
import { scalarText } from "../openai-messages.ts";
import { BadRow, type RowAccount } from "../row-account.ts";
import {
  integerField,
  numberField,
  optionalBlockIds,
  optionalInteger,
  optionalNumber,
  optionalString,
} from "../row-fields.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";
import { unusedName } from "../unused-name.ts";
import type { JsonObject } from "../../core/json.ts";

export interface WekaSession {
  readonly job_id: string;
  readonly hash_scope: string | null;
  readonly block_tokens: number;
  readonly file: string;
}

export interface LaidOut {
  readonly requests: readonly TraceRequest[];
  readonly sub_agents: number;
  /** Requests whose think time is unknown since a parent does not tell its end. */
  readonly unknown_ends: number;
  readonly models: readonly string[];
}

/** Instants in the file are rounded to seconds: an answer may seem to end this much after what followed it. */
const ROUNDING_MS = 1000;

interface Node {
  readonly id: string;
  readonly start: Ms;
  /** As recorded; `null` without api_time. */
  readonly end: Ms | null;
}

/** A sub-agent's last requests, for the one that waits for them. */
interface Joined {
  /** When the marker says that the sub-agent was done. */
  readonly completed: Ms;
  readonly spawner: Node | null;
  /** Whether the spawner is of the waiting agent itself. */
  readonly own: boolean;
  readonly last: readonly Node[];
  readonly tool: ToolCall;
}

/** Requests by id, and the sub-agents' own; every entry of the file (nested ones included) is one row of the account. */
export function layOutSession(
  session: WekaSession,
  entries: readonly unknown[],
  account: RowAccount,
): LaidOut {
  const layout = new Layout(session, account);
  layout.agent(entries, { where: "requests", base: 0, prefix: "", agent: null, spawner: null });
  return layout.result();
}

interface AgentScope {
  /** Place in the document, for messages. */
  readonly where: string;
  /** The agent's own 0 on the session's clock. */
  readonly base: Ms;
  readonly prefix: string;
  readonly agent: string | null;
  /** The parent's request that spawned this agent. */
  readonly spawner: Node | null;
}

class Layout {
  readonly #session: WekaSession;
  readonly #account: RowAccount;
  readonly #requests: TraceRequest[] = [];
  readonly #models = new Set<string>();
  readonly #agents = new Set<string>();
  #subAgents = 0;
  #unknownEnds = 0;

  constructor(session: WekaSession, account: RowAccount) {
    this.#session = session;
    this.#account = account;
  }

  result(): LaidOut {
    return {
      requests: numberedByTime(this.#requests),
      sub_agents: this.#subAgents,
      unknown_ends: this.#unknownEnds,
      models: [...this.#models],
    };
  }

  /** Lays out one agent's entries; the nodes returned are those that end it. */
  agent(entries: readonly unknown[], scope: AgentScope): Node[] {
    const own: { node: Node; row: JsonObject }[] = [];
    const markers: { row: JsonObject; where: string }[] = [];
    entries.forEach((entry, at) => {
      const where = `${scope.where}[${at}]`;
      handleItem(
        this.#account,
        where,
        entry,
        (row) => {
          if (row["type"] === "subagent" || Array.isArray(row["requests"])) {
            checkMarker(row);
            markers.push({ row, where });
            return "sub-agent marker";
          }
          own.push({ node: this.#node(row, scope, own.length), row });
          return undefined;
        },
        this.#session.file,
      );
    });
    own.sort((a, b) => a.node.start - b.node.start);
    const joins = markers.flatMap(({ row, where }) => this.#subAgent(row, where, scope, own));
    return this.#chain(own, joins, scope);
  }

  #node(row: JsonObject, scope: AgentScope, at: number): Node {
    const start = scope.base + numberField(row, "t") * 1000;
    checkRequest(row, this.#session.block_tokens);
    const api = optionalNumber(row, "api_time");
    return {
      id: `${this.#session.job_id}/${scope.prefix}${at}`,
      start,
      end: api === null ? null : start + api * 1000,
    };
  }

  #subAgent(
    row: JsonObject,
    where: string,
    scope: AgentScope,
    parents: readonly { readonly node: Node }[],
  ): Joined[] {
    this.#subAgents++;
    const marked = scope.base + (row["t"] as number) * 1000;
    const nested = Array.isArray(row["requests"]) ? (row["requests"] as unknown[]) : [];
    const launched = row["status"] === "async_launched";
    const duration = optionalNumber(row, "duration_ms") ?? (launched ? 0 : nestedSpan(nested));
    const base = Math.max(scope.base, marked - duration);
    const found = spawnerAt(parents, base);
    const spawner = found ?? scope.spawner;
    const name = scalarText(row["agent_id"]) || `agent_${this.#subAgents}`;
    const type = optionalString(row, "subagent_type") ?? "sub-agent";
    const prefix = `${unusedName(`${scope.prefix}${name}`, this.#agents)}/`;
    const last = this.agent(nested, {
      where: `${where}.requests`,
      base,
      prefix,
      agent: `${type} ${name}`,
      spawner,
    });
    if (launched) return [];
    return [{ completed: marked, spawner, own: found !== null, last, tool: { name: type, ms: duration } }];
  }

  #chain(
    own: readonly { readonly node: Node; readonly row: JsonObject }[],
    joins: readonly Joined[],
    scope: AgentScope,
  ): Node[] {
    const waiting = [...joins];
    const before = new Set<Node>();
    let previous = scope.spawner;
    let inside = false;
    for (const { node, row } of own) {
      const joined = takeJoined(waiting, node.start, before);
      before.add(node);
      const reports = joined.flatMap(({ last }) => last);
      const nodes = [...(previous === null ? [] : [previous]), ...reports];
      this.#push(node, row, scope, {
        after: nodes,
        think_ms: this.#think(node, previous, joined),
        tool: joined.filter(({ last }) => last.length === 0).map(({ tool }) => tool),
      });
      previous = node;
      inside = true;
    }
    return [...(inside && previous !== null ? [previous] : []), ...waiting.flatMap(({ last }) => last)];
  }

  /** From the last of the parent's end and its sub-agents' ends. */
  #think(node: Node, previous: Node | null, joined: readonly Joined[]): Ms | null {
    if (previous === null) return null;
    const ends = joined.flatMap(({ last, completed }) => last.map(({ end }) => end ?? completed));
    // A sub-agent begins after its spawner has ended, so that one's missing end does not matter.
    const spawned = joined.some(({ spawner, last }) => spawner === previous && last.length > 0);
    const think = gapAfter(node.start, spawned && previous.end === null ? ends : [previous.end, ...ends]);
    if (think === null) this.#unknownEnds++;
    return think;
  }

  #push(
    node: Node,
    row: JsonObject,
    scope: AgentScope,
    links: {
      readonly after: readonly Node[];
      readonly think_ms: Ms | null;
      readonly tool: readonly ToolCall[];
    },
  ): void {
    // Rounding can put a request before the one it waited for.
    const arrival = Math.max(node.start, ...links.after.map(({ start }) => start));
    const ttft = optionalNumber(row, "ttft");
    const model = optionalString(row, "model");
    if (model !== null) this.#models.add(model);
    const hash_ids = optionalBlockIds(row, "hash_ids");
    this.#requests.push(
      newRequest({
        request_id: node.id,
        job_id: this.#session.job_id,
        arrival_ms: arrival,
        after: links.after.map(({ id }) => id),
        think_ms: links.think_ms,
        tool: links.tool.length > 0 ? links.tool : null,
        prompt: {
          kind: "length",
          tokens: row["in"] as number,
          hash_ids,
          block_tokens: hash_ids === null ? null : this.#session.block_tokens,
          hash_scope: hash_ids === null ? null : this.#session.hash_scope,
        },
        agent: scope.agent,
        recorded: newRecorded({
          sent_ms: node.start,
          first_token_ms: ttft === null ? null : node.start + ttft * 1000,
          end_ms: node.end,
          prompt_tokens: row["in"] as number,
          output_tokens: optionalInteger(row, "out"),
        }),
        metadata: {
          ...(model === null ? {} : { model }),
          ...(typeof row["stop"] === "string" ? { stop: row["stop"] } : {}),
        },
      }),
    );
  }
}

function checkMarker(row: JsonObject): void {
  numberField(row, "t");
  optionalNumber(row, "duration_ms");
  optionalString(row, "subagent_type");
  if (row["requests"] !== undefined && !Array.isArray(row["requests"]))
    throw new BadRow('"requests" must be an array');
}

function checkRequest(row: JsonObject, block: number): void {
  const tokens = integerField(row, "in", 1);
  optionalInteger(row, "out");
  optionalNumber(row, "ttft");
  optionalString(row, "model");
  const ids = optionalBlockIds(row, "hash_ids");
  const whole = Math.floor(tokens / block);
  if (ids !== null && ids.length !== whole)
    throw new BadRow(`${ids.length} hash_ids for ${tokens} tokens in blocks of ${block}: ${whole} expected`);
}

/** The last parent's request that had ended when the sub-agent began; else the last that had begun. */
function spawnerAt(parents: readonly { readonly node: Node }[], spawn: Ms): Node | null {
  const begun = parents.filter(({ node }) => node.start <= spawn).map(({ node }) => node);
  return begun.findLast(({ end, start }) => (end ?? start) <= spawn + ROUNDING_MS) ?? begun.at(-1) ?? null;
}

/**
 * Takes out of `waiting` those that had completed when the request at `start` began. Their spawner is of an outer agent,
 * or one of the requests `before` it.
 */
function takeJoined(waiting: Joined[], start: Ms, before: ReadonlySet<Node>): Joined[] {
  const done = waiting.filter(
    ({ completed, spawner, own }) =>
      completed <= start + ROUNDING_MS && (spawner === null || !own || before.has(spawner)),
  );
  for (const joined of done) waiting.splice(waiting.indexOf(joined), 1);
  return done;
}

/** What a sub-agent took by its own requests, where its marker tells no duration. */
function nestedSpan(entries: readonly unknown[]): Ms {
  let span = 0;
  for (const entry of entries) {
    const { t, api_time } = (entry ?? {}) as { t?: unknown; api_time?: unknown };
    if (typeof t !== "number") continue;
    span = Math.max(span, (t + (typeof api_time === "number" ? api_time : 0)) * 1000);
  }
  return span;
}
