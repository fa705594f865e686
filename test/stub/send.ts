/** Real requests to a stub. */
import { RealClock } from "../../src/core/real-clock.ts";
import type { ModelRequest } from "../../src/client/client.ts";
import { createHttpClient, type HttpClient, type HttpClientOptions } from "../../src/client/http-client.ts";
import { openai } from "../../src/client/protocols/openai.ts";
import type { Observation } from "../../src/record/observation.ts";
import { modelRequest } from "./observe.ts";

export function stubClient(baseUrl: string, options: Partial<HttpClientOptions> = {}): HttpClient {
  return createHttpClient({
    protocol: openai,
    baseUrl,
    clock: new RealClock(),
    timeoutMs: 20_000,
    ...options,
  });
}

export function send(client: HttpClient, request: Partial<ModelRequest> = {}): Promise<Observation> {
  return new Promise((resolve) => {
    client.send(client.prepare(modelRequest(request)), resolve);
  });
}
