/** The target of a run: a server behind HTTP, or an engine in this process, simulated or real. */
import { UserError } from "../core/failure.ts";
import type { Ms } from "../core/units.ts";
import { openEngineTarget } from "./engine-target.ts";
import { openHttpTarget, type TargetGiven } from "./http-target.ts";
import { checkEngine, engineChoice, httpFlags, inProcessEngine } from "./in-process-engine.ts";
import type { RunEnvironment } from "./run-environment.ts";
import { openSimTarget } from "./sim-target.ts";
import type { Target } from "./target.ts";

export interface OpenTargetOptions {
  readonly given: TargetGiven;
  readonly seed: number;
  readonly env: RunEnvironment;
  readonly defaultBackend: "openai" | "openai-chat";
  readonly defaultHost: string;
  /** Wait so long for somebody to listen; 0 = a refused connection is an error at once. */
  readonly waitMs: Ms;
  /** `--backend vllm` without an address is vLLM's engine in this process (replay); else it is a server always. */
  readonly vllmMayRun?: boolean;
  /** The user's `--seed`; absent = none was given. */
  readonly engineSeed?: number | null;
}

export function openTarget(options: OpenTargetOptions): Promise<Target> {
  const { given, seed, env } = options;
  if (given.backend === "sim") {
    // A command line that is tried out here may be meant for a server.
    const ofHttp = [...httpFlags(given), ...(given.extra_body === undefined ? [] : ["--extra-body"])];
    if (ofHttp.length > 0)
      env.note?.(`${ofHttp.join(", ")}: the simulated engine in this process has no use for it`);
    return Promise.resolve(
      openSimTarget({
        settings: given.sim ?? {},
        model: given.served_model_name ?? given.model ?? null,
        seed,
        clock: env.clock,
        virtualTime: given.virtual_time ?? false,
        ...(given.timeout === undefined ? {} : { timeoutMs: given.timeout }),
        watch: given.engine_metrics !== "off",
      }),
    );
  }
  const mayRun = options.vllmMayRun ?? false;
  const choice = engineChoice(given, mayRun);
  if (choice !== null) env.note?.(choice);
  const engine = inProcessEngine(given, mayRun);
  if (engine !== null)
    return openEngineTarget({ given, engine, seed: options.engineSeed ?? null, env, waitMs: options.waitMs });
  return openHttpTarget({
    given,
    env: env.env,
    clock: env.clock,
    defaultBackend: options.defaultBackend,
    defaultHost: options.defaultHost,
    waitMs: options.waitMs,
    known: env.server ?? null,
    onWait: (text) => env.warn(text),
  });
}

/** Options of the target that cannot be meant together. */
export function checkTarget(given: TargetGiven, vllmMayRun = false): void {
  const clash = (a: string, b: string, hint: string): never => {
    throw new UserError(`${a} and ${b} contradict each other`, { hint });
  };
  checkEngine(given, inProcessEngine(given, vllmMayRun));
  const sim = given.backend === "sim";
  if (given.base_url !== undefined && (given.host !== undefined || given.port !== undefined))
    clash("--base-url", given.host === undefined ? "--port" : "--host", "give the URL, or host and port");
  if (given.api_key_env !== undefined && given.api_key_file !== undefined)
    clash("--api-key-env", "--api-key-file", "give one of them");
  if (sim && (given.base_url ?? given.host ?? given.port ?? given.endpoint) !== undefined)
    clash(
      "--backend sim",
      "an address",
      "the simulated engine runs in this process; reprise sim starts one behind HTTP",
    );
  if (!sim && given.sim !== undefined)
    throw new UserError("--sim sets up the simulated engine, which needs --backend sim");
  if (!sim && given.virtual_time === true)
    throw new UserError("--virtual-time needs --backend sim: a real server runs on real time");
  if (sim && given.engine_metrics !== undefined && !["auto", "off"].includes(given.engine_metrics))
    throw new UserError("--engine-metrics: the simulated engine in this process has no address", {
      hint: "auto or off",
    });
  if (given.retries !== undefined && given.retries > 0 && sim)
    throw new UserError("--retries: the simulated engine in this process is never retried");
}
