/**
 * Parents of one job's turns, and an order with parents first. Explicit `after` wins; without it, parents are all rows
 * with the next lower `turn`; without turns (or all 0) the row that arrived before.
 */
import type { TraceRequest } from "./trace-request.ts";

/** What of a request its place in its job is told by. */
export type Member = Pick<TraceRequest, "request_id" | "turn" | "arrival_ms" | "after">;

export interface JobFault {
  /** Position in the list that was given. */
  readonly position: number;
  readonly reason: string;
}

export interface Links {
  /** Parents of each row, as positions in the given list. Rows of equal turn share one array. */
  readonly parents: readonly (readonly number[])[];
  /** Positions, parents first, by time where told; `null` with faults. */
  readonly order: readonly number[] | null;
  readonly faults: readonly JobFault[];
}

const ROOT: readonly number[] = [];

export function linkParents(members: readonly Member[]): Links {
  const faults: JobFault[] = [];
  const parents = members.some((request) => request.after !== null)
    ? explicitParents(members, faults)
    : implicitParents(members);
  checkTimes(members, parents, faults);
  if (faults.length > 0) return { parents, order: null, faults };
  const order = topologicalOrder(members, parents, faults);
  return { parents, order: order === null ? null : byTime(members, parents, order), faults };
}

function explicitParents(members: readonly Member[], faults: JobFault[]): (readonly number[])[] {
  const positions = new Map(members.map((request, position) => [request.request_id, position]));
  const implicit = implicitParents(members);
  return members.map((request, position) => {
    if (request.after === null) return implicit[position] as readonly number[];
    const own = new Set<number>();
    for (const id of request.after) {
      const parent = positions.get(id);
      if (parent === undefined)
        faults.push({ position, reason: `"after" names "${id}", which is no request of its job` });
      else own.add(parent);
    }
    return own.size === 0 ? ROOT : [...own];
  });
}

/** Parents by `turn`, or by arrival; rows with their own `after` count as parents by turn, never in the chain. */
function implicitParents(members: readonly Member[]): (readonly number[])[] {
  const first = members[0];
  if (members.length === 1 && first !== undefined) return [ROOT];
  if (members.every((request) => request.after !== null || (request.turn ?? 0) === 0)) {
    return chainByArrival(members);
  }
  const levels = new Map<number, number[]>();
  members.forEach((request, position) => {
    const turn = request.turn ?? 0;
    const level = levels.get(turn);
    if (level === undefined) levels.set(turn, [position]);
    else level.push(position);
  });
  const below = new Map<number, readonly number[]>();
  let lower: readonly number[] = ROOT;
  for (const turn of [...levels.keys()].sort((a, b) => a - b)) {
    below.set(turn, lower);
    lower = levels.get(turn) as number[];
  }
  return members.map((request) => below.get(request.turn ?? 0) as readonly number[]);
}

function chainByArrival(members: readonly Member[]): (readonly number[])[] {
  // A row without an arrival stays behind the row before it in the file.
  let last = -Infinity;
  const keys = members.map(({ arrival_ms }) => (last = arrival_ms ?? last));
  const chain = members
    .map((_, position) => position)
    .filter((position) => members[position]?.after === null)
    .sort((a, b) => {
      const [ka, kb] = [keys[a] as number, keys[b] as number];
      return ka === kb ? a - b : ka - kb;
    });
  const parents: (readonly number[])[] = members.map(() => ROOT);
  for (let i = 1; i < chain.length; i++) parents[chain[i] as number] = [chain[i - 1] as number];
  return parents;
}

/** A turn must not come before its parent: neither by its number nor by its arrival. */
function checkTimes(
  members: readonly Member[],
  parents: readonly (readonly number[])[],
  faults: JobFault[],
): void {
  // The latest parent by turn and by arrival, once per shared list.
  const latest = new Map<readonly number[], { turn: number; arrival: number }>();
  members.forEach((request, position) => {
    const own = parents[position] as readonly number[];
    if (own.length === 0) return;
    let found = latest.get(own);
    if (found === undefined) {
      found = {
        turn: latestBy(own, members, (parent) => parent.turn),
        arrival: latestBy(own, members, (parent) => parent.arrival_ms),
      };
      latest.set(own, found);
    }
    const byTurn = members[found.turn];
    const byArrival = members[found.arrival];
    if (byTurn?.turn != null && request.turn !== null && request.turn < byTurn.turn) {
      faults.push({
        position,
        reason: `turn ${request.turn} comes before its parent "${byTurn.request_id}" (turn ${byTurn.turn})`,
      });
    } else if (
      byArrival?.arrival_ms != null &&
      request.arrival_ms !== null &&
      request.arrival_ms < byArrival.arrival_ms
    ) {
      faults.push({
        position,
        reason: `arrives at ${request.arrival_ms} ms, before its parent "${byArrival.request_id}" (${byArrival.arrival_ms} ms)`,
      });
    }
  });
}

function latestBy(
  positions: readonly number[],
  members: readonly Member[],
  key: (request: Member) => number | null,
): number {
  let best = -1;
  let value = -Infinity;
  for (const position of positions) {
    const own = key(members[position] as Member);
    if (own !== null && own > value) {
      best = position;
      value = own;
    }
  }
  return best;
}

/** Depth first, without recursion (a job may be a chain of a million turns). `null` and a fault on a cycle. */
function topologicalOrder(
  members: readonly Member[],
  parents: readonly (readonly number[])[],
  faults: JobFault[],
): number[] | null {
  const state = new Uint8Array(members.length); // 0 new, 1 on the path, 2 placed
  const placedLists = new Set<readonly number[]>([ROOT]);
  const order: number[] = [];
  const roots = members.map((_, position) => position);
  roots.sort((a, b) => (members[a]?.turn ?? 0) - (members[b]?.turn ?? 0) || a - b);
  for (const root of roots) {
    if (state[root] !== 0) continue;
    const path: { at: number; next: number }[] = [{ at: root, next: 0 }];
    state[root] = 1;
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const own = parents[top.at] as readonly number[];
      const parent = placedLists.has(own) ? undefined : own[top.next++];
      if (parent === undefined) {
        if (own.length > 1) placedLists.add(own);
        state[top.at] = 2;
        order.push(top.at);
        path.pop();
      } else if (state[parent] === 0) {
        state[parent] = 1;
        path.push({ at: parent, next: 0 });
      } else if (state[parent] === 1) {
        const from = path.findIndex(({ at }) => at === parent);
        const ids = [...path.slice(from).map(({ at }) => at), parent].map((at) => members[at]?.request_id);
        const shown = ids.length > 6 ? [...ids.slice(0, 5), "…", ids[ids.length - 1]] : ids;
        faults.push({ position: top.at, reason: `a cycle: ${shown.join(" waits for ")}` });
        return null;
      }
    }
  }
  return order;
}

/** Sorts a valid order by the earliest possible arrival, parents still first (equal times keep the given order). */
function byTime(
  members: readonly Member[],
  parents: readonly (readonly number[])[],
  order: readonly number[],
): readonly number[] {
  const earliest = new Float64Array(members.length);
  const ofList = new Map<readonly number[], number>();
  for (const member of order) {
    const own = parents[member] as readonly number[];
    let from = ofList.get(own);
    if (from === undefined) {
      from = -Infinity;
      for (const parent of own) from = Math.max(from, earliest[parent] as number);
      ofList.set(own, from);
    }
    earliest[member] = Math.max(from, members[member]?.arrival_ms ?? -Infinity);
  }
  return [...order].sort((a, b) => {
    const [ea, eb] = [earliest[a] as number, earliest[b] as number];
    return ea === eb ? 0 : ea - eb;
  });
}
