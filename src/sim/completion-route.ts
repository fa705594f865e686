/** `/v1/completions` and `/v1/chat/completions`: one request from its body to the last byte of its reply. */
import type { ServerResponse } from "node:http";
import { sleep, type Clock } from "../core/clock.ts";
import { StreamWriter, wholeReply } from "./api-reply.ts";
import { isRefusal, parseApiRequest, type ApiRequest, type Endpoint } from "./api-request.ts";
import type { SimEngine } from "./engine.ts";
import type { Fault } from "./fault-injection.ts";
import { refuseWith, sendJson } from "./http-reply.ts";

export interface CompletionRoute {
  readonly engine: SimEngine;
  readonly clock: Clock;
  readonly names: readonly string[];
}

/** Answers one request. `request_id` names it in the reply. */
export async function answerCompletion(
  route: CompletionRoute,
  endpoint: Endpoint,
  body: unknown,
  request_id: string,
  fault: Fault,
  slow_start_ms: number,
  response: ServerResponse,
): Promise<void> {
  if (fault.status !== null) {
    refuseWith(response, {
      status: fault.status,
      type: "InternalServerError",
      message: "injected fault",
      param: null,
    });
    return;
  }
  const id = `${endpoint === "chat" ? "chatcmpl" : "cmpl"}-${request_id}`;
  const asked = parseApiRequest(endpoint, body, id, route.engine, route.names);
  if (isRefusal(asked)) {
    refuseWith(response, asked);
    return;
  }
  if (slow_start_ms > 0) await sleep(route.clock, slow_start_ms);
  if (response.destroyed) return;
  const created = Math.floor(route.clock.wall() / 1000);
  if (asked.stream) stream(route, endpoint, id, created, asked, fault, response);
  else whole(route, endpoint, id, created, asked, fault, response);
}

function stream(
  route: CompletionRoute,
  endpoint: Endpoint,
  id: string,
  created: number,
  asked: ApiRequest,
  fault: Fault,
  response: ServerResponse,
): void {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
  response.flushHeaders();
  const writer = new StreamWriter(endpoint, id, created, asked);
  let tokens = 0;
  const handle = route.engine.submit(asked.request, (token, _at, end) => {
    const events = writer.token(token, end);
    if (fault.truncate_after !== null && ++tokens >= fault.truncate_after) {
      response.write(events.slice(0, events.indexOf("\n\n") + 2), () => response.destroy());
      handle.abort();
    } else if (end === null) response.write(events);
    else response.end(events);
  });
  // Also after a regular end, where it does nothing.
  response.on("close", () => handle.abort());
}

function whole(
  route: CompletionRoute,
  endpoint: Endpoint,
  id: string,
  created: number,
  asked: ApiRequest,
  fault: Fault,
  response: ServerResponse,
): void {
  const ids: number[] = [];
  const handle = route.engine.submit(asked.request, (token, _at, end) => {
    ids.push(token);
    if (fault.truncate_after !== null && ids.length >= fault.truncate_after) {
      response.destroy();
      handle.abort();
    } else if (end !== null) {
      sendJson(response, 200, wholeReply(endpoint, id, created, asked, ids, end));
    }
  });
  response.on("close", () => handle.abort());
}
