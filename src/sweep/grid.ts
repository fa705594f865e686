/**
 * Cells of a sweep: every combination of the grid's values (linked dimensions move together), times the listed cells, less what is
 * excluded. A dimension is a knob of the engine or an option of the load; cells that differ in load only share one
 * server.
 */
import { createHash } from "node:crypto";
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { nearestHint } from "../core/nearest.ts";
import { createRng } from "../core/random.ts";
import type { SweepSections } from "./config-schema.ts";

export interface Cell {
  /** Position in the listed order, from 0. */
  readonly index: number;
  /** Readable and unique: `max_batch_size=16 cuda_graphs=true`. */
  readonly name: string;
  /** Fit for a folder name, and stable: the same values give the same slug in every run of the sweep. */
  readonly slug: string;
  /** Engine knobs of this cell (the fixed ones left out). */
  readonly knobs: JsonObject;
  /** Options of the load. */
  readonly load: JsonObject;
  /** Cells with the same key share one server. */
  readonly server: string;
}

/** One execution of one cell. */
export interface PlannedRun {
  readonly cell: Cell;
  /** From 1. */
  readonly repeat: number;
}

/** Runs that follow each other on one server. */
export interface ServerTurn {
  readonly server: string;
  readonly repeat: number;
  readonly runs: readonly PlannedRun[];
}

export interface GridOptions {
  /** Options of the load that a dimension may set. */
  readonly loadOptions: readonly string[];
  readonly hasEngine: boolean;
  /** Where a dimension stands, for messages. */
  readonly where: (keys: readonly PropertyKey[]) => string;
}

type Values = Readonly<Record<string, JsonValue>>;

export function expandCells(
  sections: Pick<SweepSections, "grid" | "cells" | "link" | "exclude">,
  options: GridOptions,
): Cell[] {
  const combined = gridOf(sections, options);
  const listed = listedCells(sections.cells);
  const all: { name: string | null; values: Values }[] = [];
  for (const { name, values } of listed) {
    for (const rest of combined) {
      const clash = Object.keys(values).find((key) => key in rest);
      if (clash !== undefined)
        throw new UserError(`${options.where(["grid", clash])}: "${clash}" is in the cells, too`);
      all.push({
        name: name === null ? null : [name, label(rest)].filter((part) => part !== "").join(" "),
        values: { ...values, ...rest },
      });
    }
  }
  if (sections.grid !== undefined && Object.keys(sections.grid).length === 0 && sections.cells === null)
    throw new UserError(`${options.where(["grid"])}: the sweep has no grid and no cells`, {
      hint: "grid: {max_batch_size: [16, 64]}",
    });
  const dimensions = new Set(all.flatMap(({ values }) => Object.keys(values)));
  for (const [index, rule] of sections.exclude.entries()) {
    for (const key of Object.keys(rule)) {
      if (!dimensions.has(key))
        throw new UserError(
          `${options.where(["exclude", index, key])}: exclude names "${key}", which is no dimension`,
          {
            hint: nearestHint(key, [...dimensions]) ?? `dimensions: ${[...dimensions].join(", ")}`,
          },
        );
    }
  }
  const kept = all.filter(({ values }) => !sections.exclude.some((rule) => matches(rule as Values, values)));
  if (kept.length === 0) {
    throw new UserError(
      all.length === 0
        ? `${options.where(["grid"])}: the grid has no cell`
        : `${options.where(["exclude"])}: every cell is excluded`,
      { hint: "a dimension without values has no combination" },
    );
  }
  const cells = kept.map(({ name, values }, index) => makeCell(index, name, values, options));
  const seen = new Map<string, Cell>();
  for (const cell of cells) {
    const twin = seen.get(cell.slug);
    if (twin !== undefined)
      throw new UserError(`cells ${twin.index + 1} and ${cell.index + 1} are the same: ${cell.name}`);
    seen.set(cell.slug, cell);
  }
  return cells;
}

/**
 * The order of execution. Repeats are rounds: each round visits every server once, so that slow drift of the machine
 * meets all cells alike. `random` shuffles servers in a round and load levels on a server, by the seed.
 */
export function orderRuns(
  cells: readonly Cell[],
  { repeats, order, order_seed: seed }: Pick<SweepSections, "repeats" | "order" | "order_seed">,
): ServerTurn[] {
  const rng = createRng(seed).fork("sweep-order");
  const servers = [...new Set(cells.map(({ server }) => server))];
  const turns: ServerTurn[] = [];
  for (let repeat = 1; repeat <= repeats; repeat++) {
    const round = rng.fork(`round-${repeat}`);
    for (const server of order === "random" ? round.shuffle(servers) : servers) {
      const own = cells.filter((cell) => cell.server === server);
      const runs = (order === "random" ? round.fork(server).shuffle(own) : own).map((cell) => ({
        cell,
        repeat,
      }));
      turns.push({ server, repeat, runs });
    }
  }
  return turns;
}

function gridOf({ grid, link }: Pick<SweepSections, "grid" | "link">, options: GridOptions): Values[] {
  const lists = new Map<string, readonly JsonValue[]>(
    Object.entries(grid).map(([name, values]) => [
      name,
      // A bare name, without values, is one that was forgotten; `[null]` is the engine's default.
      (Array.isArray(values) ? values : values === null ? [] : [values]) as JsonValue[],
    ]),
  );
  for (const [name, values] of lists) {
    if (values.length === 0) throw new UserError(`${options.where(["grid", name])}: "${name}" has no values`);
  }
  const linked = new Set<string>();
  const axes: Values[][] = [];
  for (const [index, names] of link.entries()) {
    const lengths = names.map((name) => {
      const values = lists.get(name);
      if (values === undefined)
        throw new UserError(
          `${options.where(["link", index])}: link names "${name}", which is not in the grid`,
          {
            hint: nearestHint(name, [...lists.keys()]) ?? `in the grid: ${[...lists.keys()].join(", ")}`,
          },
        );
      if (linked.has(name))
        throw new UserError(`${options.where(["link", index])}: "${name}" is linked twice`);
      linked.add(name);
      return values.length;
    });
    if (new Set(lengths).size !== 1)
      throw new UserError(
        `${options.where(["link", index])}: linked dimensions need equally many values: ${names.map((name, at) => `${name} has ${lengths[at]}`).join(", ")}`,
      );
    axes.push(
      Array.from({ length: lengths[0] as number }, (_unused, at) =>
        Object.fromEntries(names.map((name) => [name, (lists.get(name) as JsonValue[])[at] as JsonValue])),
      ),
    );
  }
  for (const [name, values] of lists) {
    if (!linked.has(name)) axes.push(values.map((value) => ({ [name]: value })));
  }
  return axes.reduce<Values[]>(
    (sofar, axis) => sofar.flatMap((left) => axis.map((right) => ({ ...left, ...right }))),
    [{}],
  );
}

function listedCells(cells: SweepSections["cells"]): { name: string | null; values: Values }[] {
  if (cells === null) return [{ name: null, values: {} }];
  if (typeof cells === "string") throw new Error("a file of cells must be read before the grid is expanded");
  if (Array.isArray(cells)) return cells.map((values) => ({ name: null, values: values as Values }));
  return Object.entries(cells).map(([name, values]) => ({ name, values: values as Values }));
}

function makeCell(index: number, name: string | null, values: Values, options: GridOptions): Cell {
  const knobs: Record<string, JsonValue> = {};
  const load: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(values)) {
    const bare = key.replace(/^(load|engine)\./, "");
    const isLoad =
      key.startsWith("load.") || (!key.startsWith("engine.") && options.loadOptions.includes(bare));
    if (isLoad) {
      if (!options.loadOptions.includes(bare))
        throw new UserError(`${options.where(["grid", key])}: "${bare}" is no option of the load`, {
          hint: nearestHint(bare, options.loadOptions) ?? "see reprise replay --help",
        });
      load[bare] = value;
    } else if (options.hasEngine) {
      knobs[bare] = value;
    } else {
      throw new UserError(
        `${options.where(["grid", key])}: "${key}" is no option of the load, and there is no engine to set it on`,
        {
          hint:
            nearestHint(bare, options.loadOptions) ??
            "add an engine section, so that the sweep starts the servers",
        },
      );
    }
  }
  const readable = name ?? label(values);
  const digest = createHash("sha256")
    .update(JSON.stringify([knobs, load]))
    .digest("hex")
    .slice(0, 8);
  const stem = readable
    .replace(/[^\w.=-]+/g, "_")
    .replace(/^[._]+/, "")
    .slice(0, 80);
  return {
    index,
    name: readable,
    slug: `${stem === "" ? "cell" : stem}-${digest}`,
    knobs,
    load,
    server: JSON.stringify(knobs),
  };
}

function label(values: Values): string {
  return Object.entries(values)
    .map(
      ([key, value]) =>
        `${key.replace(/^(load|engine)\./, "")}=${typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)}`,
    )
    .join(" ");
}

/** A rule matches when each of its keys has the cell's value, or a list that holds it. */
function matches(rule: Values, values: Values): boolean {
  return Object.entries(rule).every(([key, wanted]) => {
    const value = JSON.stringify(values[key] ?? null);
    if (JSON.stringify(wanted) === value) return true;
    return Array.isArray(wanted) && wanted.some((item: JsonValue) => JSON.stringify(item) === value);
  });
}

/** Seed of made-up prompts for one run of a cell: the same each time, and no other run's. */
export function promptSeed(cell: Cell, repeat: number): number {
  return createHash("sha256").update(`${cell.slug}/${repeat}`).digest().readUInt32BE(0);
}
