/**
 * Reads events that differ from an earlier one in a single string without parsing them. Most tokens of a stream are such: the same
 * JSON but for the text. An event that was parsed is cut into the bytes before that string's content and the bytes after it;
 * a later event with the same two ends and a valid string content between them is the same document with another string,
 * so what its parsing would tell is known. Everything else goes to the parser. A property test holds both ways equal.
 */
import type { Delta, ResponseReader } from "../protocol.ts";

const QUOTE = 34;
const BACKSLASH = 92;
/** Stands in for the text when a cut is tried: the reader must give exactly this back. */
const PROBE = "reprise\u00b7probe";
/** Shapes learned in one response; a stream that changes more often is parsed. */
const MAX_SHAPES = 6;
/** Short answers are not worth learning a shape for. */
const FIRST_LEARNED_EVENT = 6;

export class EventSkimmer {
  readonly #makeReader: () => ResponseReader;
  /** The last event that fitted, both ends around the text, or the one that was learned from. */
  #head: Buffer = EMPTY;
  #tail: Buffer = EMPTY;
  #seen = 0;
  #shapes = 0;
  #hits = 0;
  #ready = false;
  /** What the text is: of the answer, or of its reasoning. */
  kind: "text" | "reasoning" = "text";
  /** Where the text of the event that matched lies. */
  start = 0;
  end = 0;
  #escaped = false;

  /** `makeReader` makes readers to try cuts with; they see no event of the response. */
  constructor(makeReader: () => ResponseReader) {
    this.#makeReader = makeReader;
  }

  /** Whether the event differs from the one learned only in its text, which then lies at `start`..`end`. */
  matches(bytes: Buffer, from: number, to: number): boolean {
    if (!this.#ready) return false;
    const start = from + this.#head.length;
    const end = to - this.#tail.length;
    if (
      start <= end &&
      equal(bytes, from, this.#head) &&
      equal(bytes, end, this.#tail) &&
      this.#isString(bytes, start, end)
    ) {
      this.start = start;
      this.end = end;
      this.#hits++;
      return true;
    }
    this.#ready = false;
    // A shape that fitted nothing will not be followed by one that does.
    if (this.#hits === 0) this.#shapes = MAX_SHAPES;
    return false;
  }

  /** The text of the event that matched. */
  text(bytes: Buffer): string {
    const raw = bytes.toString("utf8", this.start, this.end);
    return this.#escaped ? (JSON.parse(`"${raw}"`) as string) : raw;
  }

  /** Takes the shape of an event that was parsed to `delta`, if it is one that only carries text. */
  learn(bytes: Buffer, from: number, to: number, delta: Delta): void {
    if (++this.#seen < FIRST_LEARNED_EVENT || this.#shapes >= MAX_SHAPES || !isPlain(delta)) return;
    this.#shapes++;
    this.#hits = 0;
    // One character a byte: indices are byte offsets.
    const latin = bytes.toString("latin1", from, to);
    for (const match of latin.matchAll(/"(?:text|content|reasoning_content|reasoning)"\s*:\s*"/g)) {
      const start = match.index + match[0].length;
      const end = stringEnd(latin, start);
      if (end < 0) return;
      const head = bytes.subarray(from, from + start);
      const tail = bytes.subarray(from + end, to);
      const kind = this.#probe(head, tail);
      if (kind === null) continue;
      this.kind = kind;
      this.#head = Buffer.from(head);
      this.#tail = Buffer.from(tail);
      this.#ready = true;
      return;
    }
  }

  /** Puts another text between the ends and reads the event: what comes back shows what the text is. */
  #probe(head: Buffer, tail: Buffer): "text" | "reasoning" | null {
    const delta = this.#makeReader().event("message", head.toString("utf8") + PROBE + tail.toString("utf8"));
    if (delta === null || !isPlain(delta)) return null;
    if (delta.text === PROBE && isEmpty(delta.reasoning)) return "text";
    return delta.reasoning === PROBE && isEmpty(delta.text) ? "reasoning" : null;
  }

  /** Whether the bytes are the content of a JSON string: no bare quote or control character, no bad escape. */
  #isString(bytes: Buffer, start: number, end: number): boolean {
    this.#escaped = false;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE || byte < 32) return false;
      if (byte !== BACKSLASH) continue;
      this.#escaped = true;
      const next = at + 1 < end ? (bytes[at + 1] as number) : 0;
      if (next === 117) {
        if (at + 5 >= end || !/^[0-9a-fA-F]{4}$/.test(bytes.toString("latin1", at + 2, at + 6))) return false;
        at += 5;
      } else if (SIMPLE_ESCAPES.includes(next)) at++;
      else return false;
    }
    return true;
  }
}

const EMPTY = Buffer.alloc(0);
const SIMPLE_ESCAPES = Array.from('"\\/bfnrt', (char) => char.charCodeAt(0));

function equal(bytes: Buffer, from: number, wanted: Buffer): boolean {
  const { length } = wanted;
  for (let i = 0; i < length; i++) if (bytes[from + i] !== wanted[i]) return false;
  return true;
}

/** Index of the quote that ends the string whose content begins at `start`; −1 if none does. */
function stringEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at;
  }
  return -1;
}

function isEmpty(value: string | null): boolean {
  return value === null || value === "";
}

/** The event told a text, and nothing else. */
function isPlain(delta: Delta): boolean {
  return (
    isEmpty(delta.text) !== isEmpty(delta.reasoning) &&
    delta.tool_calls === null &&
    isEmpty(delta.finish_reason) &&
    !delta.done &&
    delta.error === null &&
    delta.prompt_tokens === null &&
    delta.output_tokens === null &&
    delta.cached_tokens === null &&
    delta.reasoning_tokens === null &&
    delta.chunk_tokens === null &&
    delta.engine === null &&
    delta.note === null &&
    !delta.other_choice
  );
}
