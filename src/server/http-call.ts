/** Plain HTTP calls to a server's side doors (health, models, metrics, cache reset). Never used to measure. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Clock } from "../core/clock.ts";
import type { Ms } from "../core/units.ts";

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Resolves with any status; rejects when there is no whole reply in time. */
export type HttpCall = (method: "GET" | "POST", url: string, body?: unknown) => Promise<HttpReply>;

const MAX_BODY = 64 * 1024 * 1024;

/** An {@link HttpCall} over node:http, one connection a call, direct (no proxy). `headers` carries the API key. */
export function createHttpCall(
  clock: Clock,
  timeoutMs: Ms,
  headers: Readonly<Record<string, string>> = {},
): HttpCall {
  return (method, url, body) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const send = url.startsWith("https:") ? httpsRequest : httpRequest;
      const call = send(url, {
        method,
        agent: false,
        headers: {
          accept: "*/*",
          ...(text === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...headers,
        },
      });
      const timer = clock.at(clock.now() + timeoutMs, () => {
        call.destroy(new Error(`no answer from ${url} within ${timeoutMs} ms`));
      });
      const fail = (error: Error): void => {
        clock.cancel(timer);
        reject(error);
      };
      call.on("error", fail);
      call.on("response", (response) => {
        const parts: Buffer[] = [];
        let size = 0;
        response.on("data", (part: Buffer) => {
          size += part.length;
          if (size > MAX_BODY) call.destroy(new Error(`${url} answers more than ${MAX_BODY} bytes`));
          else parts.push(part);
        });
        response.on("error", fail);
        response.on("aborted", () => fail(new Error(`${url} broke its answer off`)));
        response.on("end", () => {
          clock.cancel(timer);
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(
              Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
            ),
            body: Buffer.concat(parts).toString("utf8"),
          });
        });
      });
      call.end(text);
    });
}
