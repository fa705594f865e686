/** A real llama.cpp server of the tiny random model, where it is set up (scripts/engines/llama-cpp.mjs). */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../src/core/clock.ts";
import type { HttpCall } from "../../src/server/http-call.ts";
import { launchServer, type LaunchedServer } from "../../src/server/launch-server.ts";

const engines = join(dirname(fileURLToPath(import.meta.url)), "..", "..", ".cache", "engines");
const program = join(engines, "llama.cpp", "llama-server");
const model = join(engines, "tiny.gguf");

/** Whether it is set up; says so on the console where it is not. */
export function llamaCppIsThere(): boolean {
  const there = existsSync(program) && existsSync(model);
  if (!there)
    console.warn("llama.cpp is not set up, its tests are skipped: node scripts/engines/llama-cpp.mjs");
  return there;
}

export interface RunningLlamaCpp extends LaunchedServer {
  /** Stops the server and takes its folder away. */
  end(): Promise<void>;
}

/** Two slots of 2,048 tokens each. */
export async function startLlamaCpp(clock: Clock, call: HttpCall): Promise<RunningLlamaCpp> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-llama-"));
  const server = await launchServer({
    spec: {
      launcher: "llama-cpp",
      model,
      command: program,
      args: ["-t", "1"],
      env: {},
      config: null,
      files: {},
      shell: false,
      host: "127.0.0.1",
      knobs: { max_batch_size: 2, max_batch_tokens: 64, context_length: 4096 },
    },
    port: 0,
    folder,
    ready_timeout_ms: 60_000,
    grace_ms: 2_000,
    own_port: true,
    clock,
    call,
  });
  return {
    ...server,
    end: async () => {
      await server.process.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
