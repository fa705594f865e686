/** A server behind HTTP as a {@link Target}: protocol, credentials, model name, reachability. */
import { createConnection } from "node:net";
import { readApiKey } from "../client/api-key.ts";
import { parseBaseUrl, serverUrl } from "../client/endpoint.ts";
import { authorization, type HttpClient, readCa } from "../client/http-client.ts";
import { httpGet, httpPost, HttpRequestError, type HttpRequestOptions } from "../client/http-request.ts";
import type { ConnectFailure } from "../client/http/transport.ts";
import { findProtocol } from "../client/protocols/index.ts";
import type { Clock } from "../core/clock.ts";
import { sleep, type Timer } from "../core/clock.ts";
import { EXIT, UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { createHttpCall } from "../server/http-call.ts";
import { plainText } from "../core/terminal-text.ts";
import type { Ms } from "../core/units.ts";
import type { PostJson } from "../prompt/server-tokenizer.ts";
import { type ClientSpec, clientOfSpec } from "./client-spec.ts";
import type { Given } from "./options/option.ts";
import type { targetOptions } from "./options/target-options.ts";
import { createServerWatch, type EngineWatch, type KnownServer } from "./engine-watch.ts";
import type { Target } from "./target.ts";

/** A target that does not even take a connection within this is not reachable. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Side requests before the run: a server that is slow here is not asked twice. */
const SIDE_TIMEOUT_MS = 10_000;
/** A profiler may write gigabytes before it answers. */
const POKE_TIMEOUT_MS = 600_000;
/** A scrape that takes longer is a row that says so. */
const WATCH_TIMEOUT_MS = 2_000;
const RETRY_EVERY_MS = 1000;

export type TargetGiven = Given<typeof targetOptions>;

export interface HttpTargetOptions {
  readonly given: TargetGiven;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Used where `--backend` was not given. */
  readonly defaultBackend: "openai" | "openai-chat";
  readonly defaultHost: string;
  /** A server that does not listen yet is waited for so long; 0 or absent = an error at once. */
  readonly waitMs?: Ms;
  /** A server that was started for this run. */
  readonly known?: KnownServer | null;
  /** Told once when there is something to wait for. */
  onWait?(text: string): void;
}

/**
 * Opens the target. `UserError`s: bad URL, unknown backend, a key that was named and is not there (exit 2); a server that
 * cannot be reached, or whose model cannot be told (exit 3).
 */
export async function openHttpTarget(options: HttpTargetOptions): Promise<Target> {
  const { given, clock } = options;
  const baseUrl = given.base_url ?? `http://${given.host ?? options.defaultHost}:${given.port ?? 8000}`;
  const backend = backendOf(given, options.defaultBackend);
  const protocol = findProtocol(backend);
  const apiKey = readApiKey(
    { envName: given.api_key_env ?? null, file: given.api_key_file ?? null },
    options.env,
  );
  const spec: ClientSpec = {
    backend,
    baseUrl,
    endpoint: given.endpoint ?? null,
    apiKey,
    headers: given.header ?? null,
    extraBody: given.extra_body ?? null,
    timeoutMs: given.timeout ?? null,
    retries: given.retries ?? 0,
    insecure: given.insecure ?? false,
    ca: given.ca ?? null,
    http2: given.http2 ?? false,
    proxy: given.proxy ?? null,
  };
  const client = clientOfSpec(spec, clock);
  if (given.proxy === undefined || given.http2 !== true) {
    await awaitListening(client, options).catch(async (error: unknown) => {
      await client.close();
      throw error;
    });
  }
  const side: HttpRequestOptions = {
    clock,
    timeoutMs: SIDE_TIMEOUT_MS,
    insecure: given.insecure ?? false,
    ...(given.ca === undefined ? {} : { ca: readCa(given.ca) }),
    headers: { ...authorization({ protocol, apiKey }, client.endpoint), ...given.header },
  };
  const side_url = (path: string): string => serverUrl(baseUrl, path);
  /** Side requests have connections of their own: a server that attends to one at a time must be free for them. */
  const alone = <T>(ask: () => Promise<T>): Promise<T> => {
    client.dropUnused();
    return ask();
  };
  const model =
    given.served_model_name ?? given.model ?? (await alone(() => modelOf(side_url("/v1/models"), side)));
  const post = postJson(side_url, side);
  return {
    client,
    spec,
    clock,
    url: displayUrl(baseUrl),
    model,
    backend,
    simulated: model.startsWith("sim/"),
    virtual: false,
    prompts: protocol.prompts,
    post: (path, body) => alone(() => post(path, body)),
    poke: (path) =>
      alone(async () => (await httpPost(side_url(path), {}, { ...side, timeoutMs: POKE_TIMEOUT_MS })).status),
    connect: async () => void (await client.connect()),
    disconnect: () => client.dropUnused(),
    tokenizer: null,
    server: null,
    watch: watchOf(options, { model, side, url: side_url, origin: client.endpoint.origin }),
    openStreams: () => client.openStreams,
    drive: (done) => done,
    close: () => client.close(),
  };
}

/** Only where the user wants the server to be asked for more than answers: `--engine-metrics`, a ready check, a sweep's own server. */
function watchOf(
  { given, clock, known = null }: HttpTargetOptions,
  server: {
    readonly model: string;
    readonly side: HttpRequestOptions;
    readonly url: (path: string) => string;
    readonly origin: URL;
  },
): EngineWatch | null {
  const wanted = given.engine_metrics;
  if ((wanted ?? "off") === "off" && known === null && (given.ready_check_timeout_sec ?? 0) === 0)
    return null;
  const own = { ...server.side, timeoutMs: WATCH_TIMEOUT_MS };
  const { headers: _ours, ...foreign } = own;
  return createServerWatch({
    wanted,
    known,
    model: server.model,
    url: server.url,
    clock,
    // The key is for this server alone, wherever the metrics are.
    call: (method, url, body) =>
      createHttpCall(clock, own.timeoutMs, sameOrigin(url, server.origin) ? own : foreign)(method, url, body),
  });
}

function sameOrigin(url: string, origin: URL): boolean {
  return parseBaseUrl(url).origin.origin === origin.origin;
}

/** The protocol's name as users know it: named, told by the endpoint, or the default. */
export function backendOf(
  given: Pick<TargetGiven, "backend" | "endpoint">,
  fallback: "openai" | "openai-chat",
): string {
  const told = backendOfEndpoint(given.endpoint);
  // vLLM calls SGLang's OpenAI API by the name that SGLang itself gives to its own.
  if (given.backend === "sglang" && told !== null)
    return told === "openai" ? "sglang-oai" : "sglang-oai-chat";
  return given.backend ?? told ?? fallback;
}

/** `--endpoint /v1/chat/completions` says which protocol is meant. */
function backendOfEndpoint(endpoint: string | undefined): "openai" | "openai-chat" | null {
  if (endpoint === undefined) return null;
  if (/\/chat\/completions\/?(\?|$)/.test(endpoint)) return "openai-chat";
  return /\/completions\/?(\?|$)/.test(endpoint) ? "openai" : null;
}

function displayUrl(baseUrl: string): string {
  const { origin, path } = parseBaseUrl(baseUrl);
  return `${origin.origin}${path}`;
}

/** Waits for somebody to listen. A name that does not resolve is not waited for. */
async function awaitListening(client: HttpClient, options: HttpTargetOptions): Promise<void> {
  const { given, clock, waitMs = 0 } = options;
  const { origin } = client.endpoint;
  const deadline = clock.now() + waitMs;
  for (let first = true; ; first = false) {
    try {
      // HTTP/2 opens no connection ahead: one that is closed at once has to do.
      return await (given.http2 === true ? checkReachable(origin, clock) : openAhead(client, clock));
    } catch (error) {
      const unknownHost = error instanceof UserError && /ENOTFOUND|EAI_/.test(error.message);
      if (unknownHost || clock.now() + RETRY_EVERY_MS > deadline) throw error;
      if (first)
        options.onWait?.(
          `${origin.origin} does not listen yet; waiting up to ${Math.round(waitMs / 1000)} s (--ready-check-timeout-sec 0 does not wait)`,
        );
      await sleep(clock, RETRY_EVERY_MS);
    }
  }
}

/** Opens the connection that the first request will use: a port where nobody listens is known before anything is planned. */
async function openAhead(client: HttpClient, clock: Clock): Promise<void> {
  let timer: Timer | null = null;
  const limit = new Promise<ConnectFailure>((resolve) => {
    timer = clock.at(clock.now() + CONNECT_TIMEOUT_MS, () =>
      resolve({ code: "timeout", message: `no connection within ${CONNECT_TIMEOUT_MS / 1000} s` }),
    );
  });
  const failure = await Promise.race([client.connect(), limit]);
  if (timer !== null) clock.cancel(timer);
  if (failure === null) return;
  const { origin } = client.endpoint;
  throw failure.code === "tls"
    ? unreachable(origin, failure.message, tlsHint(failure.message))
    : unreachable(origin, failure.message);
}

function tlsHint(message: string): string {
  return /certificate|self.signed|issuer/i.test(message)
    ? "name its certificate authority with --ca, or check nothing with --insecure"
    : "does the server speak TLS there? if not, --base-url begins with http://";
}

/** One connection, closed at once: a port where nobody listens is known before anything is planned or written. */
function checkReachable(origin: URL, clock: Clock): Promise<void> {
  const port = Number(origin.port) || (origin.protocol === "https:" ? 443 : 80);
  const host = origin.hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port });
    const end = (error: Error | null): void => {
      clock.cancel(timer);
      socket.destroy();
      if (error === null) resolve();
      else reject(error);
    };
    const timer = clock.at(clock.now() + CONNECT_TIMEOUT_MS, () =>
      end(unreachable(origin, `no connection within ${CONNECT_TIMEOUT_MS / 1000} s`)),
    );
    socket.once("connect", () => end(null));
    socket.once("error", (error: NodeJS.ErrnoException) =>
      end(unreachable(origin, error.code ?? error.message)),
    );
  });
}

function unreachable(
  origin: URL,
  reason: string,
  hint = "start the server, or check --base-url (reprise sim starts a simulated one)",
): UserError {
  return new UserError(`cannot reach ${origin.origin}: ${reason}`, {
    hint,
    exitCode: EXIT.unreachable,
  });
}

/** The one model that the server serves. */
async function modelOf(url: string, side: HttpRequestOptions): Promise<string> {
  const hint = "name it with --model";
  let names: readonly string[] = [];
  try {
    const reply = await httpGet(url, side);
    if (reply.status === 401 || reply.status === 403) {
      throw new UserError(`the server refuses our credentials (${reply.status} on /v1/models)`, {
        hint: "set OPENAI_API_KEY, or use --api-key-env or --api-key-file",
        exitCode: EXIT.unreachable,
      });
    }
    names = modelNames(JSON.parse(reply.body));
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (!(error instanceof HttpRequestError || error instanceof SyntaxError)) throw error;
  }
  if (names.length === 1) return names[0] as string;
  if (names.length === 0)
    throw new UserError("no model was named, and the server does not tell which it serves", { hint });
  throw new UserError(
    `the server serves ${names.length} models: ${plainText(names.slice(0, 8).join(", "))}`,
    { hint },
  );
}

function modelNames(value: unknown): string[] {
  const data = (value as { data?: unknown } | null)?.data;
  if (!Array.isArray(data)) return [];
  return data.flatMap((entry: unknown) => {
    const id = (entry as { id?: unknown } | null)?.id;
    return typeof id === "string" && id !== "" ? [id] : [];
  });
}

function postJson(url: (path: string) => string, side: HttpRequestOptions): PostJson {
  return async (path: string, body: JsonObject): Promise<JsonValue | null> => {
    const reply = await httpPost(url(path), body, side);
    if (reply.status < 200 || reply.status > 299) return null;
    try {
      return JSON.parse(reply.body) as JsonValue;
    } catch {
      return null;
    }
  };
}
