/** What all JSON protocols share: the text of an event becomes an object, an error, or nonsense. */
import { type Delta, clearDelta, emptyDelta, type ResponseReader } from "../protocol.ts";
import { errorMessage } from "../server-message.ts";

/** Python writes NaN and Infinity where there is no number: a log probability of 0 %. They are read as `null`. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw error;
    const plain = text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (part) =>
      part.startsWith('"') ? part : "null",
    );
    return JSON.parse(plain);
  }
}

const DONE = /^"?\[done\]"?$/i;
/** Names of events that are errors whatever their data is. */
const ERROR_NAME = /^(?:error|exception)$/i;

/** A JSON object from outside: every field is unknown until looked at. */
export type Fields = Readonly<Record<string, unknown>>;

export function asFields(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

export function asText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** A count of tokens; `null` for anything that cannot be one. */
export function asCount(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** A span of time; `null` for anything that cannot be one: a server's clock may step back. */
export function asTime(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

/**
 * Base of the readers. A subclass fills the delta from one object and tells whether the object was of its protocol;
 * errors, `[DONE]`, pings and unknown named events are handled here.
 */
export abstract class JsonReader implements ResponseReader {
  readonly #delta: Delta = emptyDelta();

  event(name: string, data: string): Delta | null {
    const delta = this.#delta;
    clearDelta(delta);
    if (DONE.test(data)) {
      delta.done = true;
      return delta;
    }
    const isError = ERROR_NAME.test(name);
    let value: unknown;
    try {
      value = parseJson(data);
    } catch {
      if (isError) delta.error = data === "" ? "an error event without a message" : data;
      else if (name === "ping") return delta;
      else if (name !== "message") delta.note = `unknown event "${name}"`;
      else return null;
      return delta;
    }
    if (isError) {
      delta.error = errorMessage(value) ?? data;
      return delta;
    }
    if (name === "ping" || value === null) return delta;
    const known = this.#object(value, data, true);
    if (known !== null || name === "message") return known;
    clearDelta(delta);
    delta.note = `unknown event "${name}"`;
    return delta;
  }

  body(text: string): Delta | null {
    clearDelta(this.#delta);
    let value: unknown;
    try {
      value = parseJson(text);
    } catch {
      return null;
    }
    return this.#object(value, text, false);
  }

  #object(value: unknown, text: string, streamed: boolean): Delta | null {
    const delta = this.#delta;
    const object = asFields(value);
    if (object === null) return this.takeOther(value, delta, streamed) ? delta : null;
    const error = errorIn(object);
    if (error !== null) {
      delta.error = error === "" ? text : error;
      return delta;
    }
    return this.take(object, delta, streamed) ? delta : null;
  }

  /** Fills `delta` from one object (an event, or the whole body). `false` = not of this protocol. */
  protected abstract take(object: Fields, delta: Delta, streamed: boolean): boolean;

  /** Data that is JSON but no object. */
  protected takeOther(_value: unknown, _delta: Delta, _streamed: boolean): boolean {
    return false;
  }
}

/** The message of the `error` field where it stands for an error, `""` if it has none; `null` = no error. */
export function errorIn(object: Fields): string | null {
  const { error } = object;
  return isNothing(error) ? null : (errorMessage(error) ?? "");
}

/** Nothing, however it is said: some servers put an error without a message or with code 0 into each chunk. */
function isNothing(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isNothing);
  return value === undefined || value === null || value === false || value === "" || value === 0;
}

/** A code or status that stands for a failure: not 0, 2xx, `ok`, or the state of a request that goes on. */
function isFailing(value: unknown): boolean {
  if (typeof value === "number") return value !== 0 && (value < 200 || value > 299);
  return typeof value === "string" && !/^(?:0|2\d\d|ok|success|queued|running|processing|)$/i.test(value);
}

/**
 * For objects without any of the protocol's own fields: `{"object":"error","message":..}`, `{"detail":..}`,
 * `{"code":500,"msg":..}` are errors. Returns the message, or `null`.
 */
export function bareError(object: Fields): string | null {
  const has = (...keys: string[]): boolean => keys.some((key) => object[key] !== undefined);
  const looksLikeError =
    object["object"] === "error" ||
    object["type"] === "error" ||
    object["success"] === false ||
    has("detail", "fault") ||
    ["errors", "Error", "error_message", "errorMessage"].some((key) => !isNothing(object[key])) ||
    (has("message", "msg", "error_msg") &&
      ["code", "status", "error_code", "statusCode", "status_code"].some((key) => isFailing(object[key])));
  return looksLikeError ? (errorMessage(object) ?? JSON.stringify(object)) : null;
}
