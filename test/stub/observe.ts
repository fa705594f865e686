/** Sends one request on a virtual clock to a scripted server and gives its observation. */
import { VirtualClock } from "../../src/core/virtual-clock.ts";
import type { ModelRequest } from "../../src/client/client.ts";
import { createHttpClient, type HttpClientOptions } from "../../src/client/http-client.ts";
import type { Protocol } from "../../src/client/protocol.ts";
import { openaiChat } from "../../src/client/protocols/openai-chat.ts";
import { openai } from "../../src/client/protocols/openai.ts";
import type { Observation } from "../../src/record/observation.ts";
import { ScriptedTransport, type Step } from "./scripted-transport.ts";
import { chunk, head, type HeadOptions, LAST_CHUNK } from "./wire.ts";

export function modelRequest(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    request_id: "r1",
    model: "m",
    prompt: { kind: "text", text: "hi" },
    max_tokens: 16,
    force_length: false,
    temperature: null,
    stream: true,
    params: null,
    headers: null,
    keep_text: true,
    keep_chunks: true,
    ...more,
  };
}

export interface ObserveOptions extends HeadOptions {
  readonly protocol?: Protocol;
  readonly request?: Partial<ModelRequest>;
  readonly client?: Partial<HttpClientOptions>;
}

/** Plays steps as they are. Times in the observation count from 0, the instant of sending. */
export async function observeSteps(
  steps: readonly Step[] | ((index: number) => readonly Step[]),
  options: ObserveOptions = {},
): Promise<Observation> {
  const clock = new VirtualClock(0);
  const client = createHttpClient({
    protocol: options.protocol ?? openai,
    baseUrl: "http://stub",
    clock,
    transport: new ScriptedTransport(clock, steps),
    ...options.client,
  });
  const done = new Promise<Observation>((resolve) => {
    client.send(client.prepare(modelRequest(options.request)), resolve);
  });
  return clock.runUntil(done);
}

/** A chunked response: the head comes with the first piece; each piece is one write and one chunk. */
export function observe(
  pieces: readonly (readonly [at: number, data: string | Buffer])[],
  options: ObserveOptions = {},
): Promise<Observation> {
  return observeSteps(timed(pieces, options), options);
}

export function observeChat(
  pieces: readonly (readonly [at: number, data: string | Buffer])[],
  options: ObserveOptions = {},
): Promise<Observation> {
  return observe(pieces, { protocol: openaiChat, ...options });
}

export function timed(
  pieces: readonly (readonly [at: number, data: string | Buffer])[],
  options: HeadOptions = {},
): Step[] {
  return pieces.map(([at, data], i) => ({
    at,
    bytes: Buffer.concat([
      Buffer.from(i === 0 ? head("chunked", 0, options) : ""),
      chunk(data),
      Buffer.from(i === pieces.length - 1 ? LAST_CHUNK : ""),
    ]),
  }));
}

/** METRICS: (last − first) ÷ (output tokens − tokens of the first chunk, 1 if unknown). */
export function tpot(seen: Observation): number | null {
  const rest = (seen.output_tokens ?? 0) - (seen.chunk_tokens?.[0] ?? 1);
  if (rest < 1 || seen.last_token_ms === null || seen.first_token_ms === null) return null;
  return (seen.last_token_ms - seen.first_token_ms) / rest;
}

export function gaps(seen: Observation): number[] {
  return seen.chunk_ms.slice(1).map((at, i) => at - (seen.chunk_ms[i] as number));
}
