/** The client for servers: one protocol, one endpoint, one transport. */
import { readFileSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { isSecretField, secrets } from "../core/secret.ts";
import type { Ms } from "../core/units.ts";
import type { Observation } from "../record/observation.ts";
import type { Client, InFlight, ModelRequest, PreparedRequest, StreamListener } from "./client.ts";
import { type Endpoint, resolveEndpoint } from "./endpoint.ts";
import { HttpExchange, type ExchangeContext, type ExchangeRequest } from "./http-exchange.ts";
import { Http1Transport } from "./http/http1-transport.ts";
import { Http2Transport } from "./http/http2-transport.ts";
import type { ConnectFailure, Transport } from "./http/transport.ts";
import type { Protocol } from "./protocol.ts";
import { BASE_HEADERS, checkUserHeaders, mergeHeaders } from "./request-headers.ts";
import { TimeoutQueue } from "./timeout-queue.ts";

export interface HttpClientOptions {
  readonly protocol: Protocol;
  /** In any form of endpoint.ts; may hold `user:pass@`. */
  readonly baseUrl: string;
  /** Replaces the protocol's path. */
  readonly endpoint?: string | null;
  /** Sent as the protocol says; from api-key.ts. */
  readonly apiKey?: string | null;
  /** The user's own headers; they win over ours. */
  readonly headers?: Readonly<Record<string, string>> | null;
  /** Merged into every body, last, overriding. */
  readonly extraBody?: JsonObject | null;
  /** Limit of one request from send to end. */
  readonly timeoutMs?: Ms;
  readonly retries?: number;
  readonly clock: Clock;
  /** Accept any certificate. */
  readonly insecure?: boolean;
  /** PEM file of the certificate authorities to trust. */
  readonly ca?: string | null;
  /** Speak HTTP/2 where the server offers it (TLS). */
  readonly http2?: boolean;
  /** URL of an HTTP proxy. The environment's proxy variables are never looked at. */
  readonly proxy?: string | null;
  /** Carries the exchanges instead of the one that the options above would make. */
  readonly transport?: Transport;
}

/** Ten minutes: longer than any first token that somebody waits for. */
export const DEFAULT_TIMEOUT_MS: Ms = 600_000;

export interface HttpClient extends Client {
  readonly endpoint: Endpoint;
  /** Requests that have been sent and are not over: while there are any, a stalled loop falsifies times. */
  readonly openStreams: number;
  /** Opens the connection of the first request ahead; `null` = it is open, or the transport does not do so. */
  connect(): Promise<ConnectFailure | null>;
  /** Gives such a connection up again, if nothing has used it. */
  dropUnused(): void;
}

interface Prepared extends PreparedRequest, ExchangeRequest {}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  return new ProtocolHttpClient(options);
}

class ProtocolHttpClient implements HttpClient, ExchangeContext {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  readonly transport: Transport;
  readonly protocol: Protocol;
  readonly timeoutMs: Ms;
  readonly retries: number;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #userHeaders: Readonly<Record<string, string>>;
  readonly #extraBody: JsonObject | null;
  readonly #timeouts: TimeoutQueue;
  readonly #baseUrl: string;
  readonly #endpointOption: string | null;
  readonly #targets = new Map<string, string>();
  readonly #inFlight = new Set<HttpExchange>();
  #open = 0;

  constructor(options: HttpClientOptions) {
    const { protocol, clock } = options;
    this.protocol = protocol;
    this.clock = clock;
    this.#baseUrl = options.baseUrl;
    this.#endpointOption = options.endpoint ?? null;
    this.endpoint = resolveEndpoint(this.#baseUrl, protocol.defaultPath, this.#endpointOption);
    this.name = `${protocol.name} ${this.endpoint.origin.origin}`;
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.retries = options.retries ?? 0;
    this.#extraBody = options.extraBody ?? null;
    hideSecrets(this.#extraBody);
    this.#userHeaders = options.headers ?? {};
    checkUserHeaders(this.#userHeaders);
    this.#headers = {
      ...BASE_HEADERS,
      "Content-Type": "application/json",
      ...authorization(options, this.endpoint),
    };
    this.#timeouts = new TimeoutQueue(clock, this.timeoutMs);
    this.transport = options.transport ?? createTransport(options, this.endpoint.origin);
  }

  get openStreams(): number {
    return this.#open;
  }

  connect(): Promise<ConnectFailure | null> {
    return this.transport.connect?.() ?? Promise.resolve(null);
  }

  dropUnused(): void {
    this.transport.dropUnused?.();
  }

  prepare(request: ModelRequest): Prepared {
    const { method, path, body, headers } = this.protocol.request(request);
    if (request.headers !== null) checkUserHeaders(request.headers);
    const merged = { ...body, ...request.params, ...this.#extraBody };
    const bytes = Buffer.from(JSON.stringify(merged), "utf8");
    const wire = this.transport.prepare({
      method,
      target: this.#targetOf(path),
      headers: mergeHeaders(this.#headers, headers, this.#userHeaders, request.headers),
      body: bytes,
    });
    return {
      request_id: request.request_id,
      body_bytes: bytes.length,
      wire,
      keepText: request.keep_text,
      keepChunks: request.keep_chunks,
    };
  }

  send(
    prepared: PreparedRequest,
    done: (observation: Observation) => void,
    listener?: StreamListener,
  ): InFlight {
    const now = this.clock.now();
    const exchange = new HttpExchange(this, prepared as Prepared, done, listener ?? null, now);
    this.#inFlight.add(exchange);
    this.#timeouts.add(exchange, now);
    exchange.start();
    return exchange;
  }

  /** Most protocols have one path; some have another for chat or without streaming. */
  #targetOf(path: string): string {
    if (path === this.protocol.defaultPath) return this.endpoint.target;
    let target = this.#targets.get(path);
    if (target === undefined) {
      target = resolveEndpoint(this.#baseUrl, path, this.#endpointOption).target;
      this.#targets.set(path, target);
    }
    return target;
  }

  started(): void {
    this.#open++;
  }

  settled(exchange: HttpExchange): void {
    if (exchange.started) this.#open--;
    this.#inFlight.delete(exchange);
    this.#timeouts.delete(exchange);
  }

  async close(): Promise<void> {
    for (const exchange of this.#inFlight) exchange.cancel("aborted", "the client was closed");
    this.#timeouts.close();
    await this.transport.close();
  }
}

/** Keys that a gateway takes in the body. */
function hideSecrets(value: JsonValue): void {
  if (value === null || typeof value !== "object") return;
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === "string" && isSecretField(name)) secrets.add(item);
    else hideSecrets(item as JsonValue);
  }
}

function createTransport(options: HttpClientOptions, origin: URL): Transport {
  const { clock, insecure = false } = options;
  const ca = options.ca == null ? null : readCa(options.ca);
  const way = { origin, clock, insecure, proxy: options.proxy ?? null, ...(ca === null ? {} : { ca }) };
  // Without TLS there is nothing by which a server could offer HTTP/2.
  if (options.http2 === true && origin.protocol === "https:") return new Http2Transport(way);
  return new Http1Transport(way);
}

/** Reads the PEM file of `--ca`. */
export function readCa(path: string): Buffer {
  let pem: Buffer;
  try {
    pem = readFileSync(path);
  } catch (error) {
    throw new UserError(
      `cannot read the certificate file ${path} (${(error as NodeJS.ErrnoException).code ?? "error"})`,
    );
  }
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) throw new UserError(`${path} holds no PEM certificate`);
  return pem;
}

/** Credentials in the URL are for this very server, so they win over a key that merely lies in the environment. */
export function authorization(
  options: Pick<HttpClientOptions, "protocol" | "apiKey">,
  endpoint: Pick<Endpoint, "authorization">,
): Record<string, string> {
  if (endpoint.authorization !== null) return { Authorization: endpoint.authorization };
  const key = options.apiKey ?? null;
  if (key === null || key === "") return {};
  secrets.add(key);
  const [name, value] = options.protocol.authorization?.(key) ?? ["Authorization", `Bearer ${key}`];
  return { [name]: value };
}
