/**
 * Names for prefix blocks where a source tells only which pieces of text a prompt is made of. Two prompts get equal
 * names for a block exactly when all their tokens up to its end are made of the same pieces.
 */
import type { LengthPrompt } from "./trace-request.ts";

/** A piece of a prompt: tokens `offset`, `offset + 1`, ... of a text that is called `text`. Equal names = equal text. */
export interface Piece {
  readonly text: string;
  readonly tokens: number;
  /** Where in `text` the piece begins; 0 unless the piece was cut. */
  readonly offset?: number;
}

/** Block size of the names made here: fine enough that a cut prefix loses at most 63 tokens. */
export const NAMED_BLOCK_TOKENS = 64;

export class BlockNamer {
  readonly #names = new Map<string, number>();

  /** The prompt made of these pieces: its whole length, and a name for each whole block of it (floor). */
  prompt(pieces: readonly Piece[]): LengthPrompt {
    const hash_ids: number[] = [];
    let tokens = 0;
    let previous = -1;
    let key = "";
    let room = NAMED_BLOCK_TOKENS;
    for (const piece of pieces) {
      tokens += piece.tokens;
      let offset = piece.offset ?? 0;
      let left = piece.tokens;
      while (left > 0) {
        const taken = Math.min(left, room);
        key += `${piece.text}\u0000${offset}+${taken}\u0001`;
        offset += taken;
        left -= taken;
        room -= taken;
        if (room === 0) {
          previous = this.#name(`${previous}\u0001${key}`);
          hash_ids.push(previous);
          key = "";
          room = NAMED_BLOCK_TOKENS;
        }
      }
    }
    return { kind: "length", tokens, hash_ids, block_tokens: NAMED_BLOCK_TOKENS, hash_scope: null };
  }

  #name(key: string): number {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name = this.#names.size;
    this.#names.set(key, name);
    return name;
  }
}

/** The first `tokens` tokens of a row of pieces. */
export function cutPieces(pieces: readonly Piece[], tokens: number): Piece[] {
  const cut: Piece[] = [];
  let left = tokens;
  for (const piece of pieces) {
    if (left <= 0) break;
    cut.push(piece.tokens <= left ? piece : { ...piece, tokens: left });
    left -= piece.tokens;
  }
  return cut;
}

export function sumTokens(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + piece.tokens, 0);
}
