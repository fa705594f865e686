/**
 * vLLM's AsyncLLMEngine in a Python child, without HTTP: `--backend vllm` where no address is given. Instants are those at which
 * the child held the engine's output, carried over to our clock; what the pipe and this process take is in none of them.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, type Timer } from "../../../core/clock.ts";
import { EXIT, UserError } from "../../../core/failure.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { Ms } from "../../../core/units.ts";
import type { EngineTimes } from "../../../record/observation.ts";
import type { Engine, EngineRequest, EngineSink, EngineWork } from "../engine.ts";
import { anchorChildClock, type ChildClock } from "./child-clock.ts";
import {
  type EndMessage,
  parseChildMessage,
  type ReadyMessage,
  type ReplyMessage,
  submitText,
} from "./child-messages.ts";
import { LineChild } from "./child-process.ts";

/** Weights of a big model take their time. */
const READY_MS = 1_800_000;
const GRACE_MS = 15_000;
const TAIL_LINES = 12;

export interface VllmEngineOptions {
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** The interpreter; `null` = the active virtual environment's, else `python3`. */
  readonly python: string | null;
  /** `vllm_child.py`. */
  readonly script: string;
  /** The engine's own flags, as `vllm serve` takes them. */
  readonly args: readonly string[];
  readonly readyMs?: Ms;
  readonly graceMs?: Ms;
  /** The engine died, or did not start: what it printed last, several lines. */
  onTrouble(text: string): void;
}

export interface VllmEngine extends Engine {
  /** As the child names it. */
  readonly model: string;
  /** Version, configuration, and how well the two clocks are known. */
  readonly facts: JsonObject;
  readonly pid: number;
  /** Asks the child; `null` where it has no answer. */
  ask(op: "tokenize" | "detokenize" | "metrics", fields: JsonObject): Promise<JsonObject | null>;
}

interface VllmWork extends EngineWork {
  /** The line but for its id. */
  readonly text: string;
}

interface Open {
  readonly sink: EngineSink;
  readonly line: string;
}

class PipedVllm implements VllmEngine {
  readonly name: string;
  readonly model: string;
  readonly facts: JsonObject;
  readonly #child: LineChild;
  readonly #clock: Clock;
  readonly #childClock: ChildClock;
  readonly #link: Link;
  #next = 0;

  constructor(link: Link, ready: ReadyMessage, childClock: ChildClock, clock: Clock) {
    this.#link = link;
    this.#child = link.child;
    this.#clock = clock;
    this.#childClock = childClock;
    this.model = ready.model;
    this.name = `vllm ${ready.model}`;
    this.facts = {
      engine: "vllm",
      in_process: true,
      version: ready.version,
      clock_error_ms: childClock.error_ms,
      ...ready.facts,
    };
    link.onMessage = (message) => {
      if (message.e === "tok") this.#link.open.get(message.i)?.sink.tokens(message.n, this.#at(message.at));
      else if (message.e === "end") this.#end(message);
      else if (message.e === "fail")
        this.#take(message.i)?.fail({ kind: message.kind, message: message.message }, this.#at(message.at));
    };
  }

  get pid(): number {
    return this.#child.pid;
  }

  prepare(request: EngineRequest): VllmWork {
    const text = submitText(request);
    return { text, bytes: text.length };
  }

  submit(work: EngineWork, sink: EngineSink): () => void {
    const { open } = this.#link;
    if (this.#child.ended !== null) {
      const message = `the engine's process has ended (${this.#child.ended})`;
      const now = this.#clock.now();
      this.#clock.at(now, () => sink.fail({ kind: "absent", message }, now));
      return () => undefined;
    }
    const id = this.#next++;
    const line = `{"id":${id},${(work as VllmWork).text}`;
    open.set(id, { sink, line });
    this.#child.write(line, (at) => sink.sent(at));
    return () => {
      if (!open.delete(id)) return;
      if (!this.#child.takeBack(line)) this.#child.write(JSON.stringify({ op: "abort", id }));
    };
  }

  ask(op: string, fields: JsonObject): Promise<JsonObject | null> {
    return this.#link.ask(op, fields).then((reply) => {
      if (reply === null || reply.error !== undefined) return null;
      const { e: _e, call: _call, ...answer } = reply;
      return answer as JsonObject;
    });
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  #at(ns: number): Ms {
    return this.#childClock.toOurs(ns);
  }

  #take(id: number): EngineSink | null {
    const found = this.#link.open.get(id);
    this.#link.open.delete(id);
    return found?.sink ?? null;
  }

  #end(end: EndMessage): void {
    const cached = end.cached ?? null;
    this.#take(end.i)?.end({
      at: this.#at(end.at),
      finish_reason: end.reason,
      prompt_tokens: end.prompt,
      output_tokens: end.output,
      cached_tokens: cached,
      engine: timesOf(end, cached),
      text: end.text ?? null,
      notes: (end.ignored ?? []).map((field) => `this vLLM has no sampling parameter ${field}`),
    });
  }
}

function timesOf(end: EndMessage, cached: number | null): EngineTimes {
  return {
    queue_ms: end.queue ?? null,
    prefill_ms: end.prefill ?? null,
    decode_ms: end.decode ?? null,
    cached_tokens: cached,
    source: "vllm request stats",
    ...(end.preemptions == null ? {} : { preemptions: end.preemptions }),
  };
}

/** The child and who waits for what from it. */
class Link {
  readonly open = new Map<number, Open>();
  readonly #calls = new Map<number, (reply: ReplyMessage | null, at: Ms) => void>();
  readonly #options: VllmEngineOptions;
  #nextCall = 0;
  #onReady: ((ready: ReadyMessage | null) => void) | null = null;
  #inUse = false;
  #closing = false;
  #deadMessage: string | null = null;
  child!: LineChild;
  onMessage: (message: Exclude<ReturnType<typeof parseChildMessage>, null>) => void = () => undefined;

  constructor(options: VllmEngineOptions) {
    this.#options = options;
  }

  async start(): Promise<ReadyMessage> {
    const { env, clock, script, args, graceMs = GRACE_MS, readyMs = READY_MS } = this.#options;
    const python = this.#options.python ?? pythonOf(env);
    const ready = new Promise<ReadyMessage | null>((resolve) => {
      this.#onReady = resolve;
    });
    this.child = await LineChild.start(
      {
        argv: [python, "-u", script, ...args],
        env: { ...env, PYTHONUNBUFFERED: "1" },
        clock,
        graceMs,
        onLine: (line, at) => this.#line(line, at),
        onEnd: (how) => this.#ended(how),
      },
      "--engine python=PATH names the interpreter that has vLLM",
    );
    let limit: Timer | null = null;
    const late = new Promise<"late">((resolve) => {
      limit = clock.at(clock.now() + readyMs, () => resolve("late"));
    });
    const first = await Promise.race([ready, late]);
    if (limit !== null) clock.cancel(limit);
    if (first !== null && first !== "late") {
      this.#inUse = true;
      return first;
    }
    const how =
      first === "late" ? `was not ready within ${readyMs / 1000} s` : `did not start (${this.child.ended})`;
    await this.close();
    const lines = this.child.lastLines(200);
    const error = notStarted(how, lines, python);
    if (error.exitCode === EXIT.unreachable && lines.length > 0)
      this.#options.onTrouble(["the last lines of vLLM:", ...lines.slice(-TAIL_LINES)].join("\n  "));
    throw error;
  }

  ask(op: string, fields: JsonObject): Promise<ReplyMessage | null> {
    return new Promise((resolve) => {
      if (this.child.ended !== null || this.#closing) return resolve(null);
      const call = this.#nextCall++;
      this.#calls.set(call, (reply) => resolve(reply));
      this.child.write(JSON.stringify({ ...fields, op, call }));
    });
  }

  /** The child's clock, with the instant at which its answer was read. */
  time(): Promise<{ ns: number; at: Ms }> {
    return new Promise((resolve, reject) => {
      const call = this.#nextCall++;
      this.#calls.set(call, (reply, at) => {
        const ns = reply?.["at"];
        if (typeof ns === "number") resolve({ ns, at });
        else
          reject(
            new UserError("the engine's process ended while it started", { exitCode: EXIT.unreachable }),
          );
      });
      this.child.write(JSON.stringify({ op: "time", call }));
    });
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.child.stop();
  }

  #line(line: string, at: Ms): void {
    const message = parseChildMessage(line);
    // Its own script writes nothing else; a line that is not of the protocol would leave a request open for ever.
    if (message === null) {
      this.#deadMessage = `not a line of its protocol: ${line.slice(0, 200)}`;
      this.child.kill();
      return;
    }
    if (message.e === "ready") this.#onReady?.(message);
    else if (message.e === "dead") this.#deadMessage = message.message;
    else if (message.e === "reply") {
      const waiting = this.#calls.get(message.call);
      this.#calls.delete(message.call);
      waiting?.(message, at);
    } else this.onMessage(message);
  }

  #ended(how: string): void {
    const { clock } = this.#options;
    this.#onReady?.(null);
    for (const waiting of this.#calls.values()) waiting(null, clock.now());
    this.#calls.clear();
    const lost = [...this.open.values()];
    this.open.clear();
    const last = this.#deadMessage ?? this.child.lastLines(1)[0] ?? "it printed nothing";
    for (const { sink } of lost)
      sink.fail({ kind: "lost", message: `the engine's process ended (${how}): ${last}` }, clock.now());
    if (!this.#inUse || this.#closing) return;
    this.child.kill();
    const reason = this.#deadMessage === null ? "" : `: ${this.#deadMessage}`;
    this.#options.onTrouble(
      [`the engine's process ended (${how})${reason}`, ...this.child.lastLines(TAIL_LINES)].join("\n  "),
    );
  }
}

/** Starts the child and waits until the engine is ready. A child that does not get there is a `UserError` (exit 3) with its reason. */
export async function startVllmEngine(options: VllmEngineOptions): Promise<VllmEngine> {
  const link = new Link(options);
  const ready = await link.start();
  try {
    const clock = await anchorChildClock(options.clock, () => link.time());
    return new PipedVllm(link, ready, clock, options.clock);
  } catch (error) {
    await link.close();
    throw error;
  }
}

function pythonOf(env: NodeJS.ProcessEnv): string {
  const active = env["VIRTUAL_ENV"];
  const own = active === undefined || active === "" ? null : join(active, "bin", "python");
  return own !== null && existsSync(own) ? own : "python3";
}

function notStarted(how: string, lines: readonly string[], python: string): UserError {
  const missing = lines.some((line) => /No module named 'vllm'/.test(line));
  if (missing)
    return new UserError(`${plain(python)} has no vLLM`, {
      hint: "pip install vllm into it, or name the interpreter that has it: --engine python=PATH; for a server behind HTTP give --base-url",
      exitCode: EXIT.unreachable,
    });
  const usage = lines.findLast((line) => line.startsWith("vllm: error: "));
  if (usage !== undefined)
    return new UserError(`vLLM does not take these flags: ${usage.replace(/^vllm: error: /, "")}`, {
      hint: "vllm serve --help lists the engine's flags",
    });
  const cause = errorIn(lines) ?? lines.at(-1);
  return new UserError(`vLLM ${how}: ${cause ?? "it printed nothing"}`, {
    exitCode: EXIT.unreachable,
  });
}

/** The error that says why: the engine core has its own, and what is raised after it only points back. */
function errorIn(lines: readonly string[]): string | null {
  const errors = lines.flatMap(
    (line) => /(?:^|[\s\]])([\w.]*(?:Error|Exception): .*)$/.exec(line)?.[1] ?? [],
  );
  return errors.findLast((text) => !/root cause/i.test(text)) ?? errors.at(-1) ?? null;
}

function plain(text: string): string {
  return text.length > 120 ? `…${text.slice(-119)}` : text;
}

/** `--engine key=value` words as flags of the engine: `true` is a switch, `false` its opposite. */
export function engineFlags(settings: Readonly<Record<string, JsonValue>>): string[] {
  return Object.entries(settings).flatMap(([key, value]) => {
    const name = key.replace(/^--/, "").replaceAll("_", "-");
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (text === "true") return [`--${name}`];
    if (text === "false") return [`--no-${name}`];
    // In one word, so that a value may begin with a dash.
    return [`--${name}=${text}`];
  });
}
