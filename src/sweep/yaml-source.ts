/** A YAML (or JSON) file whose values know where they stand, so that every complaint names file:line:column. */
import { isMap, isNode, isSeq, LineCounter, parseDocument, type Document } from "yaml";
import { UserError } from "../core/failure.ts";
import type { JsonValue } from "../core/json.ts";

export class YamlSource {
  readonly path: string;
  readonly value: JsonValue;
  readonly #document: Document;
  readonly #lines: LineCounter;

  /** Syntax errors, duplicate keys included, are `UserError`s. */
  constructor(path: string, text: string) {
    this.path = path;
    this.#lines = new LineCounter();
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, uniqueKeys: true });
    const [error] = this.#document.errors;
    if (error !== undefined) {
      const { line, col } = this.#lines.linePos(error.pos[0]);
      throw new UserError(`${path}:${line}:${col}: ${error.message.split("\n")[0]}`);
    }
    this.value = this.#document.toJS() as JsonValue;
  }

  /** `file:line:column` of a key (or list item); of the nearest parent where it is not there. */
  where(keys: readonly PropertyKey[]): string {
    let node: unknown = this.#document.contents;
    let offset = isNode(node) ? node.range?.[0] : undefined;
    for (const key of keys) {
      if (isMap(node)) {
        const pair = node.items.find((item) => isNode(item.key) && String(item.key.toJSON()) === String(key));
        if (pair === undefined) break;
        if (isNode(pair.key)) offset = pair.key.range?.[0] ?? offset;
        node = pair.value;
      } else if (isSeq(node)) {
        node = node.items[Number(key)];
        if (isNode(node)) offset = node.range?.[0] ?? offset;
      } else {
        break;
      }
    }
    if (offset === undefined) return this.path;
    const { line, col } = this.#lines.linePos(offset);
    return `${this.path}:${line}:${col}`;
  }

  error(keys: readonly PropertyKey[], message: string, hint?: string): UserError {
    return new UserError(`${this.where(keys)}: ${message}`, hint === undefined ? {} : { hint });
  }
}
