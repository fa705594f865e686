import { describe, expect, it } from "vitest";
import { type List, MadeList } from "./list.ts";

class Squares extends MadeList<number> {
  readonly length = 5;
  protected make(index: number): number {
    return index * index;
  }
}

const array: List<number> = [0, 1, 4, 9, 16];
const ways: [string, (list: List<number>) => unknown][] = [
  ["at", (list) => [-6, -5, -1, 0, 4, 5].map((index) => list.at(index))],
  ["iteration", (list) => [...list]],
  ["map", (list) => list.map((item, index) => [item, index])],
  ["flatMap", (list) => list.flatMap((item, index) => (index % 2 === 0 ? [item, item] : item))],
  ["filter", (list) => list.filter((item, index) => item > 1 && index < 4)],
  ["find", (list) => [list.find((item) => item > 3), list.find((item) => item < 0)]],
  ["findIndex", (list) => [list.findIndex((item) => item === 9), list.findIndex((item) => item < 0)]],
  ["some, every", (list) => [list.some((item) => item === 16), list.every((item) => item < 16)]],
  [
    "slice",
    (list) => [
      list.slice(),
      list.slice(2),
      list.slice(1, 3),
      list.slice(-2),
      list.slice(0, -4),
      list.slice(9),
    ],
  ],
];

describe("a list that makes its items", () => {
  it.each(ways)("answers %s as an array does", (_name, way) => {
    expect(way(new Squares())).toEqual(way(array));
  });

  it("goes through its items in order", () => {
    const seen: number[] = [];
    new Squares().forEach((item, index) => seen.push(item - index));
    expect(seen).toEqual([0, 0, 2, 6, 12]);
  });
});
