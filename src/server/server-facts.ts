/** What a server says of itself beside its metrics: version and model entry. Asked only where the user wants the server asked. */
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { HttpAnswer, HttpCall } from "./http-call.ts";

/** Where versions are told, and under which key. */
const VERSIONS: readonly (readonly [path: string, key: string])[] = [
  // vLLM, TensorRT-LLM, the simulator
  ["/version", "version"],
  // llama.cpp
  ["/props", "build_info"],
  // SGLang
  ["/get_server_info", "version"],
];

/** Settings that llama.cpp's /props and model entries tell and that explain a run; all else in them is left out. */
const MODEL_KEYS = ["id", "owned_by", "root", "parent", "max_model_len", "meta"];

export interface ServerFactsOptions {
  readonly call: HttpCall;
  /** A path of the server as a whole URL. */
  readonly url: (path: string) => string;
  readonly model: string;
}

/** The facts that the server tells; `null` if it tells none. Never rejects: a server owes none of these answers. */
export async function readServerFacts(options: ServerFactsOptions): Promise<JsonObject | null> {
  const { call, url, model } = options;
  const ask = async (path: string): Promise<{ answer: HttpAnswer; body: JsonValue } | null> => {
    try {
      const answer = await call("GET", url(path));
      if (answer.status !== 200) return null;
      return { answer, body: JSON.parse(answer.body) as JsonValue };
    } catch {
      return null;
    }
  };
  const models = await ask("/v1/models");
  const facts: Record<string, JsonValue> = {};
  const software = models?.answer.software ?? null;
  if (software !== null) facts["software"] = software;
  for (const [path, key] of VERSIONS) {
    const reply = await ask(path);
    const version = fieldOf(reply?.body, key);
    if (typeof version !== "string" || version === "") continue;
    facts["version"] = version;
    const slots = fieldOf(reply?.body, "total_slots");
    if (typeof slots === "number") facts["slots"] = slots;
    break;
  }
  const entry = entryOf(models?.body, model);
  if (entry !== null) facts["model_entry"] = entry;
  return Object.keys(facts).length === 0 ? null : facts;
}

function entryOf(body: JsonValue | undefined, model: string): JsonObject | null {
  const data = fieldOf(body, "data");
  if (!Array.isArray(data)) return null;
  const entry =
    data.find((item) => fieldOf(item, "id") === model) ?? (data.length === 1 ? data[0] : undefined);
  const kept = MODEL_KEYS.flatMap((key): [string, JsonValue][] => {
    const value = fieldOf(entry, key);
    return value === undefined || value === null ? [] : [[key, value]];
  });
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function fieldOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
}
