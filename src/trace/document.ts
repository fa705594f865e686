/** Whole JSON documents (a file is one value), integers beyond 2^53 kept as strings, a syntax error with its line. */
import { readText } from "../core/lines.ts";
import type { ReadOptions } from "./format.ts";
import { parseLossless } from "./lossless-json.ts";
import { notJson, rowError } from "./row-account.ts";

/** Reads and parses one document. A syntax error is a `UserError` `file:line: reason`. */
export async function readJsonDocument(
  path: string,
  options: ReadOptions,
  parse = parseLossless,
): Promise<unknown> {
  return parseDocument(await readText(path), options.name ?? path, parse);
}

export function parseDocument(text: string, file: string, parse = parseLossless): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw rowError(file, lineAt(text, jsonErrorOffset(text)), notJson(error));
  }
}

/** 1-based line of a character offset. */
function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

/**
 * Where a text stops being JSON: the offset of the first token that cannot stand there, or the text's end. Node's own
 * message names a position only at times.
 */
export function jsonErrorOffset(text: string): number {
  type Expect = "value" | "value or ]" | "key" | "key or }" | ":" | ", or close";
  const stack: string[] = [];
  let expect: Expect = "value";
  let at = skipSpace(text, 0);
  while (at < text.length) {
    if (expect === ", or close" && stack.length === 0) return at;
    const mark = text[at] as string;
    const top = stack.at(-1);
    let end = at + 1;
    if (mark === '"') {
      end = stringEnd(text, at);
      if (text[end - 1] !== '"' || end === at + 1) return end;
      if (expect === "key" || expect === "key or }") expect = ":";
      else if (expect === "value" || expect === "value or ]") expect = ", or close";
      else return at;
    } else if ((mark === "{" || mark === "[") && (expect === "value" || expect === "value or ]")) {
      stack.push(mark);
      expect = mark === "{" ? "key or }" : "value or ]";
    } else if (
      (mark === "}" && top === "{" && (expect === "key or }" || expect === ", or close")) ||
      (mark === "]" && top === "[" && (expect === "value or ]" || expect === ", or close"))
    ) {
      stack.pop();
      expect = ", or close";
    } else if (mark === ":" && expect === ":") {
      expect = "value";
    } else if (mark === "," && expect === ", or close") {
      expect = top === "{" ? "key" : "value";
    } else {
      SCALAR.lastIndex = at;
      if ((expect !== "value" && expect !== "value or ]") || !SCALAR.test(text)) return at;
      end = SCALAR.lastIndex;
      expect = ", or close";
    }
    at = skipSpace(text, end);
  }
  return text.length;
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;

function skipSpace(text: string, from: number): number {
  let at = from;
  while (" \t\r\n".includes(text[at] ?? "x")) at++;
  return at;
}

/** The index after a string's closing quote, or of its first illegal character. */
function stringEnd(text: string, open: number): number {
  let at = open + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 34) return at + 1;
    if (code < 32) return at;
    // An escape takes the next character along, which must not be a control character either.
    at += code === 92 && !(text.charCodeAt(at + 1) < 32) ? 2 : 1;
  }
  return text.length;
}
