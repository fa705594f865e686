/** From an engine section and knobs to a server that answers: port, files, process, readiness; undone on any failure. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../core/clock.ts";
import type { Ms } from "../core/units.ts";
import type { HttpCall } from "./http-call.ts";
import { findLauncher } from "./launchers/index.ts";
import type { EngineSpec, LaunchCommand } from "./launchers/launcher.ts";
import { ServerProcess } from "./process.ts";
import { assertPortFree, awaitReady, freePort, type ReadyAnswer } from "./readiness.ts";

export interface LaunchOptions {
  readonly spec: EngineSpec;
  /** 0 = any free one. */
  readonly port: number;
  /** Folder of this server: log, config files. Made if it is not there. */
  readonly folder: string;
  /** `null` = the launcher's usual time. */
  readonly ready_timeout_ms: Ms | null;
  readonly grace_ms: Ms;
  readonly own_port: boolean;
  readonly clock: Clock;
  readonly call: HttpCall;
  readonly signal?: AbortSignal;
}

export interface LaunchedServer {
  readonly process: ServerProcess;
  readonly command: LaunchCommand;
  readonly ready: ReadyAnswer;
}

/** Starts a server and waits until it answers. What was started is stopped again if that fails. */
export async function launchServer(options: LaunchOptions): Promise<LaunchedServer> {
  const { spec, folder, clock } = options;
  const launcher = findLauncher(spec.launcher);
  const port = options.port === 0 ? await freePort(spec.host) : options.port;
  let metricsPort = await freePort(spec.host);
  while (metricsPort === port) metricsPort = await freePort(spec.host);
  const command = launcher.command(spec, { port, metrics_port: metricsPort, folder });
  await assertPortFree(spec.host, port);
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries(command.files)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const process = await ServerProcess.start({
    argv: command.argv,
    env: command.env,
    log_file: join(folder, "server.log"),
    grace_ms: options.grace_ms,
    clock,
  });
  try {
    const ready = await awaitReady({
      process,
      base_url: command.base_url,
      health_path: command.health_path,
      model: command.model,
      timeout_ms: options.ready_timeout_ms ?? launcher.ready_timeout_ms,
      own_port: options.own_port,
      call: options.call,
      clock,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    return { process, command, ready };
  } catch (error) {
    await process.stop();
    throw error;
  }
}
