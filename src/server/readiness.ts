/**
 * Is the server that answers the one that was launched, with the model that was asked for? `/health` alone does not
 * tell: a leftover server on the same port answers it too. Ready means a real one-token completion, by our own process.
 */
import { connect, createServer } from "node:net";
import { sleep, sleepUntil, type Clock } from "../core/clock.ts";
import { formatDuration } from "../core/duration.ts";
import { EXIT, UserError } from "../core/failure.ts";
import { drawSeed } from "../core/random.ts";
import { RealClock } from "../core/real-clock.ts";
import { shortText } from "../core/terminal-text.ts";
import type { Ms } from "../core/units.ts";
import type { HttpCall, HttpAnswer } from "./http-call.ts";
import { portListeners } from "./process-group.ts";
import type { ServerProcess } from "./process.ts";

const POLL_MS = 200;
const LOG_LINES = 15;
/** A question that is open for longer says more than the answer before it. */
const SILENT_MS = 400;

export interface ReadyQuestion {
  readonly process: ServerProcess;
  readonly base_url: string;
  readonly health_path: string | null;
  /** What replies must call the model; "" = whatever the server serves. */
  readonly model: string;
  readonly timeout_ms: Ms;
  /** Must the port belong to the launched process (off for containers, whose ports another process holds)? */
  readonly own_port: boolean;
  readonly call: HttpCall;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

export interface ReadyAnswer {
  /** As `/v1/models` names it: what requests must ask for. */
  readonly model: string;
  readonly waited_ms: Ms;
  /** Headers and model entry, for the manifest. */
  readonly server: { readonly software: string | null; readonly max_model_len: number | null };
}

/** A server that was just ended may leave its port to the kernel for a moment: nobody listens, and nobody can. */
const PORT_SETTLES_MS = 1000;
const PORT_POLL_MS = 50;

/** Refuses a port that something already listens on: whoever that is, it would be measured by mistake. */
export async function assertPortFree(
  host: string,
  port: number,
  clock: Clock = new RealClock(),
): Promise<void> {
  const until = clock.now() + PORT_SETTLES_MS;
  for (;;) {
    if (!(await answers(host, port)) && (await bindable(host, port))) return;
    const owners = portListeners(port);
    // Known to be nobody's: wait; anybody's, or not known: refuse.
    if (owners === null || owners.length > 0 || clock.now() >= until) {
      const owner = owners?.[0];
      throw new UserError(
        `port ${port} is already taken${owner === undefined ? "" : ` by process ${owner.pid} (${shortText(owner.name, 60)})`}`,
        { hint: "stop it, or give engine.port another number", exitCode: EXIT.unreachable },
      );
    }
    await sleep(clock, PORT_POLL_MS);
  }
}

/** Below the ports that outgoing connections get (32768 on Linux, 49152 elsewhere), and above those that services have. */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
let nextPort = drawSeed() % PORTS;

/**
 * A port that is free now, and that no outgoing connection of this machine takes before a slow server listens on it. Two calls
 * give two ports.
 */
export async function freePort(host: string): Promise<number> {
  for (let tried = 0; tried < PORTS; tried++) {
    const port = FIRST_PORT + (nextPort++ % PORTS);
    if (await bindable(host, port)) return port;
  }
  throw new UserError(`no port of ${host} is free`, { exitCode: EXIT.unreachable });
}

/** Resolves when the launched server answers a completion. Every other end is a `UserError` with its last log lines. */
export async function awaitReady(question: ReadyQuestion): Promise<ReadyAnswer> {
  const { clock, process: server, signal } = question;
  const start = clock.now();
  let last = "nothing listens yet";
  /** A question that has no answer yet. */
  let open: { readonly what: string; readonly since: Ms } | null = null;
  const call: HttpCall = async (method, url, body) => {
    open = { what: `${method} ${new URL(url).pathname}`, since: clock.now() };
    const answer = await question.call(method, url, body);
    open = null;
    return answer;
  };
  const calledOff = new AbortController();
  const aborted = abortion(signal, calledOff.signal);
  // A server that takes a question and never answers it must not outwait the limit.
  const nothing = (): null => null;
  const limit = sleepUntil(clock, start + question.timeout_ms, calledOff.signal).then(nothing, nothing);
  try {
    return await poll();
  } finally {
    calledOff.abort();
  }

  async function poll(): Promise<ReadyAnswer> {
    for (;;) {
      // The wait for an answer is cut short by the server's death.
      const pending = Promise.race([probe({ ...question, call }), limit, aborted]);
      const state = await (server.exit === null
        ? Promise.race([pending, server.exited.then(() => null)])
        : pending);
      if (server.exit !== null && !(server.exit.code === 0 && server.alive())) throw died(question);
      if (state !== null && state.kind === "ready") {
        return { model: state.model, waited_ms: clock.now() - start, server: state.server };
      }
      if (state !== null) {
        if (state.kind === "wrong") throw refused(question, state.reason);
        last = state.reason;
      }
      if (clock.now() - start >= question.timeout_ms) {
        const isSilent = state === null && open !== null && clock.now() - open.since > SILENT_MS;
        const reason = isSilent ? `it does not answer ${open?.what}` : last;
        throw refused(question, `not ready within ${formatDuration(question.timeout_ms)}: ${reason}`);
      }
      // A launcher script may end well while the server it started lives on: then there is nothing to race with.
      const pause = sleep(clock, POLL_MS);
      await (server.exit === null ? Promise.race([pause, server.exited]) : pause);
    }
  }
}

/** Rejects when the wait is called off; never settles without that. `over` ends the listening. */
function abortion(signal: AbortSignal | undefined, over: AbortSignal): Promise<never> {
  const promise = new Promise<never>((_resolve, reject) => {
    if (signal === undefined) return;
    if (signal.aborted) reject(signal.reason as Error);
    else signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true, signal: over });
  });
  // It may come between two waits.
  promise.catch(() => undefined);
  return promise;
}

type Probe =
  | { readonly kind: "ready"; readonly model: string; readonly server: ReadyAnswer["server"] }
  | { readonly kind: "waiting" | "wrong"; readonly reason: string };

async function probe(question: ReadyQuestion): Promise<Probe> {
  const { base_url: base, call } = question;
  const waiting = (reason: string): Probe => ({ kind: "waiting", reason });
  // Whose answer it was is asked after the answer: a stranger may have taken the port a moment ago.
  const wrong = (reason: string): Probe => ({ kind: "wrong", reason: strangerOnPort(question) ?? reason });
  try {
    if (question.health_path !== null) {
      const health = await call("GET", base + question.health_path);
      // A server without that path is judged by its completion alone.
      if (health.status !== 200 && health.status !== 404)
        return waiting(`${question.health_path} answers ${health.status}`);
    }
    const early = strangerOnPort(question);
    if (early !== null) return { kind: "wrong", reason: early };
    const models = await call("GET", `${base}/v1/models`);
    if (models.status === 503) return waiting("/v1/models answers 503");
    const known = modelEntries(models);
    const model = question.model === "" ? (known[0]?.id ?? "") : question.model;
    if (known.length > 0 && !known.some((entry) => entry.id === model)) {
      const served = known.map((entry) => shortText(entry.id, 60)).join(", ");
      return wrong(`it serves ${served}, not ${model}`);
    }
    const reply = await oneToken(call, base, model);
    if (reply.status >= 500 || reply.status === 429)
      return waiting(`a completion answers ${reply.status}: ${said(reply)}`);
    if (reply.status < 200 || reply.status >= 300)
      return wrong(`a one-token completion fails with ${reply.status}: ${said(reply)}`);
    if (!isCompletion(reply)) return waiting(`a completion answers 200 without one: ${said(reply)}`);
    const stranger = strangerOnPort(question);
    if (stranger !== null) return { kind: "wrong", reason: stranger };
    return {
      kind: "ready",
      model,
      server: {
        software: models.software,
        max_model_len: known.find((entry) => entry.id === model)?.max_model_len ?? null,
      },
    };
  } catch (error) {
    return waiting((error as Error).message);
  }
}

async function oneToken(call: HttpCall, base: string, model: string): Promise<HttpAnswer> {
  const ask = { model, max_tokens: 1, temperature: 0, stream: false };
  const reply = await call("POST", `${base}/v1/completions`, { ...ask, prompt: "Hello" });
  if (reply.status !== 404 && reply.status !== 405 && reply.status !== 501) return reply;
  return call("POST", `${base}/v1/chat/completions`, {
    ...ask,
    messages: [{ role: "user", content: "Hello" }],
  });
}

function strangerOnPort({ own_port: own, base_url: base, process: server }: ReadyQuestion): string | null {
  if (!own) return null;
  const port = Number(new URL(base).port);
  const listeners = portListeners(port);
  if (listeners === null || listeners.length === 0) return null;
  const stranger = listeners.find(({ pid }) => !server.owns(pid));
  if (stranger === undefined) return null;
  return (
    `port ${port} is served by process ${stranger.pid} (${shortText(stranger.name, 60)}), which is not the launched ` +
    "server (engine.own_port: false allows it, for containers)"
  );
}

interface ModelEntry {
  readonly id: string;
  readonly max_model_len: number | null;
}

function modelEntries(reply: HttpAnswer): ModelEntry[] {
  if (reply.status !== 200) return [];
  const body = parseJson(reply.body);
  if (typeof body !== "object" || body === null || !("data" in body) || !Array.isArray(body.data)) return [];
  return body.data.flatMap((entry: unknown) => {
    if (typeof entry !== "object" || entry === null || !("id" in entry) || typeof entry.id !== "string")
      return [];
    const length =
      "max_model_len" in entry && typeof entry.max_model_len === "number" ? entry.max_model_len : null;
    return [{ id: entry.id, max_model_len: length }];
  });
}

function isCompletion(reply: HttpAnswer): boolean {
  const body = parseJson(reply.body);
  return (
    typeof body === "object" &&
    body !== null &&
    "choices" in body &&
    Array.isArray(body.choices) &&
    body.choices.length > 0
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function said(reply: HttpAnswer): string {
  return shortText(reply.body.trim(), 200);
}

function died(question: ReadyQuestion): UserError {
  const exit = question.process.exit;
  const how = exit?.signal === null ? `exited with status ${exit.code}` : `was ended by ${exit?.signal}`;
  return refused(question, `it ${how} before it was ready`);
}

function refused({ process: server }: ReadyQuestion, reason: string): UserError {
  const lines = server.lastLines(LOG_LINES);
  const log = lines.length === 0 ? "it wrote nothing" : `its last lines:\n  ${lines.join("\n  ")}`;
  return new UserError(`the launched server is not usable: ${reason}`, {
    hint: `${log}\nwhole log: ${server.log_file}`,
    exitCode: EXIT.unreachable,
  });
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host, port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function bindable(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code !== "EADDRINUSE"));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}
