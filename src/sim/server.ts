/**
 * The engine behind HTTP, with the paths of vLLM's server: completions, chat, models, health, tokenize, metrics, cache
 * reset, profile. `/reprise_sim` tells the configuration and the gauges as JSON.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../core/clock.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { refuseModel, tokenIds } from "./api-request.ts";
import { renderChat } from "./chat-template.ts";
import { answerCompletion } from "./completion-route.ts";
import type { ResolvedSim, SimConfigInput } from "./config.ts";
import { createSimEngine, type SimEngine } from "./engine.ts";
import { FaultInjection } from "./fault-injection.ts";
import { readBody, refuseWith, sendJson, sendText } from "./http-reply.ts";
import { renderMetrics } from "./prometheus.ts";
import { decode, decodeToken, encode } from "./tokenizer.ts";

export interface SimServerOptions {
  readonly config?: SimConfigInput | ResolvedSim;
  readonly clock: Clock;
  /** Default 0. */
  readonly seed?: number | string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 = any free port. */
  readonly port?: number;
  /** Further names the model answers to. */
  readonly aliases?: readonly string[];
  /** Asked of every request but `/health` where given. */
  readonly api_key?: string;
  /** Larger bodies get 413. Default 64 MiB. */
  readonly max_body_bytes?: number;
}

export interface SimServer {
  /** `http://host:port`, without a path. */
  readonly url: string;
  readonly port: number;
  readonly engine: SimEngine;
  /** Cuts what is open and frees the port. */
  close(): Promise<void>;
}

/** Idle connections are kept this long; told in the `Keep-Alive` header. */
const KEEP_ALIVE_MS = 60_000;

const GET = ["/health", "/ping", "/version", "/v1/models", "/metrics", "/reprise_sim"];
const POST = [
  "/v1/completions",
  "/v1/chat/completions",
  "/tokenize",
  "/detokenize",
  "/reset_prefix_cache",
  "/start_profile",
  "/stop_profile",
];

class Server {
  readonly engine: SimEngine;
  readonly #options: SimServerOptions;
  readonly #clock: Clock;
  readonly #names: readonly string[];
  readonly #faults: FaultInjection;
  readonly #started: number;
  readonly #created: number;
  readonly http = createServer((request, response) => {
    this.#handle(request, response).catch(() => response.destroy());
  });

  constructor(options: SimServerOptions) {
    const seed = options.seed ?? 0;
    this.#options = options;
    this.#clock = options.clock;
    this.engine = createSimEngine(options.config ?? {}, options.clock, seed);
    this.#names = [...this.engine.sim.model_names, ...(options.aliases ?? [])];
    this.#faults = new FaultInjection(this.engine);
    this.#started = options.clock.now();
    this.#created = Math.floor(options.clock.wall() / 1000);
    this.http.keepAliveTimeout = KEEP_ALIVE_MS;
    this.http.requestTimeout = 0;
    this.http.on("connection", (socket) => socket.setNoDelay(true));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "/").split("?", 1)[0] as string;
    const ready = this.#clock.now() - this.#started >= this.engine.sim.config.startup_ms;
    if (path === "/health" && request.method === "GET") {
      sendText(response, ready ? 200 : 503, "text/plain", "");
      return;
    }
    const isGet = GET.includes(path);
    if (!isGet && !POST.includes(path)) {
      sendJson(response, 404, { detail: "Not Found" });
      return;
    }
    if (request.method !== (isGet ? "GET" : "POST")) {
      sendJson(response, 405, { detail: "Method Not Allowed" });
      return;
    }
    if (!ready) {
      refuseWith(response, { status: 503, type: "ServiceUnavailable", message: "starting up", param: null });
      return;
    }
    const { api_key } = this.#options;
    if (api_key !== undefined && request.headers.authorization !== `Bearer ${api_key}`) {
      sendJson(response, 401, { error: "Unauthorized" });
      return;
    }
    if (isGet) this.#get(path, response);
    else await this.#post(path, request, response);
  }

  #get(path: string, response: ServerResponse): void {
    const { sim } = this.engine;
    if (path === "/metrics") {
      sendText(response, 200, "text/plain; version=0.0.4; charset=utf-8", renderMetrics(this.engine));
    } else if (path === "/v1/models") {
      const data = this.#names.map((id) => ({
        id,
        object: "model",
        created: this.#created,
        owned_by: "reprise-sim",
        root: sim.served_name,
        parent: null,
        max_model_len: sim.max_model_len,
        permission: [],
      }));
      sendJson(response, 200, { object: "list", data });
    } else if (path === "/reprise_sim") {
      sendJson(response, 200, { simulated: true, ...sim, stats: this.engine.stats() });
    } else if (path === "/version") {
      sendJson(response, 200, { version: "reprise-sim" });
    } else {
      sendText(response, 200, "text/plain", "");
    }
  }

  async #post(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const limit = this.#options.max_body_bytes ?? 64 * 1024 * 1024;
    const bytes = await readBody(request, limit);
    if (bytes === null) {
      response.setHeader("connection", "close");
      refuseWith(response, {
        status: 413,
        type: "RequestEntityTooLarge",
        message: `the body exceeds ${limit} bytes`,
        param: null,
      });
      return;
    }
    if (path === "/reset_prefix_cache") {
      // vLLM answers 200 although it did nothing; here the caller is told.
      if (this.engine.resetPrefixCache()) sendText(response, 200, "text/plain", "");
      else this.#bad(response, "requests hold blocks: the prefix cache was not reset", 409);
      return;
    }
    if (path === "/start_profile" || path === "/stop_profile") {
      sendText(response, 200, "text/plain", "");
      return;
    }
    let body: unknown;
    try {
      body = JSON.parse(bytes.toString("utf8"));
    } catch {
      this.#bad(response, "the body is not valid JSON");
      return;
    }
    if (body === null || typeof body !== "object" || Array.isArray(body)) {
      this.#bad(response, "the body must be a JSON object");
      return;
    }
    if (path === "/tokenize") this.#tokenize(body as JsonObject, response);
    else if (path === "/detokenize") this.#detokenize(body as JsonObject, response);
    else await this.#complete(path, body, request, response);
  }

  async #complete(
    path: string,
    body: unknown,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const fault = this.#faults.next();
    if (fault.crash) {
      this.crash();
      return;
    }
    const given = request.headers["x-request-id"];
    await answerCompletion(
      { engine: this.engine, clock: this.#clock, names: this.#names },
      path === "/v1/completions" ? "completions" : "chat",
      body,
      typeof given === "string" && given !== "" ? given : randomUUID().replaceAll("-", ""),
      fault,
      this.#faults.slow_start_ms,
      response,
    );
  }

  #tokenize(body: JsonObject, response: ServerResponse): void {
    if (this.#wrongModel(body, response)) return;
    let tokens: Int32Array;
    if (typeof body.prompt === "string") tokens = encode(body.prompt);
    else if (Array.isArray(body.messages)) {
      try {
        const tools = Array.isArray(body.tools) ? (body.tools as readonly JsonValue[]) : null;
        const prompt = body.add_generation_prompt !== false;
        tokens = encode(renderChat(body.messages as readonly JsonObject[], tools, prompt), true);
      } catch (error) {
        this.#bad(response, error instanceof TypeError ? error.message : "messages are malformed");
        return;
      }
    } else {
      this.#bad(response, "prompt must be a string, or messages a list");
      return;
    }
    sendJson(response, 200, {
      count: tokens.length,
      max_model_len: this.engine.sim.max_model_len,
      tokens: [...tokens],
      token_strs: body.return_token_strs === true ? Array.from(tokens, decodeToken) : null,
    });
  }

  #detokenize(body: JsonObject, response: ServerResponse): void {
    if (this.#wrongModel(body, response)) return;
    const ids = tokenIds(body.tokens);
    if (ids === null) this.#bad(response, "tokens must be a list of token ids");
    else sendJson(response, 200, { prompt: decode(ids) });
  }

  #wrongModel(body: JsonObject, response: ServerResponse): boolean {
    const wrong = refuseModel(typeof body.model === "string" ? body.model : null, this.#names);
    if (wrong !== null) refuseWith(response, wrong);
    return wrong !== null;
  }

  #bad(response: ServerResponse, message: string, status = 400): void {
    refuseWith(response, { status, type: "BadRequestError", message, param: null });
  }

  /** Everything gone at once, as when the process dies. */
  crash(): void {
    this.engine.stop();
    this.http.close();
    this.http.closeAllConnections();
  }

  close(): Promise<void> {
    this.engine.stop();
    return new Promise((resolve) => {
      this.http.close(() => resolve());
      this.http.closeAllConnections();
    });
  }
}

/** Starts the server; resolves when it listens. Throws a `UserError` for a bad configuration or a port in use. */
export async function startSimServer(options: SimServerOptions): Promise<SimServer> {
  const server = new Server(options);
  const host = options.host ?? "127.0.0.1";
  await new Promise<void>((resolve, reject) => {
    server.http.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "address in use" : error.message;
      reject(
        new UserError(`the simulator cannot listen on ${host}:${options.port ?? 0}: ${reason}`, {
          hint: "choose another --port, or 0 for any free one",
          cause: error,
        }),
      );
    });
    server.http.listen({ port: options.port ?? 0, host, backlog: 4096 }, resolve);
  });
  const { port } = server.http.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    engine: server.engine,
    close: () => server.close(),
  };
}
