/** A YAML (or JSON) file whose values know where they stand, so that every complaint names file:line:column. */
import { isMap, isNode, isSeq, LineCounter, parseDocument, visit, type Document, type YAMLError } from "yaml";
import { UserError } from "../core/failure.ts";
import type { JsonValue } from "../core/json.ts";

export class YamlSource {
  readonly path: string;
  readonly value: JsonValue;
  readonly #document: Document;
  readonly #lines: LineCounter;

  /** Syntax errors, duplicate keys and aliases of nothing included, are `UserError`s. `<<` merges, as people expect. */
  constructor(path: string, text: string) {
    this.path = path;
    this.#lines = new LineCounter();
    this.#document = parseDocument(text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      uniqueKeys: true,
      merge: true,
    });
    const [error] = [...this.#document.errors, ...this.#document.warnings];
    if (error !== undefined) throw new UserError(`${this.#at(error.pos[0])}: ${explained(error, text)}`);
    visit(this.#document, {
      Alias: (_key, alias) => {
        if (alias.resolve(this.#document) === undefined)
          throw new UserError(
            `${this.#at(alias.range?.[0] ?? 0)}: *${alias.source}: no &${alias.source} stands before it`,
          );
      },
    });
    try {
      this.value = this.#document.toJS() as JsonValue;
    } catch (cause) {
      if (!(cause instanceof ReferenceError)) throw cause;
      throw new UserError(`${path}: its aliases unfold to too much`, { cause });
    }
  }

  #at(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.path}:${line}:${col}`;
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
    return offset === undefined ? this.path : this.#at(offset);
  }

  error(keys: readonly PropertyKey[], message: string, hint?: string): UserError {
    return new UserError(`${this.where(keys)}: ${message}`, hint === undefined ? {} : { hint });
  }
}

function explained({ code, message, pos }: YAMLError, text: string): string {
  if (code === "DUPLICATE_KEY") {
    const key = /^[^\s:,}]+/.exec(text.slice(pos[0]))?.[0] ?? "a key";
    return `${key} is given twice in one mapping`;
  }
  if (code === "MULTIPLE_DOCS") return "a second document begins here: one is wanted";
  return message.split("\n")[0] as string;
}
