/** A synthetic agent trace: jobs made by a model, started by an arrival process, all of it from one seed. */
import type { JsonObject } from "../core/json.ts";
import { createRng, type Rng } from "../core/random.ts";
import type { Ms } from "../core/units.ts";
import { VERSION } from "../core/version.ts";
import type { Provenance, Trace } from "../trace/trace.ts";
import type { TraceRequest } from "../trace/trace-request.ts";
import { resolveAgentModel, type AgentModel } from "./agent-model.ts";
import { ArrivalHeap } from "./arrival-heap.ts";
import { drawStarts } from "./arrivals.ts";
import { Bulk, checkTime, checkTokens } from "./bulk.ts";
import { BlockNames, Conversation } from "./conversation.ts";
import type { GenerateOptions } from "./generate-options.ts";
import { buildJob, type DraftTurn, type SystemPrompts } from "./job.ts";
import { drawServegen, readServegen, type ServegenArrival } from "./servegen.ts";

export interface GeneratedTrace {
  /** The first line of the file: what was asked for, and that all of it is made up. */
  readonly header: JsonObject;
  /** In order of arrival. One job at a time is held, however many there are. */
  requests(): Iterable<TraceRequest>;
  /** Things to tell the user, one line each. */
  readonly notes: readonly string[];
}

/** Makes the trace that `options` (from `parseGenerateOptions`) describe. Reads the ServeGen files, where they are named. */
export async function generateTrace(options: GenerateOptions): Promise<GeneratedTrace> {
  const rng = createRng(options.seed);
  const model = resolveAgentModel(options);
  const notes: string[] = [];
  let starts: readonly Start[];
  if (options.servegen === null) {
    new Bulk().expect(options.numJobs);
    starts = drawStarts(options, rng.fork("starts")).map((start_ms) => ({ start_ms, servegen: null }));
  } else {
    const client = await readServegen(options.servegen, options.servegenDataset);
    const drawn = drawServegen(client, options, rng.fork("servegen"));
    notes.push(...drawn.notes);
    // An agent of its own keeps its lengths; else each arrival is one request with the client's lengths.
    const own = options.preset !== null;
    starts = drawn.arrivals.map((arrival) => ({
      start_ms: arrival.start_ms,
      servegen: own ? null : arrival,
    }));
  }
  return {
    header: makeHeader(options),
    notes,
    requests: () => makeRequests(options, model, starts, rng),
  };
}

/** Nothing of it was recorded; text and sampling are not even made up yet. */
const PROVENANCE: Provenance = {
  arrivals: "made up",
  order: "made up",
  think_time: "made up",
  prompt_text: "missing",
  prompt_length: "made up",
  prefix_sharing: "made up",
  output_length: "made up",
  sampling: "missing",
};

interface Start {
  readonly start_ms: Ms;
  readonly servegen: ServegenArrival | null;
}

function* makeRequests(
  options: GenerateOptions,
  model: AgentModel,
  starts: readonly Start[],
  rng: Rng,
): Generator<TraceRequest> {
  checkTokens("a system prompt", model.systemTokens);
  const names = new BlockNames(options.blockTokens);
  const main = new Conversation(names).append(model.systemTokens);
  // Sub-agents have instructions of their own.
  const sub = model.subAgent === model.agent ? main : new Conversation(names).append(model.systemTokens);
  const systems: SystemPrompts = { main, sub, names, bulk: new Bulk() };
  const jobs = rng.fork("jobs");
  const waiting = new ArrivalHeap();
  for (const [at, start] of starts.entries()) {
    yield* takeAll(waiting, start.start_ms);
    const id = `job-${String(at).padStart(String(starts.length - 1).length, "0")}`;
    const turns =
      start.servegen === null
        ? buildJob(model, systems, jobs.fork(String(at)))
        : [servegenTurn(start.servegen, systems)];
    for (const request of toRequests(id, start.start_ms, turns, options)) waiting.push(request);
  }
  yield* takeAll(waiting, Infinity);
}

function* takeAll(waiting: ArrivalHeap, before: Ms): Generator<TraceRequest> {
  for (let next = waiting.takeBefore(before); next !== null; next = waiting.takeBefore(before)) yield next;
}

function servegenTurn(arrival: ServegenArrival, { names, bulk }: SystemPrompts): DraftTurn {
  bulk.add(arrival.input_tokens, names.blockTokens);
  checkTokens("an output", arrival.output_tokens);
  return {
    index: 0,
    after: [],
    turn: 0,
    agent: "servegen",
    prompt_tokens: arrival.input_tokens,
    blocks: [],
    output_tokens: arrival.output_tokens,
    think_ms: null,
    tool: null,
  };
}

/** Arrivals of later turns are where they would lie if outputs came at the target speed. */
function toRequests(
  job: string,
  start: Ms,
  turns: readonly DraftTurn[],
  options: GenerateOptions,
): TraceRequest[] {
  const ends: Ms[] = [];
  return turns.map((turn): TraceRequest => {
    const ready = turn.after.reduce((latest, parent) => Math.max(latest, ends[parent] as Ms), start);
    const arrival = round(ready + (turn.think_ms ?? 0));
    checkTime("a turn", arrival);
    ends.push(arrival + (turn.output_tokens * 1000) / options.targetTokPerS);
    const named = turn.blocks.length > 0;
    return {
      request_id: `${job}/${turn.index}`,
      job_id: job,
      turn: turn.turn,
      arrival_ms: arrival,
      after: turn.after.map((parent) => `${job}/${parent}`),
      think_ms: turn.think_ms,
      tool: turn.tool,
      prompt: {
        kind: "length",
        tokens: turn.prompt_tokens,
        hash_ids: named ? turn.blocks : null,
        block_tokens: named ? options.blockTokens : null,
        hash_scope: null,
      },
      max_tokens: turn.output_tokens,
      expected_output_tokens: turn.output_tokens,
      temperature: null,
      params: null,
      budget_ms: turn.index === 0 ? options.budgetMs : null,
      agent: turn.agent,
      recorded: null,
      metadata: null,
    };
  });
}

function round(ms: Ms): Ms {
  return Math.round(ms * 1000) / 1000;
}

function makeHeader(options: GenerateOptions): JsonObject {
  const asked = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null));
  return {
    reprise_trace: 1,
    source: `reprise generate ${VERSION}`,
    licence: "CC0-1.0",
    units: { arrival_ms: "ms", think_ms: "ms", prompt_tokens: "tokens" },
    provenance: { ...PROVENANCE },
    parameters: asked,
    seed: options.seed,
  };
}

/** The trace as readers give it, all requests at once: for the writer of our own format, or to inspect it unwritten. */
export function toTrace(generated: GeneratedTrace): Trace {
  const requests = [...generated.requests()];
  return {
    format: "reprise",
    path: "generated",
    header: generated.header,
    requests,
    rows: { read: requests.length, used: requests.length, skipped: {}, refused: 0 },
    faults: [],
    provenance: PROVENANCE,
    notes: [],
  };
}
