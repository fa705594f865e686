import { describe, expect, it } from "vitest";
import { createRng } from "../core/random.ts";
import { BlockNames } from "./block-names.ts";

describe("block names", () => {
  it("agree with a Map under random holds and drops, while growing", () => {
    const names = new BlockNames(8);
    const rng = createRng("names");
    // Hashes that collide: few high parts, many low parts.
    const hashes = Array.from({ length: 3000 }, (_, i) => (i % 50) * 2_097_152 * 977 + i);
    const held = new Map<number, { name: number; holders: number }>();
    for (let step = 0; step < 60_000; step++) {
      const hash = rng.pick(hashes);
      const known = held.get(hash);
      if (known === undefined || rng.uniform() < 0.45) {
        const name = names.hold(hash, step % 1000);
        if (known === undefined) held.set(hash, { name, holders: 1 });
        else {
          if (name !== known.name) throw new Error(`step ${step}: another name`);
          known.holders++;
        }
      } else {
        names.drop(known.name);
        if (--known.holders === 0) held.delete(hash);
      }
      if (names.size !== held.size) throw new Error(`step ${step}: ${names.size} names, ${held.size} held`);
    }
    expect(new Set([...held.values()].map(({ name }) => name)).size).toBe(held.size);
    for (const [hash, { name, holders }] of held) {
      expect(names.hold(hash, 0)).toBe(name);
      for (let i = 0; i <= holders; i++) names.drop(name);
    }
    expect(names.size).toBe(0);
  });
});
