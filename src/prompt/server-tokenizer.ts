/**
 * The target's own tokenizer, asked over HTTP. Servers disagree about the request and the answer:
 * vLLM and SGLang `{prompt} → {tokens, count}`, llama.cpp `{content} → {tokens}`, TGI `{inputs} → [{id, text}]`.
 */
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** POSTs JSON to the target; `null` for an answer outside 2xx or without a JSON body. May throw: then there is no server. */
export type PostJson = (path: string, body: JsonObject) => Promise<JsonValue | null>;

interface Dialect {
  readonly name: string;
  readonly path: string;
  body(text: string, special: boolean): JsonObject;
  readonly decodePath: string | null;
  decodeBody(ids: readonly number[]): JsonObject;
}

function dialects(model: string): Dialect[] {
  const vllm = {
    body: (prompt: string, special: boolean) => ({ model, prompt, add_special_tokens: special }),
    decodeBody: (tokens: readonly number[]) => ({ model, tokens }),
  };
  return [
    { name: "vllm", path: "/tokenize", decodePath: "/detokenize", ...vllm },
    {
      name: "llama.cpp",
      path: "/tokenize",
      body: (content, special) => ({ content, add_special: special, with_pieces: false }),
      decodePath: "/detokenize",
      decodeBody: (tokens) => ({ tokens }),
    },
    {
      name: "tgi",
      path: "/tokenize",
      body: (inputs, special) => ({ inputs, add_special_tokens: special }),
      decodePath: null,
      decodeBody: () => ({}),
    },
    { name: "sglang", path: "/v1/tokenize", decodePath: "/v1/detokenize", ...vllm },
  ];
}

const PROBE = "the time of the day";
/** Texts that neither begin nor end alike. */
const UNLIKE = ["the work of people", "a time to go", "people in 7", "you and some more"];

/** Finds out how this server tokenises; `null` where it cannot. */
export async function probeServerTokenizer(model: string, post: PostJson): Promise<Tokenizer | null> {
  for (const dialect of dialects(model)) {
    const ask = async (text: string, special: boolean): Promise<readonly number[] | null> =>
      readTokens(await post(dialect.path, dialect.body(text, special)).catch(() => null));
    const probe = await ask(PROBE, false);
    if (probe === null || probe.length === 0) continue;
    const strip = await findWrapping((text) => ask(text, false));
    const plain = await ask(PROBE, false);
    const wrapped = await ask(PROBE, true);
    const added = strip.lead + strip.trail;
    const overhead =
      plain === null || wrapped === null ? null : Math.max(added, wrapped.length - plain.length + added);
    return makeTokenizer(model, post, dialect, strip, overhead);
  }
  return null;
}

interface Wrapping {
  readonly lead: number;
  readonly trail: number;
}

/** Special tokens that this server adds although it was told not to: what every text begins and ends with. */
async function findWrapping(ask: (text: string) => Promise<readonly number[] | null>): Promise<Wrapping> {
  const texts: (readonly number[])[] = [];
  for (const text of UNLIKE) {
    const ids = await ask(text);
    if (ids !== null && ids.length > 0) texts.push(ids);
  }
  const lead = commonLength(texts, (ids, at) => ids[at]);
  const trail = commonLength(texts, (ids, at) => ids[ids.length - 1 - at]);
  // An empty text consists of nothing else, where the server takes one: a dummy space in front is not special.
  const empty = await ask("");
  return empty === null
    ? { lead, trail }
    : {
        lead: Math.min(lead, empty.length),
        trail: Math.min(trail, empty.length - Math.min(lead, empty.length)),
      };
}

function commonLength(
  texts: readonly (readonly number[])[],
  at: (ids: readonly number[], position: number) => number | undefined,
): number {
  const [first, ...others] = texts;
  if (first === undefined || others.length < 2) return 0;
  let common = 0;
  while (common < first.length && others.every((ids) => at(ids, common) === at(first, common))) common++;
  return common;
}

function makeTokenizer(
  model: string,
  post: PostJson,
  dialect: Dialect,
  strip: Wrapping,
  overhead: number | null,
): Tokenizer {
  const encode = async (text: string): Promise<readonly number[]> => {
    if (text === "") return [];
    const tokens = readTokens(await post(dialect.path, dialect.body(text, false)));
    if (tokens === null) {
      throw new UserError(`the server's ${dialect.path} stopped answering while prompts were made`, {
        hint: "name the model's tokenizer.json with --tokenizer",
      });
    }
    return tokens.slice(strip.lead, tokens.length - strip.trail);
  };
  const base: Tokenizer = {
    name: `${model} (${dialect.name} ${dialect.path})`,
    source: "server",
    encode,
    count: async (text) => (await encode(text)).length,
    overhead_tokens: overhead,
  };
  const { decodePath } = dialect;
  if (decodePath === null) return base;
  return {
    ...base,
    decode: async (ids) => {
      const answer = await post(decodePath, dialect.decodeBody(ids));
      const text = isObject(answer) ? (answer["prompt"] ?? answer["content"] ?? answer["text"]) : null;
      if (typeof text !== "string") {
        throw new UserError(`the server's ${decodePath} does not turn token ids into text`, {
          hint: "name the model's tokenizer.json with --tokenizer",
        });
      }
      return text;
    },
  };
}

/** Token ids of any of the answers; `null` where there are none. */
function readTokens(answer: JsonValue | null): readonly number[] | null {
  const list = Array.isArray(answer)
    ? (answer as readonly JsonValue[])
    : isObject(answer)
      ? (answer["tokens"] ?? answer["input_ids"] ?? null)
      : null;
  if (!Array.isArray(list)) return null;
  const ids: number[] = [];
  for (const entry of list as readonly JsonValue[]) {
    const id = isObject(entry) ? entry["id"] : entry;
    if (typeof id !== "number") return null;
    ids.push(id);
  }
  return ids;
}

function isObject(value: JsonValue | null | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
