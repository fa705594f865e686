/** Header lines of a response, checked as they come. */

/** Names in lower case; repeated headers are joined with `, ` as RFC 9110 says. */
export type ResponseHeaders = ReadonlyMap<string, string>;

export class HeaderLines {
  readonly headers = new Map<string, string>();
  #last: string | null = null;

  /** Takes one line without its line end. Returns what is wrong with it, or `null`. */
  add(line: string): string | null {
    const first = line.charCodeAt(0);
    if (first === 32 || first === 9) {
      // An obsolete line fold: one space joins it to the value before (RFC 9112, 5.2).
      if (this.#last === null) return "a header that begins with white space";
      this.headers.set(this.#last, `${this.headers.get(this.#last) ?? ""} ${line.trim()}`);
      return null;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? "" : line.slice(0, colon);
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name))
      return `bad header line ${JSON.stringify(line.slice(0, 60))}`;
    const value = line.slice(colon + 1).trim();
    // eslint-disable-next-line no-control-regex
    if (/[\0\r\n]/.test(value)) return `control character in header ${name}`;
    const key = name.toLowerCase();
    const before = this.headers.get(key);
    this.headers.set(key, before === undefined ? value : `${before}, ${value}`);
    this.#last = key;
    return null;
  }
}
