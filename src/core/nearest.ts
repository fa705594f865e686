/** The nearest known word to a mistyped one: for flags, keys, metric names, formats. */

/** `did you mean X?`, or undefined when nothing is near. */
export function nearestHint(word: string, words: readonly string[]): string | undefined {
  const near = nearest(word, words);
  return near === null ? undefined : `did you mean ${near}?`;
}

/** The word with the fewest slips (a letter more, less, other, or two swapped), if they are few; of equals the one that begins alike. */
export function nearest(word: string, words: readonly string[]): string | null {
  const wanted = word.toLowerCase();
  let best: string | null = null;
  // Of a short word something must remain: `x` is not near `ca`.
  let bestScore = Math.min(Math.max(2, Math.floor(word.length / 3)), word.length - 1) + 1;
  for (const candidate of words) {
    const known = candidate.toLowerCase();
    const score = slips(wanted, known) - 0.01 * commonStart(wanted, known);
    if (score < bestScore) [best, bestScore] = [candidate, score];
  }
  return best;
}

function commonStart(a: string, b: string): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

/** Edit distance with swaps of neighbours (optimal string alignment). */
function slips(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (last[j - 1] as number) + (same ? 0 : 1),
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (beforeLast[j - 2] as number) + 1);
      row[j] = cost;
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] as number;
}
