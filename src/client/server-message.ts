/** What a server says of an error, in one line. The text is hostile and may echo a secret: it is redacted here. */
import { secrets } from "../core/secret.ts";

const MAX = 500;

/** Where a message stands, the first that is told. */
const KEYS = [
  "error",
  "message",
  "msg",
  "detail",
  "error_msg",
  "error_message",
  "errorMessage",
  "errors",
  "Error",
  "fault",
  "faultstring",
];

/** Redacts, squeezes white space, and cuts to about 500 characters. */
export function cleanMessage(text: string): string {
  const clean = secrets.redact(text).replace(/\s+/g, " ").trim();
  return clean.length > MAX ? `${clean.slice(0, MAX - 1)}…` : clean;
}

/** The message in an error body: `error.message`, `message`, `detail`, `error`, else the text itself. */
export function errorBodyMessage(body: string): string {
  try {
    return cleanMessage(errorMessage(JSON.parse(body)) ?? body);
  } catch {
    return cleanMessage(body);
  }
}

/** The message in a JSON value that stands for an error; `null` if none is found. */
export function errorMessage(value: unknown): string | null {
  if (typeof value === "string") return value === "" ? null : value;
  if (Array.isArray(value)) return value.length > 0 ? JSON.stringify(value) : null;
  if (typeof value !== "object" || value === null) return null;
  const object = value as Record<string, unknown>;
  for (const key of KEYS) {
    const found = errorMessage(object[key]);
    if (found !== null) return found;
  }
  return null;
}
