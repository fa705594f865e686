/**
 * AIPerf's `dag_jsonl`: a session a line, its turns follow each other after `delay` ms. `forks` start sessions that go on
 * the turn's history; `spawns` start fresh ones, which a later turn joins (`join_at`, else the next). Sessions that
 * others start belong to the job of the one that starts them.
 */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { newRequest } from "../new-request.ts";
import { BadRow, type RowAccount } from "../row-account.ts";
import {
  idField,
  objectsField,
  optionalInteger,
  optionalNumber,
  optionalObject,
  optionalObjects,
  optionalString,
} from "../row-fields.ts";
import type { TraceRequest } from "../trace-request.ts";

interface Spawn {
  readonly child: string;
  /** Index of the parent's turn that waits for it; `null` = the next one. */
  readonly join_at: number | null;
}

interface Turn {
  readonly messages: readonly JsonObject[];
  readonly tools: readonly JsonObject[] | null;
  readonly request: Partial<TraceRequest>;
  readonly forks: readonly string[];
  readonly spawns: readonly Spawn[];
}

interface Session {
  readonly id: string;
  readonly line: number;
  readonly turns: readonly Turn[];
  /** Sessions that start with this one; nobody waits for them. */
  readonly background: readonly string[];
}

export class AiperfDag {
  readonly #sessions = new Map<string, Session>();
  #forked = 0;

  add(row: JsonObject, line: number): void {
    const id = idField(row, "session_id");
    if (this.#sessions.has(id)) throw new BadRow(`session "${id}" occurred before`);
    const turns = objectsField(row, "turns").map(parseTurn);
    turns.forEach(({ spawns }, at) => {
      for (const { child, join_at } of spawns) {
        if (join_at !== null && (join_at <= at || join_at >= turns.length))
          throw new BadRow(`spawn "${child}": join_at ${join_at} is no later turn of its session`);
      }
    });
    this.#sessions.set(id, { id, line, turns, background: idList(row, "pre_session_spawns") });
  }

  notes(): string[] {
    return this.#forked > 0
      ? [
          `${this.#forked} forked sessions go on a history whose answers are not in the file; --history live puts them in`,
        ]
      : [];
  }

  /** All requests; a session that names an unknown one, or starts itself, is a bad row. */
  requests(account: RowAccount): TraceRequest[] {
    this.#dropBad(account);
    const started = new Set<string>();
    for (const session of this.#sessions.values())
      for (const child of childrenOf(session)) started.add(child);
    const requests: TraceRequest[] = [];
    for (const session of this.#sessions.values()) {
      if (!started.has(session.id)) this.#walk(session, session.id, session.id, [], [], requests);
    }
    return requests;
  }

  #dropBad(account: RowAccount): void {
    for (;;) {
      const bad = this.#findBad();
      if (bad === null) return;
      account.revoke(bad.session.line, bad.reason);
      this.#sessions.delete(bad.session.id);
    }
  }

  #findBad(): { session: Session; reason: string } | null {
    const state = new Map<string, "open" | "done">();
    const visit = (session: Session): { session: Session; reason: string } | null => {
      state.set(session.id, "open");
      for (const id of childrenOf(session)) {
        const child = this.#sessions.get(id);
        if (child === undefined)
          return { session, reason: `it starts session "${id}", which is not in the file` };
        const known = state.get(id);
        if (known === "open")
          return { session, reason: `a cycle: session "${id}" is started from within itself` };
        const bad = known === "done" ? null : visit(child);
        if (bad !== null) return bad;
      }
      state.set(session.id, "done");
      return null;
    };
    for (const session of this.#sessions.values()) {
      const bad = state.has(session.id) ? null : visit(session);
      if (bad !== null) return bad;
    }
    return null;
  }

  /** Adds a session's turns and those it starts; returns the ids of the turns that end it. */
  #walk(
    session: Session,
    instance: string,
    job_id: string,
    parents: readonly string[],
    history: readonly JsonObject[],
    out: TraceRequest[],
  ): string[] {
    for (const child of session.background) this.#start(child, instance, job_id, parents, [], out);
    let messages = history;
    let after = [...parents];
    const joins = new Map<number, string[]>();
    let forkEnds: string[] = [];
    session.turns.forEach((turn, at) => {
      const request_id = `${instance}#${at}`;
      messages = [...messages, ...turn.messages];
      out.push(
        newRequest({
          ...turn.request,
          request_id,
          job_id,
          after: [...new Set([...after, ...(joins.get(at) ?? [])])],
          agent: instance === job_id ? null : instance,
          prompt: { kind: "messages", messages, tools: turn.tools },
          metadata: {
            ...turn.request.metadata,
            ...(at > 0 || history.length > 0 ? { delta_messages: turn.messages.length } : {}),
          },
        }),
      );
      after = [request_id];
      forkEnds = turn.forks.flatMap((child) => {
        this.#forked++;
        return this.#start(child, instance, job_id, [request_id], messages, out);
      });
      for (const { child, join_at } of turn.spawns) {
        const ends = this.#start(child, instance, job_id, [request_id], [], out);
        const join = join_at ?? at + 1;
        joins.set(join, [...(joins.get(join) ?? []), ...ends]);
      }
    });
    // What nobody of this session joined ends with it.
    const late = [...joins].filter(([at]) => at >= session.turns.length).flatMap(([, ends]) => ends);
    return [...after, ...forkEnds, ...late];
  }

  #start(
    child: string,
    from: string,
    job_id: string,
    parents: readonly string[],
    history: readonly JsonObject[],
    out: TraceRequest[],
  ): string[] {
    const session = this.#sessions.get(child);
    if (session === undefined) return [];
    return this.#walk(session, `${from}/${child}`, job_id, parents, history, out);
  }
}

function childrenOf({ turns, background }: Session): string[] {
  return [
    ...background,
    ...turns.flatMap(({ forks, spawns }) => [...forks, ...spawns.map(({ child }) => child)]),
  ];
}

function parseTurn(turn: JsonObject): Turn {
  const messages = objectsField(turn, "messages");
  const max_tokens =
    optionalInteger(turn, "max_tokens", 1) ?? optionalInteger(turn, "max_completion_tokens", 1);
  const extra = optionalObject(turn, "extra");
  const model = optionalString(turn, "model");
  return {
    messages,
    tools: optionalObjects(turn, "tools"),
    request: {
      arrival_ms: optionalNumber(turn, "timestamp"),
      think_ms: optionalNumber(turn, "delay") ?? 0,
      max_tokens,
      params: extra,
      metadata: model === null ? null : { model },
    },
    forks: idList(turn, "forks"),
    spawns: spawnList(turn["spawns"]),
  };
}

function idList(row: JsonObject, key: string): readonly string[] {
  const value = row[key] ?? [];
  if (Array.isArray(value) && value.every((id): id is string => typeof id === "string" && id !== ""))
    return value;
  throw new BadRow(`"${key}" must be an array of session ids`);
}

function spawnList(value: JsonValue | undefined): readonly Spawn[] {
  if (value == null) return [];
  if (!Array.isArray(value)) throw new BadRow('"spawns" must be an array');
  return (value as readonly unknown[]).flatMap((item): Spawn[] => {
    if (typeof item === "string") return [{ child: item, join_at: null }];
    if (typeof item !== "object" || item === null)
      throw new BadRow('"spawns" must hold session ids or objects');
    const spawn = item as JsonObject;
    const join_at = optionalInteger(spawn, "join_at");
    return idList(spawn, "children").map((child) => ({ child, join_at }));
  });
}
