import { spawn } from "node:child_process";
import { getEventListeners } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../core/failure.ts";
import { RealClock } from "../core/real-clock.ts";
import { secrets } from "../core/secret.ts";
import { createHttpCall } from "./http-call.ts";
import { portListeners, serverProcesses } from "./process-group.ts";
import { ServerProcess } from "./process.ts";
import { assertPortFree, awaitReady, freePort, type ReadyQuestion } from "./readiness.ts";

const repository = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const fake = join(repository, "test", "fake-engines", "fake-engine.mjs");
const clock = new RealClock();
const linux = process.platform === "linux";

let folder: string;
const started: ServerProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-server-"));
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(argv: readonly string[], graceMs = 300): Promise<ServerProcess> {
  const server = await ServerProcess.start({
    argv,
    env: {},
    log_file: join(folder, "server.log"),
    grace_ms: graceMs,
    clock,
  });
  started.push(server);
  return server;
}

const startFake = (port: number, ...flags: string[]): Promise<ServerProcess> =>
  start([process.execPath, fake, "--port", String(port), ...flags]);

function question(server: ServerProcess, port: number, more: Partial<ReadyQuestion> = {}): ReadyQuestion {
  return {
    process: server,
    base_url: `http://127.0.0.1:${port}`,
    health_path: "/health",
    model: "fake-model",
    timeout_ms: 20_000,
    own_port: true,
    call: createHttpCall(clock, 2_000),
    clock,
    ...more,
  };
}

async function failure(promise: Promise<unknown>): Promise<UserError> {
  const error: unknown = await promise.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UserError);
  return error as UserError;
}

describe("readiness", () => {
  it("is a completion of the launched process", async () => {
    const port = await freePort("127.0.0.1");
    const server = await startFake(port, "--slow-start", "300");
    const ready = await awaitReady(question(server, port));
    expect(ready.model).toBe("fake-model");
    expect(ready.server).toEqual({ software: "fake-engine", max_model_len: 4096 });
    if (linux) expect(portListeners(port)?.map(({ pid }) => pid)).toEqual([server.pid]);
    await server.stop();
    await assertPortFree("127.0.0.1", port);
  });

  it("takes the served model where none was asked for, and a server without /health", async () => {
    const port = await freePort("127.0.0.1");
    const server = await startFake(port, "--health", "none", "--model", "other");
    expect((await awaitReady(question(server, port, { model: "" }))).model).toBe("other");
  });

  it("a wrong model is refused at once, with both names", async () => {
    const port = await freePort("127.0.0.1");
    const server = await startFake(port, "--model", "old");
    const error = await failure(awaitReady(question(server, port, { timeout_ms: 600_000 })));
    expect(error.message).toContain("it serves old, not fake-model");
    expect(error.exitCode).toBe(3);
  });

  it("a child that exits after 1 s fails in seconds, with its last lines, though 600 s are allowed (case 32)", async () => {
    const port = await freePort("127.0.0.1");
    const begin = clock.now();
    const server = await startFake(
      port,
      "--health",
      "503",
      "--exit-after",
      "1000",
      "--exit-line",
      "CUDA out of memory",
    );
    const error = await failure(awaitReady(question(server, port, { timeout_ms: 600_000 })));
    expect(clock.now() - begin).toBeLessThan(6_000);
    expect(error.message).toContain("exited with status 1");
    expect(error.hint).toContain("CUDA out of memory");
  });

  it("503 for ever ends with the timeout and the log", async () => {
    const port = await freePort("127.0.0.1");
    const server = await startFake(port, "--health", "503", "--noise", "3");
    const error = await failure(awaitReady(question(server, port, { timeout_ms: 1_000 })));
    expect(error.message).toContain("not ready within 1 s: /health answers 503");
    expect(error.hint).toContain("noise 2");
  });

  it("a server that takes questions and answers none does not outwait the limit", async () => {
    const port = await freePort("127.0.0.1");
    const server = await start([
      process.execPath,
      "-e",
      `require("node:net").createServer(() => undefined).listen(${port}, "127.0.0.1")`,
    ]);
    const before = clock.now();
    const call = createHttpCall(clock, 60_000);
    const error = await failure(awaitReady(question(server, port, { timeout_ms: 1_000, call })));
    expect(error.message).toContain("not ready within 1 s: it does not answer GET /health");
    expect(clock.now() - before).toBeLessThan(10_000);
  });

  it("listens to an interrupt only while it waits", async () => {
    const port = await freePort("127.0.0.1");
    const server = await startFake(port);
    const { signal } = new AbortController();
    const listening = (): number => getEventListeners(signal, "abort").length;
    const waiting = awaitReady(question(server, port, { signal }));
    expect(listening()).toBe(1);
    await waiting;
    expect(listening()).toBe(0);
  });

  it("healthy but unable to complete is not ready; a completion refused as a client error is final", async () => {
    const port = await freePort("127.0.0.1");
    const server = await startFake(port, "--completion", "500");
    const waited = await failure(awaitReady(question(server, port, { timeout_ms: 800 })));
    expect(waited.message).toContain("a completion answers 500");
    await server.stop();
    const other = await startFake(port, "--completion", "401");
    const final = await failure(awaitReady(question(other, port, { timeout_ms: 600_000 })));
    expect(final.message).toContain("401");
  });

  it("a port that is taken is refused before the launch, and a stranger on it after (case 32)", async () => {
    const stranger: Server = createServer((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end('{"data":[{"id":"fake-model"}],"choices":[{"text":"x"}]}');
    });
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    const port = (stranger.address() as { port: number }).port;
    try {
      const taken = await failure(assertPortFree("127.0.0.1", port));
      expect(taken.message).toContain(`port ${port} is already taken`);
      expect(taken.exitCode).toBe(3);
      if (linux) expect(taken.message).toContain(`process ${process.pid}`);

      // The launched process lives but never gets the port: the stranger's right answers must not count.
      const server = await start(["/bin/sh", "-c", "echo waiting for the port; sleep 60"]);
      if (linux) {
        const error = await failure(awaitReady(question(server, port, { timeout_ms: 5_000 })));
        expect(error.message).toContain("not the launched server");
      }
    } finally {
      stranger.close();
    }
  });

  it("a program that does not exist is a user error", async () => {
    const error = await failure(start(["no-such-program-of-ours"]));
    expect(error.message).toContain("no such program");
  });
});

describe("stopping (case 33)", () => {
  const grandchild = `sh -c 'trap "" TERM; echo grandchild; while :; do sleep 0.1; done' & wait`;

  it("ends a grandchild that ignores TERM, and returns only then", async () => {
    const server = await start(["/bin/sh", "-c", grandchild]);
    while (!server.lastLines().includes("grandchild"))
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(serverProcesses(server.pid, server.mark).length).toBeGreaterThanOrEqual(2);
    await server.stop();
    expect(serverProcesses(server.pid, server.mark)).toEqual([]);
  });

  it.runIf(linux)("ends a daemon that left the process group", async () => {
    const port = await freePort("127.0.0.1");
    const server = await start([
      "/bin/sh",
      "-c",
      `setsid ${process.execPath} ${fake} --port ${port} --ignore-term & exit 0`,
    ]);
    // The launcher script is gone with status 0, its server lives: that is a start, not a failure.
    await awaitReady(question(server, port));
    expect(server.exit).toEqual({ code: 0, signal: null });
    expect(server.alive()).toBe(true);
    await server.stop();
    await assertPortFree("127.0.0.1", port);
  });

  it("frees the port even of a server that ignores TERM; stop can be called twice", async () => {
    const port = await freePort("127.0.0.1");
    const server = await startFake(port, "--ignore-term");
    await awaitReady(question(server, port));
    await Promise.all([server.stop(), server.stop()]);
    await assertPortFree("127.0.0.1", port);
    await server.stop();
  });

  it.runIf(linux)("the watchdog ends the server when this process is killed outright", async () => {
    const port = await freePort("127.0.0.1");
    const script = join(folder, "owner.mjs");
    writeFileSync(
      script,
      `import { ServerProcess } from ${JSON.stringify(join(repository, "src/server/process.ts"))};
       import { RealClock } from ${JSON.stringify(join(repository, "src/core/real-clock.ts"))};
       const server = await ServerProcess.start({
         argv: ["/bin/sh", "-c", ${JSON.stringify(`setsid sh -c 'trap "" TERM; while :; do sleep 0.1; done' & exec "$@"`)}, "sh",
           process.execPath, ${JSON.stringify(fake)}, "--port", "${port}", "--ignore-term"],
         env: {}, log_file: ${JSON.stringify(join(folder, "owned.log"))}, grace_ms: 300, clock: new RealClock() });
       console.log(server.pid, server.mark); setInterval(() => {}, 1000);`,
    );
    const bundled = join(folder, "owner.bundle.mjs");
    const { build } = await import("esbuild");
    await build({
      entryPoints: [script],
      outfile: bundled,
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    const owner = spawn(process.execPath, [bundled], { stdio: ["ignore", "pipe", "inherit"] });
    const [word, mark = ""] = await new Promise<string[]>((resolve) =>
      owner.stdout.once("data", (text: Buffer) => resolve(text.toString().trim().split(" "))),
    );
    const pid = Number(word);
    while (portListeners(port)?.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    // The server, and a shell (with its sleep) that left the group.
    while (serverProcesses(pid, mark).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    owner.kill("SIGKILL");
    const deadline = clock.now() + 8_000;
    while (serverProcesses(pid, mark).length > 0 && clock.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 50));
    expect(serverProcesses(pid, mark)).toEqual([]);
    await assertPortFree("127.0.0.1", port);
  });
});

describe("log", () => {
  it("a noisy server never blocks, and the last lines are kept", async () => {
    const port = await freePort("127.0.0.1");
    const server = await startFake(port, "--noise", "20000");
    await awaitReady(question(server, port));
    const lines = server.lastLines(2);
    expect(lines.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
      "noise 19998",
      "noise 19999",
    ]);
  });

  it("holds no secret after the stop, and shows none before", async () => {
    secrets.add("sk-CANARY-server-log");
    const server = await start(["/bin/sh", "-c", "echo key sk-CANARY-server-log"]);
    await server.exited;
    expect(server.lastLines()).toEqual(["key [redacted]"]);
    await server.stop();
    expect(readFileSync(server.log_file, "utf8")).not.toContain("CANARY");
  });
});
