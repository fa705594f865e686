/** How to speak to the target, as plain data: every lane makes its own client of it. */
import { createHttpClient, type HttpClient } from "../client/http-client.ts";
import { findProtocol } from "../client/protocols/index.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";

export interface ClientSpec {
  /** The protocol, by the word users know. */
  readonly backend: string;
  readonly baseUrl: string;
  readonly endpoint: string | null;
  /** Lives in memory only: no spec is ever written anywhere. */
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly extraBody: JsonObject | null;
  /** `null` = the client's default. */
  readonly timeoutMs: Ms | null;
  readonly retries: number;
  readonly insecure: boolean;
  readonly ca: string | null;
  readonly http2: boolean;
  readonly proxy: string | null;
}

/** Makes the client. `UserError`s: an unknown backend, a bad URL, a certificate file that cannot be read. */
export function clientOfSpec(spec: ClientSpec, clock: Clock): HttpClient {
  const { backend, timeoutMs, ...options } = spec;
  return createHttpClient({
    ...options,
    protocol: findProtocol(backend),
    clock,
    ...(timeoutMs === null ? {} : { timeoutMs }),
  });
}
