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

/** What of a model's entry explains a run. */
const MODEL_KEYS = ["id", "owned_by", "root", "parent", "max_model_len", "meta"];

export interface ServerFactsOptions {
  readonly call: HttpCall;
  /** A path of the server as a whole URL. */
  readonly url: (path: string) => string;
  readonly model: string;
}

/**
 * The facts that the server tells; `null` if it tells none. `model_entry` is what it lists of the model asked for, `models` the names it
 * lists where that one is not among them. Never rejects: a server owes none of these answers.
 */
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
  const served = entriesOf(models?.body);
  const entry = served.find((item) => namesOf(item).includes(model));
  if (entry !== undefined) {
    const kept = Object.entries(entry).filter(
      ([key, value]) => MODEL_KEYS.includes(key) && value !== undefined && value !== null,
    ) as [string, JsonValue][];
    facts["model_entry"] = Object.fromEntries(kept);
  } else if (served.length > 0) {
    facts["models"] = served.map((item) => item.id);
  }
  return Object.keys(facts).length === 0 ? null : facts;
}

interface ModelEntry extends JsonObject {
  readonly id: string;
}

function entriesOf(body: JsonValue | undefined): ModelEntry[] {
  const data = fieldOf(body, "data");
  if (!Array.isArray(data)) return [];
  return (data as readonly JsonValue[]).filter(
    (item): item is ModelEntry => typeof fieldOf(item, "id") === "string",
  );
}

/** llama.cpp lists further names of a model beside its id. */
function namesOf(entry: ModelEntry): readonly JsonValue[] {
  const aliases = entry["aliases"];
  return [entry.id, ...(Array.isArray(aliases) ? (aliases as readonly JsonValue[]) : [])];
}

function fieldOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
}
