/** `--engine key=value` of `--backend llama-cpp`. */
import { UserError } from "../../../core/failure.ts";
import { nearestHint } from "../../../core/nearest.ts";

export interface LlamaSettings {
  /** Folder where node-llama-cpp is installed; `null` = beside this program. */
  readonly library: string | null;
  /** Tokens of prompt and output together that each sequence holds; `auto` = what fits, up to what the model was trained on. */
  readonly context_size: number | "auto";
  /** Requests that are worked on at once; more wait in line. */
  readonly sequences: number;
  /** Tokens of one step; `null` = the library's default. */
  readonly batch_size: number | null;
  /** `null` = the library's choice. */
  readonly threads: number | null;
  readonly gpu: "auto" | "off" | "cuda" | "vulkan" | "metal";
  readonly gpu_layers: number | "auto" | "max";
  readonly flash_attention: boolean | "auto";
  /** Take over what a free sequence already holds of the prompt. */
  readonly prefix_cache: boolean;
}

const DEFAULTS: LlamaSettings = {
  library: null,
  context_size: "auto",
  sequences: 8,
  batch_size: null,
  threads: null,
  gpu: "auto",
  gpu_layers: "auto",
  flash_attention: "auto",
  prefix_cache: true,
};

type Reader = (text: string, key: string) => unknown;

function bad(key: string, text: string, want: string): UserError {
  return new UserError(`--engine ${key}: "${text}" is not ${want}`);
}

/** llama.cpp's own limit. */
const MOST_SEQUENCES = 256;

function count(min: number, words: readonly string[] = [], max = Number.MAX_SAFE_INTEGER): Reader {
  return (text, key) => {
    if (words.includes(text)) return text;
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(value) || value < min || value > max) {
      const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
      throw bad(key, text, [`a whole number ${range}`, ...words].join(" or "));
    }
    return value;
  };
}

const yesNo: Reader = (text, key) => {
  if (!["true", "false"].includes(text)) throw bad(key, text, "true or false");
  return text === "true";
};

const word =
  (...words: readonly string[]): Reader =>
  (text, key) => {
    if (!words.includes(text)) throw bad(key, text, `one of ${words.join(", ")}`);
    return text;
  };

const READERS: { readonly [K in keyof LlamaSettings]: Reader } = {
  library: (text) => text,
  context_size: count(16, ["auto"]),
  sequences: count(1, [], MOST_SEQUENCES),
  batch_size: count(1),
  threads: count(1),
  gpu: word("auto", "off", "cuda", "vulkan", "metal"),
  gpu_layers: count(0, ["auto", "max"]),
  flash_attention: (text, key) => (text === "auto" ? text : yesNo(text, key)),
  prefix_cache: yesNo,
};

/** A setting that there is not, or a value that it cannot have, is a {@link UserError}. */
export function llamaSettings(words: Readonly<Record<string, string>>): LlamaSettings {
  const given: Record<string, unknown> = {};
  for (const [key, text] of Object.entries(words)) {
    const name = key.replace(/^--/, "").replaceAll("-", "_");
    if (!Object.hasOwn(READERS, name))
      throw new UserError(`--engine: llama-cpp has no setting "${key}"`, {
        hint: nearestHint(name, Object.keys(READERS)) ?? `it has ${Object.keys(READERS).join(", ")}`,
      });
    given[name] = READERS[name as keyof LlamaSettings](text, name);
  }
  return { ...DEFAULTS, ...given };
}
