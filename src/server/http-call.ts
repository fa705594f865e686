/** Plain HTTP calls to a server's side doors (health, models, metrics, cache reset). Never used to measure. */
import { httpGet, httpPost, type HttpRequestOptions } from "../client/http-request.ts";
import type { Clock } from "../core/clock.ts";
import type { Ms } from "../core/units.ts";

export interface HttpAnswer {
  readonly status: number;
  /** The `server` header: what the server calls itself. */
  readonly software: string | null;
  readonly body: string;
}

/** Resolves with any status; rejects when there is no whole reply in time. */
export type HttpCall = (method: "GET" | "POST", url: string, body?: unknown) => Promise<HttpAnswer>;

/** An {@link HttpCall} on the transport of the load, one connection a call. `more`: headers (the API key), certificates. */
export function createHttpCall(clock: Clock, timeoutMs: Ms, more: HttpRequestOptions = {}): HttpCall {
  return async (method, url, body) => {
    const options = { ...more, clock, timeoutMs };
    const reply = method === "GET" ? await httpGet(url, options) : await httpPost(url, body, options);
    return { status: reply.status, software: reply.headers.get("server") ?? null, body: reply.body };
  };
}
