/**
 * The simulator's tokenizer: no vocabulary file, every id is arithmetic, ids never change. Greedy from the left, a
 * piece is one of
 *
 * - a word piece: up to 4 ASCII letters of one case form (`abcd`, `Abcd`, `ABCD`), with the one space before it;
 * - up to 3 digits, with the one space before them;
 * - 1 to 4 times the same ASCII punctuation mark, with the one space before it;
 * - 1 to 16 times the same white space (space, LF, tab, CR); of a run of spaces the last goes to the piece that follows;
 * - any other code point, alone (a lone surrogate becomes U+FFFD, as in UTF-8).
 *
 * `decode(encode(text)) = text` for every well-formed text. English prose comes to about 3.7 characters a token. Special
 * tokens (ids 0 to 63) are made by the chat template only, never by text.
 */
export const TOKEN_UNKNOWN = 0;
export const TOKEN_START = 2;
/** End of a message, and the end-of-sequence token. */
export const TOKEN_END = 3;
/** Stands for one patch of a picture. */
export const TOKEN_IMAGE = 4;
/** Between the role and the content of a message. */
export const TOKEN_HEADER = 5;
/** In a rendered chat, special token `id` is the noncharacter `SPECIAL_CHAR + id`; content never holds these. */
export const SPECIAL_CHAR = 0xfdd0;
const SPECIAL: Readonly<Record<number, string>> = {
  [TOKEN_START]: "<|im_start|>",
  [TOKEN_END]: "<|im_end|>",
  [TOKEN_IMAGE]: "<|image|>",
  [TOKEN_HEADER]: "<|im_sep|>",
};

const PIECE_LETTERS = 4;
/** Words of at most 0, 1, 2, 3, 4 letters. */
const WORDS_UP_TO = [0, 26, 702, 18_278, 475_254] as const;
const NUMBERS_UP_TO = [0, 10, 110, 1110] as const;
const PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const SPACES = " \n\t\r";
const WORD_BASE = 64;
const NUMBER_BASE = WORD_BASE + WORDS_UP_TO[4] * 6;
const PUNCTUATION_BASE = NUMBER_BASE + NUMBERS_UP_TO[3] * 2;
const SPACE_BASE = PUNCTUATION_BASE + PUNCTUATION.length * 8;
const CODE_POINT_BASE = SPACE_BASE + SPACES.length * 16;
/** Ids are 0 to `SIM_VOCABULARY` − 1. */
export const SIM_VOCABULARY = CODE_POINT_BASE + 0x110000;

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const MARK = 4;
const SPACE = 5;
const CLASS = new Uint8Array(128);
/** Position in PUNCTUATION or SPACES. */
const RANK = new Uint8Array(128);
for (let c = 97; c <= 122; c++) CLASS[c] = LOWER;
for (let c = 65; c <= 90; c++) CLASS[c] = UPPER;
for (let c = 48; c <= 57; c++) CLASS[c] = DIGIT;
for (const [table, kind] of [
  [PUNCTUATION, MARK],
  [SPACES, SPACE],
] as const) {
  for (let i = 0; i < table.length; i++) {
    CLASS[table.charCodeAt(i)] = kind;
    RANK[table.charCodeAt(i)] = i;
  }
}

let scratch = new Int32Array(1 << 16);
let scratch_starts = new Int32Array(1 << 16);

/** Writes ids of `text` and where each starts to the scratch arrays; returns how many. */
function scan(text: string, specials: boolean): number {
  const length = text.length;
  if (scratch.length < length) {
    scratch = new Int32Array(Math.max(length, scratch.length * 2));
    scratch_starts = new Int32Array(scratch.length);
  }
  const out = scratch;
  const starts = scratch_starts;
  let count = 0;
  let at = 0;
  while (at < length) {
    let c = text.charCodeAt(at);
    let spaced = 0;
    if (c === 32) {
      let end = at + 1;
      while (end < length && text.charCodeAt(end) === 32) end++;
      const next = end < length ? text.charCodeAt(end) : 128;
      const kind = next < 128 ? (CLASS[next] as number) : 0;
      const joins = kind !== 0 && kind !== SPACE;
      for (let run = joins ? end - at - 1 : end - at; run > 0; run -= 16, at += 16) {
        starts[count] = at;
        out[count++] = SPACE_BASE + Math.min(run, 16) - 1;
      }
      at = end;
      if (!joins) continue;
      spaced = 1;
      c = next;
    }
    const kind = c < 128 ? (CLASS[c] as number) : 0;
    const start = at;
    starts[count] = start - spaced;
    if (kind === LOWER || kind === UPPER) {
      let value = (c | 32) - 97;
      let form = kind === LOWER ? 0 : 1;
      at++;
      const end = Math.min(length, start + PIECE_LETTERS);
      if (at < end) {
        let next = text.charCodeAt(at);
        if (form === 1 && next >= 65 && next <= 90) form = 2;
        const low = form === 2 ? 65 : 97;
        while (next >= low && next <= low + 25) {
          value = value * 26 + (next - low);
          if (++at === end) break;
          next = text.charCodeAt(at);
        }
      }
      out[count++] = WORD_BASE + ((WORDS_UP_TO[(at - start - 1) as 0] + value) * 3 + form) * 2 + spaced;
    } else if (kind === DIGIT) {
      let value = c - 48;
      at++;
      while (at < length && at - start < 3) {
        const next = text.charCodeAt(at);
        if (next < 48 || next > 57) break;
        value = value * 10 + (next - 48);
        at++;
      }
      out[count++] = NUMBER_BASE + (NUMBERS_UP_TO[(at - start - 1) as 0] + value) * 2 + spaced;
    } else if (kind === MARK || kind === SPACE) {
      const longest = kind === MARK ? 4 : 16;
      at++;
      while (at < length && at - start < longest && text.charCodeAt(at) === c) at++;
      const rank = RANK[c] as number;
      out[count++] =
        kind === MARK
          ? PUNCTUATION_BASE + (rank * 4 + at - start - 1) * 2 + spaced
          : SPACE_BASE + rank * 16 + at - start - 1;
    } else {
      const point = text.codePointAt(at) as number;
      if (specials && point >= SPECIAL_CHAR && point <= SPECIAL_CHAR + TOKEN_HEADER) {
        out[count++] = point - SPECIAL_CHAR;
      } else {
        out[count++] = CODE_POINT_BASE + (point >= 0xd800 && point <= 0xdfff ? 0xfffd : point);
      }
      at += point > 0xffff ? 2 : 1;
    }
  }
  return count;
}

/** Token ids of a text; `specials`: of a rendered chat. */
export function encode(text: string, specials = false): Int32Array {
  const count = scan(text, specials);
  return scratch.slice(0, count);
}

/** The same without a copy, with the character each token starts at. Valid until the next call of this module. */
export function encodeView(text: string, specials: boolean): { ids: Int32Array; starts: Int32Array } {
  const count = scan(text, specials);
  return { ids: scratch.subarray(0, count), starts: scratch_starts.subarray(0, count) };
}

/** How many tokens a text has. */
export function countTokens(text: string): number {
  return scan(text, false);
}

/** The text of one id: a special token's name, "" for an id outside the vocabulary. */
export function decodeToken(id: number): string {
  if (id < WORD_BASE) return SPECIAL[id] ?? "";
  if (id < NUMBER_BASE) {
    const code = id - WORD_BASE;
    const form = (code >> 1) % 3;
    let index = Math.floor(code / 6);
    let letters = 1;
    while (index >= (WORDS_UP_TO[letters as 1] as number)) letters++;
    index -= WORDS_UP_TO[(letters - 1) as 0];
    let word = "";
    for (let i = 0; i < letters; i++) {
      word = String.fromCharCode(97 + (index % 26)) + word;
      index = Math.floor(index / 26);
    }
    if (form === 1) word = (word[0] as string).toUpperCase() + word.slice(1);
    else if (form === 2) word = word.toUpperCase();
    return code % 2 === 1 ? ` ${word}` : word;
  }
  if (id < PUNCTUATION_BASE) {
    const code = id - NUMBER_BASE;
    const index = code >> 1;
    const digits = index < 10 ? 1 : index < 110 ? 2 : 3;
    const text = String(index - NUMBERS_UP_TO[(digits - 1) as 0]).padStart(digits, "0");
    return code % 2 === 1 ? ` ${text}` : text;
  }
  if (id < SPACE_BASE) {
    const code = id - PUNCTUATION_BASE;
    const text = (PUNCTUATION[code >> 3] as string).repeat(((code >> 1) % 4) + 1);
    return code % 2 === 1 ? ` ${text}` : text;
  }
  if (id < CODE_POINT_BASE) {
    const code = id - SPACE_BASE;
    return (SPACES[code >> 4] as string).repeat((code % 16) + 1);
  }
  const point = id - CODE_POINT_BASE;
  return point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : "";
}

/** The text of ids. */
export function decode(ids: ArrayLike<number>): string {
  let text = "";
  for (let i = 0; i < ids.length; i++) text += decodeToken(ids[i] as number);
  return text;
}
