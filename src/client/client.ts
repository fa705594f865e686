/**
 * The one client contract. HTTP protocols, in-process engines and the simulator all implement it; one contract suite
 * (test/contract/client-contract.ts) runs on all. The form is a callback, not an async iterable, because an iterator
 * step per chunk costs more than the parsing (PERFORMANCE).
 */
import type { FailureCode } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import type { Ms, Tokens } from "../core/units.ts";
import type { Observation } from "../record/observation.ts";

/** A prompt ready to be sent: no length left to make up. */
export type ModelPrompt =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "ids"; readonly ids: readonly number[] }
  | {
      readonly kind: "messages";
      readonly messages: readonly JsonObject[];
      readonly tools: readonly JsonObject[] | null;
    };

/** What is asked of the model, protocol-free. */
export interface ModelRequest {
  readonly request_id: string;
  readonly model: string;
  readonly prompt: ModelPrompt;
  /** Cap on the output; `null` = the server's default. */
  readonly max_tokens: Tokens | null;
  /** Forces exactly `max_tokens` output tokens (`ignore_eos`, `min_tokens`), as far as the engine knows how. */
  readonly force_length: boolean;
  readonly temperature: number | null;
  readonly stream: boolean;
  /** Merged into the body last, overriding. */
  readonly params: JsonObject | null;
  /** Further HTTP headers of this one request. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** Keep the answer's text in the observation. */
  readonly keep_text: boolean;
  /** Keep each chunk's arrival. */
  readonly keep_chunks: boolean;
}

/** A request serialised ahead of its send instant. Opaque to everyone but the client that made it. */
export interface PreparedRequest {
  readonly request_id: string;
  /** Size of the body, bytes; 0 for in-process clients. */
  readonly body_bytes: number;
}

/** Told while a response streams, for live views. Called from the read callback: must be cheap and must not throw. */
export interface StreamListener {
  onFirstToken?(at: Ms): void;
  onChunk?(at: Ms): void;
}

export interface InFlight {
  /**
   * Ends the exchange now: `done` is called (synchronously or soon) with what was observed so far and this failure code.
   * After `done` it does nothing. `aborted` = the run's end or the user; `timeout` = the request's time was up.
   */
  cancel(code: Extract<FailureCode, "aborted" | "timeout">, message: string): void;
}

export interface Client {
  /** For messages: `openai-chat http://host:8000`. Never holds a secret. */
  readonly name: string;
  /** Serialises off the hot path. Throws a `UserError` where the protocol cannot express the request. */
  prepare(request: ModelRequest): PreparedRequest;
  /** Sends now. `done` is called exactly once, never inside this call. */
  send(
    prepared: PreparedRequest,
    done: (observation: Observation) => void,
    listener?: StreamListener,
  ): InFlight;
  /** Closes idle connections and releases resources. Requests in flight are cut. */
  close(): Promise<void>;
}
