/** Plain HTTP answers of the simulator's server, and the reading of its request bodies. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorReply } from "./api-reply.ts";
import type { Refusal } from "./api-request.ts";

export function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(status, { "content-type": type, "content-length": body.length });
  response.end(body);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendText(response, status, "application/json", JSON.stringify(value));
}

export function refuseWith(response: ServerResponse, refusal: Refusal): void {
  sendJson(response, refusal.status, errorReply(refusal));
}

/**
 * The whole body, or `null` where it exceeds `limit` bytes. A body up to four times the limit is still read (and dropped), so
 * that the client gets to read the refusal; beyond that the refusal is sent at once. Rejects where the client goes away.
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"] ?? 0) > 4 * limit) {
      resolve(null);
      return;
    }
    const parts: Buffer[] = [];
    let bytes = 0;
    request.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes <= limit) parts.push(part);
      else if (bytes <= 4 * limit) parts.length = 0;
      else {
        request.pause();
        resolve(null);
      }
    });
    request.on("end", () => resolve(bytes > limit ? null : Buffer.concat(parts)));
    request.on("error", reject);
    request.on("close", () => reject(new Error("the client went away")));
  });
}
