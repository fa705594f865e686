const DIGIT_BITS = 16;
const DIGITS = 1 << DIGIT_BITS;
/** Below this the tables of digits cost more than comparing does. */
const FEW = 4096;

/**
 * Positions of `keys` in ascending order of key, equal keys in the order they stand. Time linear in keys (a radix sort over
 * the bits of a double): sorting a million objects by a callback takes ten times as long. No key may be NaN.
 */
export function stableOrder(keys: Float64Array): Uint32Array {
  const n = keys.length;
  let order: Uint32Array = new Uint32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  if (isAscending(keys)) return order;
  if (n < FEW) return order.sort((a, b) => compare(keys[a] as number, keys[b] as number) || a - b);
  const digits = sortableDigits(keys);
  let next: Uint32Array = new Uint32Array(n);
  const starts = new Uint32Array(DIGITS);
  for (let digit = 0; digit < 4; digit++) {
    starts.fill(0);
    for (let i = 0; i < n; i++) {
      const value = digits[4 * i + digit] as number;
      starts[value] = (starts[value] as number) + 1;
    }
    if (starts[digits[digit] as number] === n) continue; // all the same
    let start = 0;
    for (let value = 0; value < DIGITS; value++) {
      const count = starts[value] as number;
      starts[value] = start;
      start += count;
    }
    for (let i = 0; i < n; i++) {
      const position = order[i] as number;
      const value = digits[4 * position + digit] as number;
      const at = starts[value] as number;
      next[at] = position;
      starts[value] = at + 1;
    }
    [order, next] = [next, order];
  }
  return order;
}

/** Infinity − Infinity is NaN, hence the test. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

function isAscending(keys: Float64Array): boolean {
  for (let i = 1; i < keys.length; i++) if ((keys[i] as number) < (keys[i - 1] as number)) return false;
  return true;
}

/** Four 16-bit digits a key, the lowest first, that order as the keys do: all bits of a negative flipped, else the sign's. */
function sortableDigits(keys: Float64Array): Uint16Array {
  const copy = new Float64Array(keys.length);
  // −0 and 0 are equal.
  for (let i = 0; i < keys.length; i++) copy[i] = (keys[i] as number) + 0;
  const words = new Uint32Array(copy.buffer);
  for (let high = 1; high < words.length; high += 2) {
    const word = words[high] as number;
    if (word >= 0x80000000) {
      words[high] = ~word;
      words[high - 1] = ~(words[high - 1] as number);
    } else {
      words[high] = word | 0x80000000;
    }
  }
  return new Uint16Array(copy.buffer);
}
