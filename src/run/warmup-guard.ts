/**
 * Counts measured prompts that equal a warm-up prompt. The composer promises that there are none; a promise about numbers
 * is checked all the same, and the count stands in the summary (`fidelity.warmup_duplicates`).
 */
import { createHash } from "node:crypto";
import type { ModelPrompt } from "../client/client.ts";

export interface WarmupGuard {
  /** Remembers a warm-up prompt. */
  warmup(prompt: ModelPrompt): void;
  /** Looks at a measured prompt. */
  measured(prompt: ModelPrompt): void;
  /** `null` while there was no warm-up. */
  duplicates(): number | null;
  /** Digests of the warm-up prompts, for a guard on another thread. */
  known(): readonly string[];
}

export function createWarmupGuard(digests: readonly string[] = []): WarmupGuard {
  const known = new Set<string>(digests);
  let duplicates = 0;
  return {
    warmup: (prompt) => known.add(digest(prompt)),
    measured: (prompt) => {
      if (known.size > 0 && known.has(digest(prompt))) duplicates++;
    },
    duplicates: () => (known.size === 0 ? null : duplicates),
    known: () => [...known],
  };
}

function digest(prompt: ModelPrompt): string {
  return createHash("sha256").update(JSON.stringify(prompt)).digest("base64");
}
