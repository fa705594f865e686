/**
 * JSON whose large integers survive. `JSON.parse` rounds an integer beyond 2^53 to a neighbour, which would merge ids
 * (block hashes are u64). Here such an integer becomes a string of its digits; every other value is as usual.
 */

/** An integer part of 16 digits or more, not after a dot: only then can an integer exceed 2^53 (9007199254740992). */
const LONG_DIGITS = /(?:^|[^\d.])\d{16}/;
const QUOTE = 34;
const BACKSLASH = 92;
const MINUS = 45;

/** Parses one JSON text. Throws `SyntaxError` as `JSON.parse` does. */
export function parseLossless(text: string): unknown {
  return withLargeIntegers(JSON.parse(text), text);
}

/** `value`, which `JSON.parse` made of the text, with its large integers. */
export function withLargeIntegers(value: unknown, text: string): unknown {
  return LONG_DIGITS.test(text) ? JSON.parse(quoteLargeIntegers(text)) : value;
}

/**
 * Parses JSON as Python writes it: a bare `NaN` or `Infinity` (a score, a metric) is `null`. Throws as {@link parseLossless}.
 */
export function parsePythonJson(text: string): unknown {
  try {
    return parseLossless(text);
  } catch (error) {
    const mended = constantsAsNull(text);
    if (mended === text) throw error;
    return parseLossless(mended);
  }
}

function constantsAsNull(text: string): string {
  const constants = /"|-?\b(?:NaN|Infinity)\b/g;
  const parts: string[] = [];
  let kept = 0;
  for (let found = constants.exec(text); found !== null; found = constants.exec(text)) {
    if (found[0] === '"') constants.lastIndex = endOfString(text, found.index);
    else {
      parts.push(text.slice(kept, found.index), "null");
      kept = constants.lastIndex;
    }
  }
  return parts.length === 0 ? text : [...parts, text.slice(kept)].join("");
}

/** The same JSON text (it must be valid) with every integer beyond ±(2^53−1) in quotes. */
function quoteLargeIntegers(text: string): string {
  const parts: string[] = [];
  let kept = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (isDigit(code) || code === MINUS) {
      const start = at;
      at++;
      while (isDigit(text.charCodeAt(at))) at++;
      const integerEnd = at;
      while (isNumberPart(text.charCodeAt(at))) at++;
      if (at === integerEnd && at - start >= 16 && !Number.isSafeInteger(Number(text.slice(start, at)))) {
        parts.push(text.slice(kept, start), '"', text.slice(start, at), '"');
        kept = at;
      }
    } else {
      at++;
    }
  }
  parts.push(text.slice(kept));
  return parts.join("");
}

/** The index after the closing quote of the string that opens at `open`. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close !== -1; close = text.indexOf('"', close + 1)) {
    let slashes = 0;
    while (text.charCodeAt(close - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return close + 1;
  }
  return text.length;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isNumberPart(code: number): boolean {
  // . e E + - and digits
  return isDigit(code) || code === 46 || code === 101 || code === 69 || code === 43 || code === MINUS;
}
