/** Numbers the turns of a job whose parents are explicit. */
import type { TraceRequest } from "./trace-request.ts";

/**
 * The requests of one job by arrival (one without an arrival stands right behind its parents), parents before children
 * where two arrive at once, with `turn` counting from 0. The parents must make no cycle.
 */
export function numberedByTime(requests: readonly TraceRequest[]): TraceRequest[] {
  const places = placesOf(requests);
  const order = requests.map((request, at) => ({ request, at, ...(places[at] as Place) }));
  order.sort((a, b) => (a.time === b.time ? a.depth - b.depth || a.at - b.at : a.time - b.time));
  return order.map(({ request }, turn) => ({ ...request, turn }));
}

interface Place {
  /** The latest arrival of the request and all before it. */
  readonly time: number;
  /** How many requests stand before it on its longest way from a root. */
  readonly depth: number;
}

function placesOf(requests: readonly TraceRequest[]): readonly (Place | null)[] {
  const positions = new Map(requests.map(({ request_id }, at) => [request_id, at]));
  const places: (Place | null)[] = requests.map(() => null);
  const open = requests.map((_, at) => at);
  for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
    const request = requests[at] as TraceRequest;
    const parents = (request.after ?? []).flatMap((id) => positions.get(id) ?? []);
    const unknown = places[at] === null ? parents.filter((parent) => places[parent] === null) : [];
    if (unknown.length > 0) {
      open.push(...unknown);
      continue;
    }
    open.pop();
    places[at] ??= {
      time: Math.max(
        request.arrival_ms ?? -Infinity,
        ...parents.map((parent) => places[parent]?.time ?? -Infinity),
      ),
      depth: Math.max(0, ...parents.map((parent) => (places[parent]?.depth ?? 0) + 1)),
    };
  }
  return places;
}
