/** Where the load goes: one shape for a server behind HTTP and for the simulated engine in this process. */
import type { Client } from "../client/client.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import type { PromptKind } from "../prompt/adapt-prompt.ts";
import type { PostJson } from "../prompt/server-tokenizer.ts";
import type { Tokenizer } from "../prompt/tokenizer.ts";
import type { ClientSpec } from "./client-spec.ts";
import type { EngineWatch } from "./engine-watch.ts";

export interface Target {
  readonly client: Client;
  /** How further lanes make clients of their own; `null` = the engine is in this process, and so in this thread. */
  readonly spec: ClientSpec | null;
  /** The clock that the run goes by: virtual for `--virtual-time`. */
  readonly clock: Clock;
  /** Without credentials; `in-process` for an engine in this process. */
  readonly url: string;
  /** What is asked for in the requests. */
  readonly model: string;
  /** The word users know. */
  readonly backend: string;
  readonly simulated: boolean;
  /** Time is virtual: the process's own lateness and stalls mean nothing. */
  readonly virtual: boolean;
  /** Prompts that the protocol takes as they are. */
  readonly prompts: readonly PromptKind[];
  /** Where a tokenizer can be asked; `null` = there is no server. */
  readonly post: PostJson | null;
  /** `POST` with an empty body to a path beside the API (profiler); the status. Absent = there is no server. */
  poke?(path: string): Promise<number>;
  /** The engine's own tokenizer, where it is in this process. */
  readonly tokenizer: Tokenizer | null;
  /** What the server said of itself. */
  readonly server: JsonObject | null;
  /** Samples the engine's own metrics while a run lasts; `null` or absent = nobody asked for that. */
  readonly watch?: EngineWatch | null;
  /** Has the connection of the first request open before it is due; never fails. Absent = nothing to open. */
  connect?(): Promise<void>;
  /** Gives up that connection if nothing has used it: the load comes from elsewhere. */
  disconnect?(): void;
  /** Responses being read. */
  openStreams(): number;
  /** Drives virtual time until `done` settles; on real time it just waits. */
  drive<T>(done: Promise<T>): Promise<T>;
  close(): Promise<void>;
}
