import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../core/failure.ts";
import { secrets } from "../core/secret.ts";
import { expandCells, orderRuns, type GridOptions } from "./grid.ts";
import { readParameterFile } from "./parameters-json.ts";
import { checkCells } from "./engine-spec.ts";
import { parseConfig } from "./read-config.ts";
import { LOAD_OPTIONS } from "./replay-cell.ts";
import { sweepSchema, type SweepSections } from "./config-schema.ts";
import { replayOptions } from "../run/options/replay-options.ts";

const KNOWN = Object.keys(replayOptions);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-sweep-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sections = (input: object): SweepSections => sweepSchema.parse(input);
const grid: GridOptions = { loadOptions: LOAD_OPTIONS, hasEngine: true, where: (keys) => keys.join(".") };
const names = (input: object, options: Partial<GridOptions> = {}): string[] =>
  expandCells(sections(input), { ...grid, ...options }).map(({ name }) => name);

function refusal(action: () => unknown): UserError {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(UserError);
    return error as UserError;
  }
  throw new Error("it was accepted");
}

describe("grid", () => {
  it("is every combination, in the written order", () => {
    expect(
      names({ grid: { max_batch_size: [8, 16], cuda_graphs: [true, false], kv_cache_fraction: 0.9 } }),
    ).toEqual([
      "max_batch_size=8 cuda_graphs=true kv_cache_fraction=0.9",
      "max_batch_size=8 cuda_graphs=false kv_cache_fraction=0.9",
      "max_batch_size=16 cuda_graphs=true kv_cache_fraction=0.9",
      "max_batch_size=16 cuda_graphs=false kv_cache_fraction=0.9",
    ]);
  });

  it("linked dimensions move together", () => {
    expect(names({ grid: { a: [1, 2], b: [10, 20], c: ["x", "y"] }, link: [["a", "b"]] })).toEqual([
      "a=1 b=10 c=x",
      "a=1 b=10 c=y",
      "a=2 b=20 c=x",
      "a=2 b=20 c=y",
    ]);
    expect(refusal(() => names({ grid: { a: [1, 2], b: [1] }, link: [["a", "b"]] })).message).toContain(
      "a has 2, b has 1",
    );
    expect(refusal(() => names({ grid: { alpha: [1], b: [1] }, link: [["alpa", "b"]] })).hint).toContain(
      "alpha",
    );
  });

  it("excludes combinations; a list means any of its values", () => {
    expect(
      names({
        grid: { a: [1, 2, 3], b: [true, false] },
        exclude: [
          { a: [1, 2], b: false },
          { a: 3, b: true },
        ],
      }),
    ).toEqual(["a=1 b=true", "a=2 b=true", "a=3 b=false"]);
    expect(refusal(() => names({ grid: { a: [1] }, exclude: [{ b: 1 }] })).message).toContain(
      'exclude names "b"',
    );
  });

  it("refuses a grid without cells, and cells that are the same", () => {
    expect(refusal(() => names({})).message).toContain("no grid and no cells");
    expect(refusal(() => names({ grid: { a: [] } })).message).toContain('"a" has no values');
    expect(refusal(() => names({ grid: { a: [1] }, exclude: [{ a: 1 }] })).message).toContain(
      "every cell is excluded",
    );
    expect(refusal(() => names({ cells: [] })).message).toContain("no cell");
    expect(refusal(() => names({ grid: { a: [1, 1] } })).message).toContain("are the same");
  });

  it("takes listed cells, named or not, each with the grid", () => {
    expect(
      names({ cells: { small: { a: 1 }, big: { a: 9 } }, grid: { "load.max_concurrency": [1, 2] } }),
    ).toEqual([
      "small max_concurrency=1",
      "small max_concurrency=2",
      "big max_concurrency=1",
      "big max_concurrency=2",
    ]);
  });

  it("load levels share a server; without an engine there are only load levels", () => {
    const cells = expandCells(
      sections({ grid: { a: [1, 2], max_concurrency: [4, 8], "engine.speed": [1] } }),
      grid,
    );
    expect(new Set(cells.map(({ server }) => server)).size).toBe(2);
    expect(cells[0]).toMatchObject({ knobs: { a: 1, speed: 1 }, load: { max_concurrency: 4 } });
    const error = refusal(() => names({ grid: { max_concurency: [1] } }, { hasEngine: false }));
    expect(error.hint).toContain("max_concurrency");
  });

  it("a cell's slug depends on its values alone", () => {
    const slug = (input: object): string | undefined => expandCells(sections(input), grid).at(-1)?.slug;
    expect(slug({ grid: { a: [1, 2] } })).toBe(slug({ grid: { a: [2] } }));
    expect(slug({ grid: { a: ["../../x y"] } })).toMatch(/^a=.._.._x_y-[0-9a-f]{8}$/);
    expect(slug({ grid: { a: ["1"] } })).not.toBe(slug({ grid: { a: [1] } }));
  });
});

describe("order", () => {
  const cells = expandCells(sections({ grid: { a: [1, 2, 3, 4], max_concurrency: [1, 2] } }), grid);

  it("each round visits every server once; the seed fixes the order", () => {
    const order = (seed: number, kind: "random" | "listed" = "random") =>
      orderRuns(cells, { repeats: 3, order: kind, order_seed: seed }).map(({ repeat, runs }) => [
        repeat,
        ...runs.map(({ cell }) => cell.index),
      ]);
    expect(order(1)).toEqual(order(1));
    expect(order(1)).not.toEqual(order(2));
    expect(order(0, "listed").slice(0, 4)).toEqual([
      [1, 0, 1],
      [1, 2, 3],
      [1, 4, 5],
      [1, 6, 7],
    ]);
    for (const round of [1, 2, 3]) {
      const visited = order(7).filter(([repeat]) => repeat === round);
      expect(visited.flatMap(([, ...rest]) => rest).toSorted((x, y) => x - y)).toEqual([
        0, 1, 2, 3, 4, 5, 6, 7,
      ]);
    }
  });
});

describe("reprise.yaml", () => {
  const parse = (text: string, env: NodeJS.ProcessEnv = {}) =>
    parseConfig("/x/reprise.yaml", text, KNOWN, env);

  it("options stand at the top or in groups; the trace is relative to the file", () => {
    const config = parse(`
trace: traces/a.jsonl
target:
  backend: openai-chat
workload: {pacing: closed, max_concurrency: 8}
objectives:
  - p99(ttft) <= 500ms
budget: 30s
engine: {type: vllm, model: m}
grid: {max_batch_size: [1, 2]}
`);
    expect(config.options).toEqual({
      trace_file: "/x/traces/a.jsonl",
      backend: "openai-chat",
      pacing: "closed",
      max_concurrency: 8,
      slo: ["p99(ttft) <= 500ms"],
      job_budget: "30s",
    });
    expect(config.sweep.engine).toMatchObject({ type: "vllm", port: 0, own_port: true });
  });

  it("errors carry line and column, and the nearest key", () => {
    const cases: [string, string, string | null][] = [
      ["a: [1\nb: 2", "/x/reprise.yaml:2:1", null],
      [
        "engine:\n  type: vllm\n  modle: x",
        '/x/reprise.yaml:3:3: unknown key "modle"',
        "did you mean model?",
      ],
      ["trace: a\ngird:\n  a: [1]", '/x/reprise.yaml:2:1: unknown key "gird"', "did you mean grid?"],
      [
        "workload:\n  max_concurency: 1",
        '/x/reprise.yaml:2:3: unknown key "max_concurency"',
        "did you mean max_concurrency?",
      ],
      ["repeats: none", "/x/reprise.yaml:1:1: repeats", null],
      ["engine:\n  type: sim\n  port: 99999", "/x/reprise.yaml:3:3: engine.port", null],
      [
        "pacing: jobs\nworkload:\n  pacing: closed",
        '/x/reprise.yaml:3:3: "pacing" is given twice, also at /x/reprise.yaml:1:1',
        null,
      ],
      ["grid:\n  a: 1\n  a: 2", "/x/reprise.yaml:3:3", null],
      ["- 1", "/x/reprise.yaml: holds no mapping", null],
    ];
    for (const [text, message, hint] of cases) {
      const error = refusal(() => parse(text));
      expect(error.message, text).toContain(message);
      if (hint !== null) expect(error.hint, text).toContain(hint);
    }
  });

  it("takes secrets from the environment, only where secrets belong, and registers them", () => {
    const env = { TOKEN: "sk-CANARY-sweep" };
    const config = parse(
      "header: {X-Key: 'Bearer ${TOKEN}'}\nengine: {type: sim, env: {K: '${TOKEN}'}}\n",
      env,
    );
    expect(config.options["header"]).toEqual({ "X-Key": "Bearer sk-CANARY-sweep" });
    expect(config.sweep.engine?.env).toEqual({ K: "sk-CANARY-sweep" });
    expect(config.references).toEqual(["TOKEN", "TOKEN"]);
    expect(secrets.redact("x sk-CANARY-sweep y")).toBe("x [redacted] y");
    expect(refusal(() => parse("header: {X: '${NOT_THERE}'}")).message).toContain("NOT_THERE is not set");
    expect(refusal(() => parse("\nmodel: ${TOKEN}", env)).message).toContain("/x/reprise.yaml:2:1");
  });

  it("a wrong knob is told before anything starts, with its place", () => {
    const config = parse(
      "engine: {type: vllm, model: m}\ngrid:\n  max_batch_size: [1]\n  max_batch_tokns: [1]\n",
    );
    const cells = expandCells(config.sweep, { ...grid, where: config.where });
    const error = refusal(() => checkCells(config.sweep.engine as never, cells, config.where));
    expect(error.message).toContain('/x/reprise.yaml:4:3: unknown knob "max_batch_tokns" for vllm');
    expect(error.hint).toContain("max_batch_tokens");
  });
});

describe("parameter files of vLLM's sweep", () => {
  it("underscores become dashes; lists and names; load options stay options", async () => {
    const file = join(folder, "p.json");
    writeFileSync(
      file,
      '[{"max_num_seqs": 64, "enable_prefix_caching": false}, {"_benchmark_name": "b", "max_concurrency": 2}]',
    );
    expect(await readParameterFile(file, LOAD_OPTIONS)).toEqual({
      "cell 1": { "--max-num-seqs": 64, "--enable-prefix-caching": false },
      b: { max_concurrency: 2 },
    });
    writeFileSync(file, '{"small": {"max-num-seqs": 8, "compilation_config": {"mode": 3}}}');
    expect(await readParameterFile(file, LOAD_OPTIONS)).toEqual({
      small: { "--max-num-seqs": 8, "--compilation-config": { mode: 3 } },
    });
    writeFileSync(file, '{"small": 3}');
    await expect(readParameterFile(file, LOAD_OPTIONS)).rejects.toThrow(
      /p\.json:1:2: a cell must be a mapping/,
    );
    expect(readFileSync(file, "utf8")).toBe('{"small": 3}');
  });
});
