/** Which engine runs in this process, and what cannot be meant together with one (ADR 10). */
import { UserError } from "../core/failure.ts";
import type { TargetGiven } from "./http-target.ts";

export type InProcessEngine = "llama-cpp" | "vllm";

/** The options that the choice depends on. */
export type EngineGiven = Pick<TargetGiven, "backend" | "base_url" | "host" | "port" | "endpoint">;

/**
 * `null` = a server behind HTTP, or the simulator. `vllm` is the name of both vLLM's server and its engine: where `vllmMayRun` (replay),
 * it is the engine unless an address is given; elsewhere it is always the server.
 */
export function inProcessEngine(given: EngineGiven, vllmMayRun: boolean): InProcessEngine | null {
  const backend = given.backend?.trim().toLowerCase();
  if (backend === "llama-cpp") return backend;
  return backend === "vllm" && vllmMayRun && !hasAddress(given) ? backend : null;
}

export function hasAddress(given: EngineGiven): boolean {
  return (given.base_url ?? given.host ?? given.port ?? given.endpoint) !== undefined;
}

/** One line for the user: `--backend vllm` means two things. `null` = nothing to say. */
export function engineChoice(given: EngineGiven, vllmMayRun: boolean): string | null {
  const engine = inProcessEngine(given, vllmMayRun);
  if (engine === "vllm")
    return "--backend vllm without an address: vLLM's engine itself, in a Python process of this run; --base-url sends to a vLLM server";
  if (engine === "llama-cpp")
    return "--backend llama-cpp: llama.cpp in this process; for its server use --backend llama.cpp and --base-url";
  return vllmMayRun && given.backend?.trim().toLowerCase() === "vllm"
    ? "--backend vllm with an address: a vLLM server behind HTTP; without one the engine would run in this process"
    : null;
}

/** Options that speak of a connection. */
const OF_HTTP = [
  "api_key_env",
  "api_key_file",
  "header",
  "insecure",
  "ca",
  "http2",
  "proxy",
] as const satisfies readonly (keyof TargetGiven)[];

type EngineRunGiven = TargetGiven & { readonly best_of?: number; readonly use_beam_search?: boolean };

/** The flags given that only HTTP has a use for. */
export function httpFlags(given: EngineRunGiven): string[] {
  return OF_HTTP.filter((key) => given[key] !== undefined && given[key] !== false).map(
    (key) => `--${key.replaceAll("_", "-")}`,
  );
}

/** {@link UserError} for what cannot be meant together. `null`: no engine in this process. */
export function checkEngine(given: EngineRunGiven, engine: InProcessEngine | null): void {
  if (engine === null) {
    if (given.engine === undefined) return;
    throw new UserError("--engine sets up an engine in this process, and this run has none", {
      hint: "--backend llama-cpp, or replay --backend vllm without an address",
    });
  }
  if (hasAddress(given))
    throw new UserError(`--backend ${engine} and an address contradict each other`, {
      hint: "llama.cpp runs in this process; for its server use --backend llama.cpp",
    });
  const [ofHttp] = httpFlags(given);
  if (ofHttp !== undefined)
    throw new UserError(`${ofHttp}: --backend ${engine} runs in this process, without HTTP`, {
      hint: "leave it out, or name a server with --base-url",
    });
  if (given.use_beam_search === true || (given.best_of ?? 1) > 1)
    throw new UserError(
      `${given.use_beam_search === true ? "--use-beam-search" : "--best-of"}: an engine in this process gives one answer to a request`,
    );
  if ((given.retries ?? 0) > 0)
    throw new UserError(`--retries: an engine in this process is never asked again`);
  if (given.model === undefined)
    throw new UserError(`--backend ${engine} needs --model`, {
      hint: engine === "vllm" ? "a name or a folder, as vllm serve takes it" : "the path of a GGUF file",
    });
  const metrics = given.engine_metrics ?? "off";
  if (metrics !== "off" && (engine === "llama-cpp" || metrics !== "auto"))
    throw new UserError(`--engine-metrics: --backend ${engine} has no address`, {
      hint: engine === "vllm" ? "auto or off" : "llama.cpp in this process keeps none",
    });
  if (engine === "llama-cpp" && given.tokenizer !== undefined)
    throw new UserError("--tokenizer: --backend llama-cpp uses the model's own");
}
