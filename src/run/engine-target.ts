/** `--backend llama-cpp`, and `--backend vllm` without an address: an engine in this process (or a child of it) as a {@link Target}. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "../client/client.ts";
import { createEngineClient, type EngineClient } from "../client/engines/engine-client.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import type { PostJson } from "../prompt/server-tokenizer.ts";
import type { HttpCall } from "../server/http-call.ts";
import type { VllmEngine } from "../client/engines/vllm/vllm-engine.ts";
import { createServerWatch, type EngineWatch } from "./engine-watch.ts";
import type { TargetGiven } from "./http-target.ts";
import type { InProcessEngine } from "./in-process-engine.ts";
import type { RunEnvironment } from "./run-environment.ts";
import type { Target } from "./target.ts";

export interface EngineTargetOptions {
  readonly given: TargetGiven;
  readonly engine: InProcessEngine;
  /** Of the run; vLLM seeds its sampling with it. `null` = none was given. */
  readonly seed: number | null;
  readonly env: RunEnvironment;
  /** An engine that is not ready within this is an error; 0 = its own limit. */
  readonly waitMs: Ms;
}

/** Loads the engine; its code is read only now. `UserError`s: see `openLlamaEngine` and `startVllmEngine`. */
export async function openEngineTarget(options: EngineTargetOptions): Promise<Target> {
  return options.engine === "vllm" ? openVllmTarget(options) : openLlamaTarget(options);
}

async function openLlamaTarget({ given, env }: EngineTargetOptions): Promise<Target> {
  const [{ openLlamaEngine }, { llamaSettings }] = await Promise.all([
    import("../client/engines/llama-cpp/llama-engine.ts"),
    import("../client/engines/llama-cpp/llama-settings.ts"),
  ]);
  const settings = llamaSettings(given.engine ?? {});
  const { clock } = env;
  const engine = await openLlamaEngine(given.model ?? "", settings, {
    clock,
    warn: (text) => env.warn(text),
  });
  const client = clientOf(engine, given, clock);
  return {
    ...common("llama-cpp", client, clock),
    model: given.served_model_name ?? engine.model,
    post: null,
    tokenizer: engine.tokenizer,
    server: engine.facts,
    watch: null,
  };
}

async function openVllmTarget(options: EngineTargetOptions): Promise<Target> {
  const { given, env, waitMs } = options;
  const { startVllmEngine } = await import("../client/engines/vllm/vllm-engine.ts");
  const { clock } = env;
  const { python = null, ...settings } = given.engine ?? {};
  const engine = await startVllmEngine({
    clock,
    env: env.env,
    python,
    script: childScript(),
    args: await vllmArguments(options, settings),
    ...(waitMs > 0 ? { readyMs: waitMs } : {}),
    onTrouble: (text) => text.split("\n").forEach((line) => env.warn(line.trimEnd())),
  });
  const client = clientOf(engine, given, clock);
  return {
    ...common("vllm", client, clock),
    model: engine.model,
    post: tokenizerDoor(engine),
    tokenizer: null,
    server: engine.facts,
    watch: given.engine_metrics === "auto" ? metricsWatch(engine, clock) : null,
  };
}

function clientOf(
  engine: Parameters<typeof createEngineClient>[0],
  given: TargetGiven,
  clock: Clock,
): EngineClient {
  return createEngineClient(engine, {
    clock,
    timeoutMs: given.timeout ?? null,
    extraBody: given.extra_body ?? null,
  });
}

function common(
  backend: InProcessEngine,
  client: EngineClient,
  clock: Clock,
): Omit<Target, "model" | "post" | "tokenizer" | "server" | "watch"> {
  return {
    client: client satisfies Client,
    spec: null,
    clock,
    url: "in-process",
    backend,
    simulated: false,
    virtual: false,
    prompts: ["text", "ids", "messages"],
    openStreams: () => client.openStreams,
    drive: (done) => done,
    close: () => client.close(),
  };
}

/** Flags that the engine has in common with us, then those that are its own; a later one wins. */
async function vllmArguments(
  { given, seed }: EngineTargetOptions,
  settings: Readonly<Record<string, JsonValue>>,
): Promise<string[]> {
  const { engineFlags } = await import("../client/engines/vllm/vllm-engine.ts");
  const shared: Record<string, JsonValue> = {
    model: given.model ?? "",
    ...(given.tokenizer === undefined ? {} : { tokenizer: given.tokenizer }),
    ...(given.tokenizer_mode === undefined ? {} : { "tokenizer-mode": given.tokenizer_mode }),
    ...(given.trust_remote_code === true ? { "trust-remote-code": true } : {}),
    ...(given.served_model_name === undefined ? {} : { "served-model-name": given.served_model_name }),
    ...(seed === null ? {} : { seed }),
  };
  return [...engineFlags(shared), ...engineFlags(settings)];
}

/** The engine's tokenizer behind the doors that vLLM's server has for it. */
function tokenizerDoor(engine: VllmEngine): PostJson {
  return async (path: string, body: JsonObject) => {
    if (path === "/tokenize")
      return engine.ask("tokenize", {
        text: body["prompt"] ?? "",
        special: body["add_special_tokens"] ?? false,
      });
    if (path !== "/detokenize") return null;
    const answer = await engine.ask("detokenize", { ids: body["tokens"] ?? [] });
    return answer === null ? null : { prompt: answer["text"] ?? "" };
  };
}

/** The same Prometheus text that its server would show, asked for over the pipe. */
function metricsWatch(engine: VllmEngine, clock: Clock): EngineWatch {
  const call: HttpCall = async (_method, url) => {
    const answer = new URL(url).pathname === "/metrics" ? await engine.ask("metrics", {}) : null;
    const text = answer?.["text"];
    return typeof text === "string"
      ? { status: 200, software: null, body: text }
      : { status: 404, software: null, body: "" };
  };
  const url = (path: string): string => `http://localhost${path}`;
  const watch = createServerWatch({ wanted: "auto", known: null, model: engine.model, url, clock, call });
  return {
    ...watch,
    open: async (span_ms, warn) => ({ ...engine.facts, ...(await watch.open(span_ms, warn)) }),
  };
}

/** Beside this code when it runs from source; at the top of the package's dist/ when it is bundled. */
function childScript(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [
    join(here, "vllm_child.py"),
    join(here, "..", "vllm_child.py"),
    join(here, "..", "client", "engines", "vllm", "vllm_child.py"),
  ];
  const found = places.find((path) => existsSync(path));
  if (found === undefined) throw new Error("vllm_child.py is missing from this installation");
  return found;
}
