/** Text from servers, traces and file names is hostile: nothing of it may steer a terminal. */

/** Control characters (C0, C1, DEL), bidirectional overrides and line separators become visible `\xNN` / `\uNNNN`. */
export function plainText(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (char) => {
    if (char === "\n") return "\\n";
    if (char === "\t") return "\\t";
    if (char === "\r") return "\\r";
    const code = char.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : unicodeEscape(char);
  });
}

/** One UTF-16 unit as JSON may write it, in ASCII: `\uNNNN`. */
export function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** {@link plainText}, cut to `max` characters with an ellipsis. */
export function shortText(text: string, max: number): string {
  const plain = plainText(text);
  return plain.length <= max ? plain : `${plain.slice(0, Math.max(0, max - 1))}…`;
}

/**
 * A JSON text with those of its characters escaped that JSON allows as they are but that could steer a terminal. The value
 * stays the same.
 */
export function plainJson(json: string): string {
  return json.replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, unicodeEscape);
}
