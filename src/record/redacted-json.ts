/** JSON text that holds no secret. Everything written into a run folder and every report goes through here. */
import { secrets, type Secrets } from "../core/secret.ts";

/**
 * `JSON.stringify` with every registered secret replaced inside string values and keys. Numbers are never touched, so a
 * secret made of digits cannot break the JSON. The common case (no secret inside) costs one search of the text.
 */
export function redactedJson(value: unknown, indent = 0, known: Secrets = secrets): string {
  const text = JSON.stringify(value, null, indent);
  if (known.size === 0 || known.redact(text) === text) return text;
  return JSON.stringify(redactValue(value, known), null, indent);
}

function redactValue(value: unknown, known: Secrets): unknown {
  if (typeof value === "string") return known.redact(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, known));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [known.redact(key), redactValue(item, known)]),
    );
  }
  return value;
}
