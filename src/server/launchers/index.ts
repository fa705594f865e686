/** The table of launchers. Adding an engine: its own file here, and one line below. */
import { UserError } from "../../core/failure.ts";
import { nearestHint } from "../../core/nearest.ts";
import { command } from "./command.ts";
import { fastdeploy } from "./fastdeploy.ts";
import type { Launcher } from "./launcher.ts";
import { llamaCpp } from "./llama-cpp.ts";
import { sglang } from "./sglang.ts";
import { sim } from "./sim.ts";
import { trtllm } from "./trtllm.ts";
import { vllm } from "./vllm.ts";

export const launchers: readonly Launcher[] = [vllm, sglang, trtllm, fastdeploy, llamaCpp, sim, command];

/** Other spellings people use. */
const ALIASES: Record<string, string> = {
  "tensorrt-llm": "trtllm",
  "trtllm-serve": "trtllm",
  "llama.cpp": "llama-cpp",
  llamacpp: "llama-cpp",
  "llama-server": "llama-cpp",
  simulator: "sim",
};

export function findLauncher(name: string): Launcher {
  const wanted = ALIASES[name.toLowerCase()] ?? name.toLowerCase();
  const found = launchers.find((launcher) => launcher.name === wanted);
  if (found !== undefined) return found;
  const names = launchers.map((launcher) => launcher.name);
  throw new UserError(`no engine "${name}"`, {
    hint: nearestHint(name, names) ?? `engines: ${names.join(", ")}; any other server: type: command`,
  });
}
