import { describe, expect, it } from "vitest";
import { ChunkTokenCounter } from "./chunk-token-counter.ts";

function count(
  chunks: readonly (readonly [own: number | null, cumulative: number | null])[],
): ChunkTokenCounter {
  const counter = new ChunkTokenCounter();
  for (const [own, cumulative] of chunks) counter.payload(own, cumulative);
  return counter;
}

describe("ChunkTokenCounter", () => {
  it.each([
    [
      "nothing told",
      [
        [null, null],
        [null, null],
      ],
      null,
      null,
    ],
    ["no chunk", [], null, null],
    [
      "own counts",
      [
        [1, null],
        [3, null],
      ],
      [1, 3],
      4,
    ],
    [
      "own counts that are 0 from the start",
      [
        [0, null],
        [0, null],
      ],
      null,
      null,
    ],
    [
      "own counts win over usage",
      [
        [1, 9],
        [3, 9],
      ],
      [1, 3],
      4,
    ],
    [
      "cumulative",
      [
        [null, 2],
        [null, 2],
        [null, 5],
      ],
      [2, 0, 3],
      null,
    ],
    [
      "a gap of one a chunk",
      [
        [null, 1],
        [null, null],
        [null, null],
        [null, 4],
      ],
      [1, 1, 1, 1],
      null,
    ],
    [
      "a gap that cannot be placed",
      [
        [null, 1],
        [null, null],
        [null, 4],
      ],
      null,
      null,
    ],
    [
      "a gap at the end",
      [
        [null, 1],
        [null, null],
      ],
      null,
      null,
    ],
    [
      "not told at first",
      [
        [null, null],
        [null, 2],
      ],
      null,
      null,
    ],
    [
      "own counts not always",
      [
        [1, null],
        [null, null],
        [1, null],
      ],
      null,
      null,
    ],
    [
      "a count that shrinks",
      [
        [null, 3],
        [null, 2],
      ],
      null,
      null,
    ],
  ] as [string, [number | null, number | null][], number[] | null, number | null][])(
    "%s",
    (_name, chunks, counts, total) => {
      const counter = count(chunks);
      expect([counter.counts, counter.ownTotal]).toEqual([counts, total]);
    },
  );

  it("gives tokens of silent chunks to the next payload", () => {
    const counter = new ChunkTokenCounter();
    counter.silent(1);
    counter.payload(2, null);
    counter.silent(1);
    expect([counter.counts, counter.ownTotal]).toEqual([[3], 4]);
  });
});
