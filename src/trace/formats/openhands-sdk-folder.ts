/**
 * The folder that the OpenHands SDK keeps a conversation in: `base_state.json` beside `events/event-00000-<id>.json`, an event a file. The
 * state holds the usage of every response.
 */
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Tokens } from "../../core/units.ts";
import { parsePythonJson } from "../lossless-json.ts";
import { isObject, scalarText } from "../openai-messages.ts";

export interface Usage {
  readonly prompt: Tokens;
  readonly output: Tokens;
  readonly cached: Tokens | null;
}

export interface KeptConversation {
  readonly id: string;
  readonly events: readonly { readonly file: string; readonly name: string }[];
  /** By response id; empty where the state does not tell. */
  readonly usage: ReadonlyMap<string, Usage>;
}

const EVENT = /^event-\d+-.*\.json$/;

/** The conversations kept in a folder: itself, or those in the folders inside it. */
export async function conversationsIn(folder: string, name: string, depth = 0): Promise<KeptConversation[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const own = await conversation(folder, name, folders.includes("events") ? "events" : "");
  if (own !== null) return [own];
  if (depth >= 2) return [];
  const found: KeptConversation[] = [];
  for (const inner of folders.sort())
    found.push(...(await conversationsIn(join(folder, inner), join(name, inner), depth + 1)));
  return found;
}

async function conversation(folder: string, name: string, inner: string): Promise<KeptConversation | null> {
  const names = (await readdir(join(folder, inner))).filter((file) => EVENT.test(file)).sort();
  if (names.length === 0) return null;
  const state = await stateOf(join(folder, "base_state.json"));
  return {
    id: scalarText(state["id"]) || basename(name),
    events: names.map((file) => ({ file: join(folder, inner, file), name: join(name, inner, file) })),
    usage: usageOf(state["stats"]),
  };
}

/** A state that is missing or damaged tells nothing. */
async function stateOf(path: string): Promise<Record<string, unknown>> {
  try {
    const state = parsePythonJson(await readFile(path, "utf8"));
    return isObject(state) ? state : {};
  } catch {
    return {};
  }
}

function usageOf(stats: unknown): Map<string, Usage> {
  const usage = new Map<string, Usage>();
  const models = isObject(stats) ? (stats["usage_to_metrics"] ?? stats["service_to_metrics"]) : null;
  if (!isObject(models)) return usage;
  for (const metrics of Object.values(models).filter(isObject)) {
    const list = Array.isArray(metrics["token_usages"]) ? metrics["token_usages"].filter(isObject) : [];
    for (const one of list) {
      const count = (key: string): number | null => {
        const value = one[key];
        return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
      };
      const [prompt, output] = [count("prompt_tokens"), count("completion_tokens")];
      if (prompt === null || output === null) continue;
      usage.set(scalarText(one["response_id"]), { prompt, output, cached: count("cache_read_tokens") });
    }
  }
  return usage;
}
