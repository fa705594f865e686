/**
 * One request to an engine in this process: keeps what was observed. A chunk is what the engine gave out at once, one token or
 * more; the end-of-sequence token counts as output and is no chunk.
 */
import type { Clock } from "../../core/clock.ts";
import type { Failure } from "../../core/failure.ts";
import { secrets } from "../../core/secret.ts";
import type { Ms, Tokens } from "../../core/units.ts";
import { emptyObservation, type Observation } from "../../record/observation.ts";
import type { InFlight, StreamListener } from "../client.ts";
import { cleanMessage } from "../server-message.ts";
import type { Expiring } from "../timeout-queue.ts";
import type { EngineEnd, EngineFault, EngineSink } from "./engine.ts";

export interface ExchangeOptions {
  readonly clock: Clock;
  readonly stream: boolean;
  readonly keepText: boolean;
  readonly keepChunks: boolean;
  readonly timeoutMs: Ms;
  readonly listener: StreamListener | undefined;
  readonly done: (observation: Observation) => void;
}

export class EngineExchange implements InFlight, EngineSink, Expiring {
  readonly #options: ExchangeOptions;
  readonly #seen = emptyObservation();
  readonly #chunkMs: Ms[] = [];
  readonly #chunkTokens: Tokens[] = [];
  #last: Ms = -Infinity;
  #output: Tokens = 0;
  #giveUp: (() => void) | null = null;
  #over = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** How to make the engine let go of it. */
  set giveUp(giveUp: () => void) {
    this.#giveUp = giveUp;
  }

  sent(at: Ms): void {
    if (this.#over) return;
    this.#seen.sent_ms = this.#instant(at);
  }

  tokens(count: Tokens, at: Ms): void {
    if (this.#over) return;
    this.#output += count;
    if (!this.#options.stream) return;
    const { listener, keepChunks } = this.#options;
    const seen = this.#seen;
    const instant = this.#instant(at);
    seen.chunks++;
    seen.last_token_ms = instant;
    if (keepChunks) {
      this.#chunkMs.push(instant);
      this.#chunkTokens.push(count);
    }
    if (seen.first_token_ms === null) {
      seen.first_token_ms = instant;
      seen.first_output_ms = instant;
      listener?.onFirstToken?.(instant);
    }
    listener?.onChunk?.(instant);
  }

  end(end: EngineEnd): void {
    if (this.#over) return;
    const seen = this.#seen;
    this.#output = end.output_tokens;
    seen.prompt_tokens = end.prompt_tokens;
    seen.prompt_tokens_source = "server";
    seen.cached_tokens = end.cached_tokens;
    seen.finish_reason = end.finish_reason;
    seen.engine = end.engine;
    seen.notes = end.notes.map(cleanMessage);
    if (this.#options.keepText) seen.text = end.text === null ? null : secrets.redact(end.text);
    this.#finish(this.#instant(end.at), null);
  }

  fail(fault: EngineFault, at: Ms): void {
    if (this.#over) return;
    const message = cleanMessage(fault.message);
    const failure: Failure =
      fault.kind === "refused"
        ? { code: "http_4xx", message, http_status: 400 }
        : fault.kind === "engine"
          ? { code: "server_error", message, http_status: null }
          : { code: fault.kind === "lost" ? "reset" : "connect", message, http_status: null };
    if (fault.kind === "absent") this.#seen.sent_ms = null;
    this.#seen.http_status = failure.http_status;
    this.#finish(this.#instant(at), failure);
  }

  cancel(code: "aborted" | "timeout", message: string): void {
    if (this.#over) return;
    const { clock } = this.#options;
    const at = this.#instant(clock.now());
    this.#over = true;
    this.#giveUp?.();
    clock.at(at, () => this.#report(at, { code, message, http_status: null }));
  }

  expire(): void {
    const limit = this.#options.timeoutMs;
    this.cancel("timeout", `no complete answer within ${limit / 1000} s`);
  }

  /** Instants of another process's clock are known to a fraction of a ms: none may lie in the future or run backwards. */
  #instant(at: Ms): Ms {
    this.#last = Math.max(this.#last, Math.min(at, this.#options.clock.now()));
    return this.#last;
  }

  #finish(at: Ms, failure: Failure | null): void {
    this.#over = true;
    this.#report(at, failure);
  }

  #report(at: Ms, failure: Failure | null): void {
    const seen = this.#seen;
    seen.end_ms = at;
    seen.failure = failure;
    seen.chunk_ms = this.#chunkMs;
    if (this.#options.stream && this.#options.keepChunks && seen.chunks > 0)
      seen.chunk_tokens = this.#chunkTokens;
    if (this.#output > 0 || failure === null) {
      seen.output_tokens = this.#output;
      seen.output_tokens_source = "server";
    }
    this.#options.done(seen);
  }
}
