/** Splits a command into arguments as a POSIX shell would, without running one: no variables, no globs, no pipes. */
import { UserError } from "../../core/failure.ts";

/** Quotes ('…' literal, "…" with \" \\ \$ \` escapes) and backslashes are honoured; an unclosed quote is a UserError. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (char === "'") {
      const end = text.indexOf("'", at + 1);
      if (end === -1) throw unclosed(text, "'");
      word = (word ?? "") + text.slice(at + 1, end);
      at = end;
    } else if (char === '"') {
      word ??= "";
      for (at++; text[at] !== '"'; at++) {
        if (at >= text.length) throw unclosed(text, '"');
        if (text[at] === "\\" && /["\\$`\n]/.test(text[at + 1] ?? "")) at++;
        word += text[at] as string;
      }
    } else if (char === "\\") {
      at++;
      // A line continuation is no character at all.
      if (text[at] !== "\n") word = (word ?? "") + (text[at] ?? "\\");
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

/** One argument quoted so that `/bin/sh` reads it back unchanged. */
export function shellQuote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

function unclosed(text: string, quote: string): UserError {
  return new UserError(`unclosed ${quote} in the command: ${text}`);
}
