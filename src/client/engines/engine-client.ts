/** An engine in this process as a {@link Client}: the same contract, the same instants, without a connection. */
import type { Clock } from "../../core/clock.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import type { Observation } from "../../record/observation.ts";
import type { Client, InFlight, ModelRequest, PreparedRequest, StreamListener } from "../client.ts";
import { TimeoutQueue } from "../timeout-queue.ts";
import type { Engine, EngineWork, Refusal } from "./engine.ts";
import { EngineExchange } from "./engine-exchange.ts";
import { engineRequest, isRefusal } from "./engine-request.ts";

const DEFAULT_TIMEOUT_MS = 600_000;

export interface EngineClientOptions {
  readonly clock: Clock;
  /** Time that a request may take; `null` = 600 s. */
  readonly timeoutMs: Ms | null;
  /** Fields of every request, overriding its own. */
  readonly extraBody?: JsonObject | null;
}

interface Prepared extends PreparedRequest {
  readonly work: EngineWork | Refusal;
  readonly stream: boolean;
  readonly keepText: boolean;
  readonly keepChunks: boolean;
}

class EngineClient implements Client {
  readonly name: string;
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #timeoutMs: Ms;
  readonly #timeouts: TimeoutQueue;
  readonly #extraBody: JsonObject | null;
  readonly #open = new Set<EngineExchange>();
  #closing: Promise<void> | null = null;

  constructor(engine: Engine, options: EngineClientOptions) {
    this.name = engine.name;
    this.#engine = engine;
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#extraBody = options.extraBody ?? null;
    this.#timeouts = new TimeoutQueue(options.clock, this.#timeoutMs);
  }

  get openStreams(): number {
    return this.#open.size;
  }

  prepare(request: ModelRequest): PreparedRequest {
    const asked = engineRequest(
      this.#extraBody === null ? request : { ...request, params: { ...request.params, ...this.#extraBody } },
    );
    const work = isRefusal(asked) ? asked : this.#engine.prepare(asked);
    const prepared: Prepared = {
      request_id: request.request_id,
      body_bytes: isRefusal(work) ? 0 : work.bytes,
      work,
      stream: !isRefusal(asked) && asked.stream,
      keepText: request.keep_text,
      keepChunks: request.keep_chunks,
    };
    return prepared;
  }

  send(
    prepared: PreparedRequest,
    done: (observation: Observation) => void,
    listener?: StreamListener,
  ): InFlight {
    const { work, stream, keepText, keepChunks } = prepared as Prepared;
    const exchange = new EngineExchange({
      clock: this.#clock,
      stream,
      keepText,
      keepChunks,
      timeoutMs: this.#timeoutMs,
      listener,
      done: (seen) => {
        this.#open.delete(exchange);
        this.#timeouts.delete(exchange);
        done(seen);
      },
    });
    this.#open.add(exchange);
    const now = this.#clock.now();
    if (this.#closing !== null) {
      exchange.cancel("aborted", "the client is closed");
    } else if (isRefusal(work)) {
      exchange.sent(now);
      this.#clock.at(now, () => exchange.fail({ kind: "refused", message: work.refusal }, now));
    } else {
      this.#timeouts.add(exchange, now);
      exchange.giveUp = this.#engine.submit(work, exchange);
    }
    return exchange;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const exchange of this.#open) exchange.cancel("aborted", "the client was closed");
    this.#timeouts.close();
    await this.#engine.close();
  }
}

export type { EngineClient };

/** A client in front of `engine`, which it owns: closing the one closes the other. */
export function createEngineClient(engine: Engine, options: EngineClientOptions): EngineClient {
  return new EngineClient(engine, options);
}
