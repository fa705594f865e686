/**
 * Secrets (API keys, credentials in URLs and headers) go into the request header and nowhere else. Whoever learns one
 * registers it here; everything that is written or printed passes through {@link Secrets.redact}.
 */
const MARK = "[redacted]";
/** Shorter values would redact ordinary words. */
const MIN_LENGTH = 4;
/** As much of a value's beginning, with a mask behind it, gives it away: servers echo `sk-abcd****wxyz`. */
const TELLING_HEAD = 4;
const MASKED = /([\w+/=-]{4,})(?:[*•…]+|\.{2,})[\w+/=-]*/g;

export class Secrets {
  #values: string[] = [];
  /** As they were given. */
  readonly #plain: string[] = [];
  /** Of those with characters that are escaped somewhere. */
  readonly #escaped: RegExp[] = [];

  add(value: string | null | undefined): void {
    if (value === null || value === undefined || value.length < MIN_LENGTH || this.#values.includes(value))
      return;
    this.#plain.push(value);
    const forms = new Set([
      value,
      encodeURIComponent(value),
      Buffer.from(value).toString("base64"),
      // As it stands inside a JSON string.
      JSON.stringify(value).slice(1, -1),
    ]);
    this.#values.push(...forms);
    this.#values.sort((a, b) => b.length - a.length);
    if (/[^\w.~-]/.test(value)) this.#escaped.push(anyEscape(value));
  }

  redact(text: string): string {
    let out = text;
    for (const value of this.#values) if (out.includes(value)) out = out.split(value).join(MARK);
    // A secret that is none of those is still known by its beginning.
    const hinted = this.#plain.filter((value) => out.includes(value.slice(0, TELLING_HEAD)));
    if (hinted.length === 0) return out;
    for (const pattern of this.#escaped) out = out.replace(pattern, MARK);
    return out.replace(MASKED, (masked, head: string) => {
      for (const value of hinted) {
        const at = head.indexOf(value.slice(0, TELLING_HEAD));
        if (at >= 0 && value.startsWith(head.slice(at))) return head.slice(0, at) + MARK;
      }
      return masked;
    });
  }

  /** All of them, for another thread that must not write them either. */
  list(): readonly string[] {
    return [...this.#values];
  }

  get size(): number {
    return this.#values.length;
  }
}

/** The value with some of its characters escaped as in URLs (which of them differs), JSON or HTML. */
function anyEscape(value: string): RegExp {
  const parts = Array.from(value, (char) => {
    if (/\w/.test(char)) return char;
    const code = char.codePointAt(0) as number;
    const hex = code.toString(16).padStart(4, "0");
    const plain = char.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
    return `(?:${[plain, encodeURIComponent(char).replace(/[()*.!~']/g, "\\$&"), `\\\\u${hex}`, `\\\\${plain}`, `&#${code};`, `&#x0*${code.toString(16)};`].join("|")})`;
  });
  return new RegExp(parts.join(""), "gi");
}

/** The secrets of this process: one place, so that no path of output can miss one. */
export const secrets = new Secrets();

/** Fields and parameters whose value is a secret by their name. */
const SECRET_FIELD =
  /(?:api|access|subscription|secret)[-_]?key|secret|passw|credential|signature|^(?:key|sig|auth|authorization)$|(?:^|auth|access|bearer|session|refresh|id)[-_]?token$/i;

export function isSecretField(name: string): boolean {
  return SECRET_FIELD.test(name);
}
