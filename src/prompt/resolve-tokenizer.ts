/** Which tokenizer a run uses: a local file, else the server's own, else the built-in one with a warning. */
import { existsSync, statSync } from "node:fs";
import { UserError } from "../core/failure.ts";
import { loadBuiltinTokenizer } from "./builtin-tokenizer.ts";
import { findTokenizerFile, loadLocalTokenizer } from "./local-tokenizer.ts";
import { probeServerTokenizer, type PostJson } from "./server-tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface ResolveTokenizerOptions {
  /** `--tokenizer`: a tokenizer.json, a model folder, or a model's name that this machine has in its cache. */
  readonly tokenizerPath?: string | null;
  /** The model's name; a folder on this machine where the server was started from one. */
  readonly model: string;
  /** How to ask the target; absent where there is no server to ask. */
  readonly post?: PostJson | null;
}

export interface ResolvedTokenizer {
  readonly tokenizer: Tokenizer;
  /** One line for the user, or `null`. */
  readonly warning: string | null;
}

/** Never downloads. A path that does not exist is a {@link UserError}; a model name that is not here is not. */
export async function resolveTokenizer(options: ResolveTokenizerOptions): Promise<ResolvedTokenizer> {
  const { tokenizerPath = null, model, post = null } = options;
  let missed: string | null = null;
  if (tokenizerPath !== null && tokenizerPath !== "") {
    if (findTokenizerFile(tokenizerPath) !== null || looksLikePath(tokenizerPath)) {
      if (!existsSync(tokenizerPath) && findTokenizerFile(tokenizerPath) === null) {
        throw new UserError(`--tokenizer ${tokenizerPath}: no such file or folder`, {
          hint: "name a tokenizer.json, or a model folder that holds one",
        });
      }
      return { tokenizer: loadLocalTokenizer(tokenizerPath), warning: null };
    }
    missed = `--tokenizer ${tokenizerPath} is not on this machine (nothing is downloaded)`;
  } else if (findTokenizerFile(model) !== null && !isPlainFile(model)) {
    return { tokenizer: loadLocalTokenizer(model), warning: null };
  }
  const server = post === null ? null : await probeServerTokenizer(model, post);
  if (server !== null) {
    const warning = missed === null ? null : `${missed}; the server's own /tokenize is used`;
    return { tokenizer: server, warning };
  }
  const builtin = await loadBuiltinTokenizer();
  const reason = missed ?? (post === null ? "no tokenizer was named" : "the server has no /tokenize");
  return {
    tokenizer: builtin,
    warning: `${reason}: prompt lengths are counted with the built-in ${builtin.name} vocabulary and will differ on the server; name the model's tokenizer.json with --tokenizer`,
  };
}

/** A model called like some file in the working folder is not that file. */
function isPlainFile(name: string): boolean {
  return existsSync(name) && statSync(name).isFile();
}

function looksLikePath(name: string): boolean {
  return existsSync(name) || /^(\.{0,2}\/|~|[A-Za-z]:\\)/.test(name) || name.endsWith(".json");
}
