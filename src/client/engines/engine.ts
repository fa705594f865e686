/**
 * What an engine inside this process (or in a child of it) owes the client in front of it: it takes a request, tells of its
 * output tokens as they come, and of the end. No HTTP, no text protocol.
 */
import type { JsonObject } from "../../core/json.ts";
import type { Ms, Tokens } from "../../core/units.ts";
import type { EngineTimes } from "../../record/observation.ts";
import type { ModelPrompt } from "../client.ts";

/** A request after the overrides of its `params`. */
export interface EngineRequest {
  readonly request_id: string;
  readonly prompt: ModelPrompt;
  /** `null` = up to what the context holds. */
  readonly max_tokens: Tokens | null;
  /** The output may not end before `max_tokens`. */
  readonly force_length: boolean;
  readonly stream: boolean;
  readonly keep_text: boolean;
  /** Body fields that are left: `temperature`, `top_p`, `seed`, ... The engine takes those that it knows. */
  readonly fields: JsonObject;
}

export interface EngineEnd {
  readonly at: Ms;
  readonly finish_reason: string;
  readonly prompt_tokens: Tokens;
  readonly output_tokens: Tokens;
  /** `null` = the engine does not tell. */
  readonly cached_tokens: Tokens | null;
  readonly engine: EngineTimes | null;
  /** The whole output; `null` unless it was asked for. */
  readonly text: string | null;
  readonly notes: readonly string[];
}

/** Why an engine did not answer. `refused`: the request can never work, as a server's 400. */
export interface EngineFault {
  readonly kind: "refused" | "engine" | "lost" | "absent";
  readonly message: string;
}

/** Told by the engine, in this order: `sent`, `tokens`…, then `end` or `fail` once. Instants are on the client's clock. */
export interface EngineSink {
  /** The engine has the request. */
  sent(at: Ms): void;
  /** `count` new output tokens came at once. */
  tokens(count: Tokens, at: Ms): void;
  end(end: EngineEnd): void;
  fail(fault: EngineFault, at: Ms): void;
}

/** A request made ready ahead of its send instant. Opaque to everyone but the engine that made it. */
export interface EngineWork {
  /** About the memory that it holds until it is sent, bytes. */
  readonly bytes: number;
}

/** What can never work, and why: the counterpart of a server's 400. */
export interface Refusal {
  readonly refusal: string;
}

export interface Engine {
  /** For messages: `llama-cpp tiny.gguf`. */
  readonly name: string;
  /** Whatever takes time (tokenizing, serialising), off the hot path. */
  prepare(request: EngineRequest): EngineWork | Refusal;
  /**
   * Takes the request, which may be sent several times; the sink is never called inside this call, except `sent`. Returns how to give it up: the engine may
   * go on with it for a moment, and the sink hears nothing more.
   */
  submit(work: EngineWork, sink: EngineSink): () => void;
  /** Frees what it holds. */
  close(): Promise<void>;
}
