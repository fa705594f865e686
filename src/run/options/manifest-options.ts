/** The options as the manifest holds them: JSON, without what may be a secret. */
import type { JsonObject, JsonValue } from "../../core/json.ts";

/** Header values can be credentials under any name: only the names are kept. */
export function optionsForManifest(given: JsonObject): JsonObject {
  const out: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (key === "header" && typeof value === "object" && value !== null)
      out[key] = Object.fromEntries(Object.keys(value).map((name) => [name, "[not kept]"]));
    else out[key] = value === Infinity ? "inf" : value;
  }
  return out;
}
