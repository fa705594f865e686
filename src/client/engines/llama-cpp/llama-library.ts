/**
 * node-llama-cpp, an optional peer: found and loaded only when it is asked for. The part of its interface that is used stands here,
 * because the package need not be installed to build or check this one.
 */
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { UserError } from "../../../core/failure.ts";

export const LLAMA_PACKAGE = "node-llama-cpp";
/** The range of package.json's peerDependencies. */
const INSTALL = `npm install ${LLAMA_PACKAGE}@3.21.1`;

export interface LlamaSampling {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly seed?: number;
  readonly repeatPenalty?: {
    readonly punishTokens: () => number[];
    readonly penalty?: number;
    readonly frequencyPenalty?: number;
    readonly presencePenalty?: number;
  };
  readonly yieldEogToken: boolean;
}

export interface LlamaSequence {
  readonly contextSize: number;
  /** Tokens of its state. */
  readonly nextTokenIndex: number;
  readonly tokenMeter: { readonly usedInputTokens: number; readonly usedOutputTokens: number };
  compareContextTokens(tokens: readonly number[]): { readonly firstDifferentIndex: number };
  eraseContextTokenRanges(ranges: readonly { readonly start: number; readonly end: number }[]): Promise<void>;
  evaluate(tokens: readonly number[], options: LlamaSampling): AsyncGenerator<number, void, void>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly number[]): Promise<void>;
}

export interface LlamaContext {
  readonly batchSize: number;
  readonly currentThreads: number;
  getSequence(): LlamaSequence;
  dispose(): Promise<void>;
}

export interface LlamaModel {
  readonly trainContextSize: number;
  readonly gpuLayers: number;
  readonly fileInfo: {
    readonly metadata?: {
      readonly general?: { readonly name?: string };
      readonly tokenizer?: {
        readonly chat_template?: string;
        readonly ggml?: { readonly tokens?: readonly string[] };
      };
    };
  };
  readonly tokens: {
    readonly bos: number | null;
    readonly bosString: string | null;
    readonly eosString: string | null;
    readonly shouldPrependBosToken: boolean;
  };
  tokenize(text: string, specialTokens: boolean): number[];
  detokenize(tokens: readonly number[], specialTokens: boolean): string;
  isEogToken(token: number): boolean;
  createContext(options: Readonly<Record<string, unknown>>): Promise<LlamaContext>;
  dispose(): Promise<void>;
}

export interface Llama {
  /** `false` = the CPU alone. */
  readonly gpu: string | false;
  loadModel(options: Readonly<Record<string, unknown>>): Promise<LlamaModel>;
  dispose(): Promise<void>;
}

export interface LlamaLibrary {
  getLlama(options: Readonly<Record<string, unknown>>): Promise<Llama>;
  readonly version: string | null;
  /** Compiles a chat template (Jinja). */
  template(source: string): { render(items: Readonly<Record<string, unknown>>): string };
}

/**
 * Loads the library. `folder`: where it is installed, if not beside this program. A {@link UserError} with the install command where
 * it is absent.
 */
export async function loadLlamaLibrary(folder: string | null): Promise<LlamaLibrary> {
  const require = createRequire(folder === null ? import.meta.url : join(resolve(folder), "index.js"));
  let entry: string;
  try {
    entry = require.resolve(LLAMA_PACKAGE);
  } catch (error) {
    throw new UserError(
      folder === null
        ? `--backend llama-cpp needs ${LLAMA_PACKAGE}, which is not installed`
        : `--engine library=${folder}: ${LLAMA_PACKAGE} is not installed there`,
      { hint: `${INSTALL} (with -g where reprise is global)`, cause: error },
    );
  }
  // It is a module of the ESM kind, and so is what it takes its templates from.
  const library = (await import(pathToFileURL(entry).href)) as {
    getLlama?: LlamaLibrary["getLlama"];
    getModuleVersion?: () => Promise<string>;
  };
  if (typeof library.getLlama !== "function")
    throw new UserError(`this ${LLAMA_PACKAGE} has another interface`, { hint: INSTALL });
  const jinja = (await import(pathToFileURL(createRequire(entry).resolve("@huggingface/jinja")).href)) as {
    Template: new (source: string) => ReturnType<LlamaLibrary["template"]>;
  };
  return {
    getLlama: library.getLlama,
    version: (await library.getModuleVersion?.()) ?? null,
    template: (source) => new jinja.Template(source),
  };
}
