/**
 * llama.cpp in this process, by node-llama-cpp: `--backend llama-cpp --model file.gguf`. Its steps run on threads of their own; the
 * sequences of one context are worked on together, and requests for which none is free wait in line.
 */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import { EXIT, UserError } from "../../../core/failure.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { Ms } from "../../../core/units.ts";
import type { Engine, EngineEnd, EngineRequest, EngineSink, EngineWork, Refusal } from "../engine.ts";
import {
  type Llama,
  type LlamaContext,
  type LlamaLibrary,
  type LlamaModel,
  type LlamaSampling,
  type LlamaSequence,
  loadLlamaLibrary,
} from "./llama-library.ts";
import { createLlamaPrompts, type LlamaPrompts, UnfitPrompt } from "./llama-prompt.ts";
import type { LlamaSettings } from "./llama-settings.ts";
import { SequencePool } from "./sequence-pool.ts";

/** Tokens that a repetition penalty looks back on. */
const PENALTY_WINDOW = 64;

export interface LlamaEngine extends Engine {
  /** The file's name. */
  readonly model: string;
  readonly facts: JsonObject;
  readonly tokenizer: LlamaTokenizer;
}

/** The model's own; the shape of prompt/'s `SyncTokenizer`. */
export interface LlamaTokenizer {
  readonly name: string;
  readonly source: "server";
  encode(text: string): readonly number[];
  decode(ids: readonly number[]): string;
  count(text: string): number;
  readonly overhead_tokens: number;
}

/** Loads model and context. `UserError`s: the library or the file is not there (exit 2), the model cannot be loaded (exit 3). */
export async function openLlamaEngine(
  path: string,
  settings: LlamaSettings,
  options: { readonly clock: Clock; warn(text: string): void },
): Promise<LlamaEngine> {
  const library = await loadLlamaLibrary(settings.library);
  if (!existsSync(path))
    throw new UserError(`--model ${path}: no such file`, {
      hint: "--backend llama-cpp takes the path of a GGUF file",
    });
  let llama: Llama | null = null;
  try {
    llama = await library.getLlama({
      gpu: settings.gpu === "off" ? false : settings.gpu,
      // Nothing is built, and nothing downloaded.
      build: "never",
      skipDownload: true,
      progressLogs: false,
      logLevel: "error",
      logger: (_level: string, message: string) => options.warn(`llama.cpp: ${message.trim()}`),
      ...(settings.threads === null ? {} : { maxThreads: settings.threads }),
    });
    const model = await llama.loadModel({ modelPath: path, gpuLayers: settings.gpu_layers });
    checkContextSize(path, settings.context_size, model.trainContextSize);
    const context = await model.createContext({
      sequences: settings.sequences,
      contextSize: settings.context_size,
      flashAttention: settings.flash_attention,
      ...(settings.batch_size === null ? {} : { batchSize: settings.batch_size }),
      ...(settings.threads === null ? {} : { threads: settings.threads }),
    });
    return new InProcessLlama(path, settings, { library, llama, model, context }, options.clock);
  } catch (error) {
    await llama?.dispose();
    if (error instanceof UserError) throw error;
    throw new UserError(`llama.cpp cannot run ${path}: ${(error as Error).message.split("\n", 1)[0] ?? ""}`, {
      hint: "is it a GGUF file that this llama.cpp knows? --engine context_size=, sequences= and gpu_layers= set how much memory it takes",
      exitCode: EXIT.unreachable,
      cause: error,
    });
  }
}

/** Beyond it a model talks nonsense, and the library's own look at the memory takes more of it than there is. */
function checkContextSize(path: string, wanted: LlamaSettings["context_size"], trained: number): void {
  if (wanted === "auto" || wanted <= trained) return;
  throw new UserError(`--engine context_size=${wanted}: ${path} was trained on ${trained} tokens`, {
    hint: "each sequence has a context of that size to itself",
  });
}

interface Loaded {
  readonly library: LlamaLibrary;
  readonly llama: Llama;
  readonly model: LlamaModel;
  readonly context: LlamaContext;
}

const NOTHING = (): void => undefined;

/** A request made ready: its prompt in token ids. */
interface LlamaWork extends EngineWork {
  readonly request: EngineRequest;
  readonly ids: readonly number[];
  readonly limit: number;
  readonly notes: readonly string[];
  /** `recent`: the tokens that the penalties look at. */
  sampling(recent: () => number[]): LlamaSampling;
}

/** One way through the engine. */
interface Work {
  readonly asked: LlamaWork;
  readonly sink: EngineSink;
  /** What came out; the penalties look at it too. */
  readonly output: number[];
  readonly sent: Ms;
  given_up: boolean;
}

class InProcessLlama implements LlamaEngine {
  readonly name: string;
  readonly model: string;
  readonly facts: JsonObject;
  readonly tokenizer: LlamaTokenizer;
  readonly #clock: Clock;
  readonly #loaded: Loaded;
  readonly #prompts: LlamaPrompts;
  readonly #pool: SequencePool;
  readonly #prefixCache: boolean;
  readonly #contextSize: number;
  readonly #running = new Set<Promise<void>>();

  constructor(path: string, settings: LlamaSettings, loaded: Loaded, clock: Clock) {
    const { model, context, llama, library } = loaded;
    this.#clock = clock;
    this.#loaded = loaded;
    this.#prompts = createLlamaPrompts(library, model);
    const sequences = Array.from({ length: settings.sequences }, () => context.getSequence());
    this.#contextSize = (sequences[0] as LlamaSequence).contextSize;
    this.#prefixCache = settings.prefix_cache;
    this.#pool = new SequencePool(sequences, settings.prefix_cache);
    this.model = basename(path);
    this.name = `llama-cpp ${this.model}`;
    this.tokenizer = tokenizerOf(this.model, model);
    this.facts = {
      engine: "llama.cpp",
      in_process: true,
      version: library.version === null ? null : `node-llama-cpp ${library.version}`,
      max_num_seqs: settings.sequences,
      max_num_batched_tokens: context.batchSize,
      max_model_len: this.#contextSize,
      enable_prefix_caching: settings.prefix_cache,
      threads: context.currentThreads,
      gpu: llama.gpu === false ? "none" : llama.gpu,
      gpu_layers: model.gpuLayers,
    };
  }

  prepare(request: EngineRequest): LlamaWork | Refusal {
    try {
      return this.#workOf(request);
    } catch (error) {
      if (error instanceof UnfitPrompt) return { refusal: error.message };
      throw error;
    }
  }

  submit(prepared: EngineWork, sink: EngineSink): () => void {
    const asked = prepared as LlamaWork;
    const work: Work = { asked, sink, output: [], sent: this.#clock.now(), given_up: false };
    sink.sent(work.sent);
    const leave = this.#pool.claim(asked.ids, (sequence) => this.#begin(work, sequence));
    return () => {
      work.given_up = true;
      leave();
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#running);
    const { context, model, llama } = this.#loaded;
    await context.dispose();
    await model.dispose();
    await llama.dispose();
  }

  #workOf(request: EngineRequest): LlamaWork {
    const ids = this.#prompts.idsOf(request.prompt);
    const room = this.#contextSize - ids.length;
    const limit = request.max_tokens ?? room;
    // The library would drop the prompt's beginning in silence: other work than was asked for.
    if (limit > room || room < 1)
      throw new UnfitPrompt(
        `${ids.length} tokens of prompt and ${request.max_tokens ?? 1} of output do not fit into the context of ${this.#contextSize} (--engine context_size)`,
      );
    const { sampling, unknown } = samplingOf(request.fields);
    const notes = unknown.map((field) => `llama-cpp in this process has no ${field}`);
    return { request, ids, limit, notes, sampling, bytes: 8 * ids.length };
  }

  #begin(work: Work, sequence: LlamaSequence): void {
    const run = this.#run(work, sequence)
      .catch((error: unknown) => () => {
        const message = error instanceof Error ? error.message : String(error);
        work.sink.fail({ kind: "engine", message }, this.#clock.now());
      })
      .then((tell) => {
        this.#running.delete(run);
        // First: the job's next turn is sent as soon as this one's end is known, and finds its prefix here.
        this.#pool.release(sequence);
        tell();
      });
    this.#running.add(run);
  }

  /** Resolves with what is to be told of the end, nothing where it was given up. */
  async #run(work: Work, sequence: LlamaSequence): Promise<() => void> {
    const { sink, output } = work;
    const { ids, limit, request, notes } = work.asked;
    const begun = this.#clock.now();
    const evaluated = meter(sequence);
    const rest = await this.#prefill(work, sequence);
    if (rest === null) return NOTHING;
    const sampling = work.asked.sampling(() => output.slice(-PENALTY_WINDOW));
    let first: Ms | null = null;
    let cached = 0;
    let reason = "length";
    for await (const token of sequence.evaluate(rest, sampling)) {
      const at = this.#clock.now();
      if (work.given_up) return NOTHING;
      if (first === null) {
        first = at;
        // Whatever was not worked out now was there before; the library counts what it works out.
        cached = Math.max(0, ids.length - evaluated());
      }
      output.push(token);
      // As with vLLM's ignore_eos, a forced output goes on past it; its text leaves it out.
      const ended = !request.force_length && this.#loaded.model.isEogToken(token);
      if (ended) reason = "stop";
      else sink.tokens(1, at);
      if (ended || output.length >= limit) break;
    }
    const at = this.#clock.now();
    const end: EngineEnd = {
      at,
      finish_reason: reason,
      prompt_tokens: ids.length,
      output_tokens: output.length,
      cached_tokens: cached,
      engine: {
        queue_ms: begun - work.sent,
        prefill_ms: first === null ? null : first - begun,
        decode_ms: first === null ? null : at - first,
        cached_tokens: cached,
        source: "node-llama-cpp, timed in this process",
      },
      text: request.keep_text ? this.#loaded.model.detokenize(output, false) : null,
      notes,
    };
    return () => sink.end(end);
  }

  /**
   * Works out the prompt but for its last step, in steps of one batch, so that a request that is given up frees its sequence soon.
   * Returns what is left for the step that gives the first token; `null` = given up.
   */
  async #prefill(work: Work, sequence: LlamaSequence): Promise<readonly number[] | null> {
    const { ids } = work.asked;
    // At least one token must be worked out for there to be a next one.
    const shared = this.#prefixCache
      ? Math.min(sequence.compareContextTokens(ids).firstDifferentIndex, ids.length - 1)
      : 0;
    if (sequence.nextTokenIndex > shared)
      await sequence.eraseContextTokenRanges([{ start: shared, end: sequence.nextTokenIndex }]);
    const step = this.#loaded.context.batchSize;
    let from = sequence.nextTokenIndex;
    for (; ids.length - from > step; from += step) {
      if (work.given_up) return null;
      await sequence.evaluateWithoutGeneratingNewTokens(ids.slice(from, from + step));
    }
    return work.given_up ? null : ids.slice(from);
  }
}

/** Tokens that the sequence has worked out since this call. */
function meter({ tokenMeter }: LlamaSequence): () => number {
  const used = (): number => tokenMeter.usedInputTokens + tokenMeter.usedOutputTokens;
  const before = used();
  return () => used() - before;
}

/** Sampling as HTTP servers name it. What is not given is as in their protocol: no top-k, top-p 1; temperature 0. */
function samplingOf(fields: JsonObject): {
  readonly sampling: LlamaWork["sampling"];
  readonly unknown: readonly string[];
} {
  const left: Record<string, JsonValue | undefined> = { ...fields };
  const take = (key: string): number | null => {
    const value = left[key];
    if (value !== undefined && value !== null && typeof value !== "number")
      throw new UnfitPrompt(`${key} must be a number, got ${JSON.stringify(value)}`);
    delete left[key];
    return value ?? null;
  };
  const temperature = take("temperature") ?? 0;
  if (temperature < 0) throw new UnfitPrompt(`temperature must be at least 0, got ${temperature}`);
  const seed = take("seed");
  const penalty = take("repetition_penalty") ?? take("repeat_penalty");
  const frequency = take("frequency_penalty");
  const presence = take("presence_penalty");
  const penalised = (penalty ?? 1) !== 1 || (frequency ?? 0) !== 0 || (presence ?? 0) !== 0;
  const fixed = {
    temperature,
    topK: Math.max(0, take("top_k") ?? 0),
    topP: take("top_p") ?? 1,
    minP: take("min_p") ?? 0,
    ...(seed === null ? {} : { seed }),
    yieldEogToken: true,
  };
  const penalties = {
    penalty: penalty ?? 1,
    frequencyPenalty: frequency ?? 0,
    presencePenalty: presence ?? 0,
  };
  const sampling: LlamaWork["sampling"] = (punishTokens) =>
    penalised ? { ...fixed, repeatPenalty: { punishTokens, ...penalties } } : fixed;
  // The length is forced otherwise.
  delete left["min_tokens"];
  return { sampling, unknown: Object.keys(left).sort() };
}

function tokenizerOf(name: string, model: LlamaModel): LlamaTokenizer {
  const encode = (text: string): number[] => model.tokenize(text, true);
  return {
    name: `${name} (its own)`,
    source: "server",
    encode,
    decode: (ids) => model.detokenize(ids, true),
    count: (text) => encode(text).length,
    overhead_tokens: model.tokens.shouldPrependBosToken && model.tokens.bos !== null ? 1 : 0,
  };
}
