/**
 * Secrets (API keys, credentials in URLs and headers) go into the request header and nowhere else. Whoever learns one
 * registers it here; everything that is written or printed passes through {@link Secrets.redact}.
 */
const MARK = "[redacted]";
/** Shorter values would redact ordinary words. */
const MIN_LENGTH = 4;

export class Secrets {
  #values: string[] = [];

  add(value: string | null | undefined): void {
    if (value === null || value === undefined || value.length < MIN_LENGTH || this.#values.includes(value))
      return;
    const forms = new Set([
      value,
      encodeURIComponent(value),
      Buffer.from(value).toString("base64"),
      // As it stands inside a JSON string.
      JSON.stringify(value).slice(1, -1),
    ]);
    this.#values.push(...forms);
    this.#values.sort((a, b) => b.length - a.length);
  }

  redact(text: string): string {
    let out = text;
    for (const value of this.#values) if (out.includes(value)) out = out.split(value).join(MARK);
    return out;
  }

  /** All of them, for another thread that must not write them either. */
  list(): readonly string[] {
    return [...this.#values];
  }

  get size(): number {
    return this.#values.length;
  }
}

/** The secrets of this process: one place, so that no path of output can miss one. */
export const secrets = new Secrets();
