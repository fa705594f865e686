/** Text from servers, traces and file names in Markdown: nothing of it may become markup. */
import { plainText } from "./terminal-text.ts";

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Text inside a line or a table's cell: no control characters, and nothing that Markdown or HTML would read as its own. */
export function markdownText(text: string): string {
  return plainText(text).replace(/[\\`*_[\]~|&<>]/g, (char) => ENTITIES[char] ?? `\\${char}`);
}
