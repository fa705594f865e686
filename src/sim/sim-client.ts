/**
 * The engine as a {@link Client}, in process: no socket, no parsing, exact times. What a server would refuse fails here
 * with the same status. One chunk for each token; the end-of-sequence token is counted but carries no payload.
 */
import type { Client, InFlight, ModelRequest, PreparedRequest, StreamListener } from "../client/client.ts";
import { type Expiring, TimeoutQueue } from "../client/timeout-queue.ts";
import type { Clock } from "../core/clock.ts";
import { httpFailureCode, type Failure } from "../core/failure.ts";
import type { Ms } from "../core/units.ts";
import { emptyObservation, type Observation } from "../record/observation.ts";
import { isRefusal, parseApiRequest, type ApiRequest, type Refusal } from "./api-request.ts";
import type { SequenceEnd, SimEngine, SimHandle } from "./engine.ts";
import { FaultInjection } from "./fault-injection.ts";
import { answerText } from "./output-words.ts";
import { TOKEN_END } from "./tokenizer.ts";

export interface SimClientOptions {
  /** Names a request may use for the model, beside the engine's own; `"any"` accepts every name. */
  readonly model_names?: readonly string[] | "any";
  /** Limit of one request from send to end; none where it is left out. */
  readonly timeout_ms?: Ms;
}

interface Prepared extends PreparedRequest {
  readonly asked: ApiRequest | Refusal;
  readonly keep_text: boolean;
  readonly keep_chunks: boolean;
}

function bodyOf(request: ModelRequest): Record<string, unknown> {
  const { prompt } = request;
  const body: Record<string, unknown> = {
    model: request.model,
    max_tokens: request.max_tokens,
    temperature: request.temperature,
    stream: request.stream,
  };
  if (prompt.kind === "messages") {
    body.messages = prompt.messages;
    if (prompt.tools !== null) body.tools = prompt.tools;
  } else {
    body.prompt = prompt.kind === "text" ? prompt.text : prompt.ids;
  }
  if (request.force_length && request.max_tokens !== null) {
    body.ignore_eos = true;
    body.min_tokens = request.max_tokens;
  }
  return { ...body, ...request.params };
}

/** One request under way. */
class Exchange implements InFlight, Expiring {
  readonly #clock: Clock;
  readonly #prepared: Prepared;
  readonly #asked: ApiRequest;
  readonly #done: (observation: Observation) => void;
  readonly #listener: StreamListener | undefined;
  readonly #seen: Observation;
  readonly #sentMs: Ms;
  readonly #chunk_ms: Ms[] = [];
  #text = "";
  #output = 0;
  #truncate_after: number | null = null;
  #handle: SimHandle | null = null;
  #over = false;

  constructor(
    clock: Clock,
    prepared: Prepared,
    asked: ApiRequest,
    done: (observation: Observation) => void,
    listener: StreamListener | undefined,
  ) {
    this.#clock = clock;
    this.#prepared = prepared;
    this.#asked = asked;
    this.#done = done;
    this.#listener = listener;
    this.#sentMs = clock.now();
    this.#seen = emptyObservation(this.#sentMs);
    this.#seen.prompt_tokens = asked.request.prompt.tokens;
    this.#seen.prompt_tokens_source = "server";
  }

  /** Hands the request to the engine; an injected fault cuts the answer after `truncate_after` tokens. */
  start(engine: SimEngine, truncate_after: number | null): void {
    if (this.#over) return;
    this.#truncate_after = truncate_after;
    this.#handle = engine.submit(this.#asked.request, (id, at, end) => this.#token(id, at, end));
  }

  expire(): void {
    const limit = this.#clock.now() - this.#sentMs;
    this.cancel("timeout", `no complete response within ${Math.round(limit) / 1000} s`);
  }

  cancel(code: "aborted" | "timeout", message: string): void {
    if (this.#over) return;
    const at = this.#clock.now();
    this.#cut();
    this.#clock.at(at, () => this.#finish(at, { code, message, http_status: null }));
  }

  /** The server went away. */
  reset(message: string): void {
    if (this.#over) return;
    const at = this.#clock.now();
    this.#cut();
    this.#clock.at(at, () => this.#finish(at, { code: "reset", message, http_status: null }));
  }

  #cut(): void {
    this.#over = true;
    this.#handle?.abort();
  }

  #token(id: number, at: Ms, end: SequenceEnd | null): void {
    if (this.#over) return;
    this.#output++;
    if (id !== TOKEN_END) {
      if (this.#prepared.keep_text) this.#text += answerText(id);
      if (this.#asked.stream) this.#chunk(at);
    }
    if (this.#output === this.#truncate_after) {
      this.#cut();
      this.#finish(at, { code: "truncated", message: "injected fault", http_status: 200 });
      return;
    }
    if (end === null) return;
    this.#over = true;
    const seen = this.#seen;
    seen.cached_tokens = end.cached_tokens;
    seen.finish_reason = end.reason;
    seen.http_status = 200;
    seen.engine = {
      queue_ms: end.queue_ms,
      prefill_ms: end.prefill_ms,
      decode_ms: end.decode_ms,
      cached_tokens: end.cached_tokens,
      source: "sim",
    };
    this.#finish(at, null);
  }

  #chunk(at: Ms): void {
    const seen = this.#seen;
    seen.chunks++;
    seen.last_token_ms = at;
    if (this.#prepared.keep_chunks) this.#chunk_ms.push(at);
    if (seen.first_token_ms === null) {
      seen.first_token_ms = at;
      seen.first_output_ms = at;
      this.#listener?.onFirstToken?.(at);
    }
    this.#listener?.onChunk?.(at);
  }

  #finish(at: Ms, failure: Failure | null): void {
    const seen = this.#seen;
    seen.end_ms = at;
    seen.failure = failure;
    seen.chunk_ms = this.#chunk_ms;
    // One token a chunk.
    if (this.#asked.stream && this.#prepared.keep_chunks) seen.chunk_tokens = this.#chunk_ms.map(() => 1);
    if (this.#output > 0 || failure === null) {
      seen.output_tokens = this.#output;
      seen.output_tokens_source = "server";
    }
    if (this.#prepared.keep_text) seen.text = this.#text;
    this.#done(seen);
  }
}

class SimClient implements Client {
  readonly name: string;
  readonly #engine: SimEngine;
  readonly #clock: Clock;
  readonly #names: readonly string[] | null;
  readonly #open = new Set<Exchange>();
  readonly #timeouts: TimeoutQueue;
  readonly #faults: FaultInjection;
  readonly #ready: Ms;
  #crashed = false;

  constructor(engine: SimEngine, clock: Clock, options: SimClientOptions) {
    this.#engine = engine;
    this.#clock = clock;
    this.#faults = new FaultInjection(engine);
    this.#timeouts = new TimeoutQueue(clock, options.timeout_ms ?? Infinity);
    this.#ready = clock.now() + engine.sim.config.startup_ms;
    const names = options.model_names ?? [];
    this.#names = names === "any" ? null : [...engine.sim.model_names, ...names];
    this.name = `simulator ${engine.sim.served_name}`;
  }

  prepare(request: ModelRequest): PreparedRequest {
    const { sim } = this.#engine;
    const endpoint = request.prompt.kind === "messages" ? "chat" : "completions";
    const body = bodyOf(request);
    const names = this.#names ?? [typeof body.model === "string" ? body.model : sim.served_name];
    const prepared: Prepared = {
      request_id: request.request_id,
      body_bytes: 0,
      asked: parseApiRequest(endpoint, body, request.request_id, this.#engine, names),
      keep_text: request.keep_text,
      keep_chunks: request.keep_chunks,
    };
    return prepared;
  }

  send(
    prepared: PreparedRequest,
    done: (observation: Observation) => void,
    listener?: StreamListener,
  ): InFlight {
    if (this.#clock.now() < this.#ready) return this.#answer(503, "starting up", done);
    const fault = this.#faults.next();
    if (fault.crash) this.#crash();
    if (this.#crashed)
      return this.#fail({ code: "connect", message: "the simulator has crashed", http_status: null }, done);
    if (fault.status !== null) return this.#answer(fault.status, "injected fault", done);
    const { asked } = prepared as Prepared;
    if (isRefusal(asked)) return this.#answer(asked.status, asked.message, done);
    const exchange = new Exchange(
      this.#clock,
      prepared as Prepared,
      asked,
      (observation) => {
        this.#open.delete(exchange);
        this.#timeouts.delete(exchange);
        done(observation);
      },
      listener,
    );
    this.#open.add(exchange);
    this.#timeouts.add(exchange, this.#clock.now());
    const start = (): void => exchange.start(this.#engine, fault.truncate_after);
    if (this.#faults.slow_start_ms === 0) start();
    else this.#clock.at(this.#clock.now() + this.#faults.slow_start_ms, start);
    return exchange;
  }

  close(): Promise<void> {
    for (const exchange of this.#open) exchange.cancel("aborted", "the client was closed");
    this.#timeouts.close();
    return Promise.resolve();
  }

  #answer(status: number, message: string, done: (observation: Observation) => void): InFlight {
    return this.#fail({ code: httpFailureCode(status), message, http_status: status }, done);
  }

  #fail(failure: Failure, done: (observation: Observation) => void): InFlight {
    const now = this.#clock.now();
    const seen = emptyObservation(now);
    seen.http_status = failure.http_status;
    seen.failure = failure;
    if (failure.code === "connect") seen.sent_ms = null;
    this.#clock.at(now, () => done(seen));
    return { cancel: () => {} };
  }

  #crash(): void {
    this.#crashed = true;
    for (const exchange of this.#open) exchange.reset("the simulator has crashed");
  }
}

/** A client of an engine in this process, on the same clock. Its requests cost no network time. */
export function createSimClient(engine: SimEngine, clock: Clock, options: SimClientOptions = {}): Client {
  return new SimClient(engine, clock, options);
}
