/** Sweeps over fake engines: real processes, a made-up run layer. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../core/failure.ts";
import { RealClock } from "../core/real-clock.ts";
import { secrets } from "../core/secret.ts";
import type { Summary } from "../metric/summary.ts";
import { createHttpCall } from "../server/http-call.ts";
import { portListeners } from "../server/process-group.ts";
import { expandCells } from "./grid.ts";
import { parseConfig } from "./read-config.ts";
import { LOAD_OPTIONS } from "./replay-cell.ts";
import {
  runSweep,
  type CellTask,
  type RunOnce,
  type SweepEnvironment,
  type SweepProgress,
  type SweepRequest,
} from "./run-sweep.ts";

const fake = join(
  dirname(fileURLToPath(import.meta.url)),
  "..",
  "..",
  "test",
  "fake-engines",
  "fake-engine.mjs",
);
const clock = new RealClock();
const call = createHttpCall(clock, 2_000);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-sweep-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ENGINE = `
trace: t.jsonl
order: listed
engine:
  type: command
  command: [${process.execPath}, ${fake}, --port, "{port}", --model, "{name}", "{flags}"]
  ready_timeout: 20s
  stop_grace: 300ms
  knobs: {flags: null}
`;

function requestOf(text: string, out = join(folder, "sweep")): SweepRequest {
  const config = parseConfig(
    join(folder, "s.yaml"),
    text,
    [...LOAD_OPTIONS, "trace_file", "prompt_seed", "model"],
    {
      TOKEN: "sk-CANARY-run-sweep",
    },
  );
  const cells = expandCells(config.sweep, {
    loadOptions: LOAD_OPTIONS,
    hasEngine: config.sweep.engine !== null,
    where: config.where,
  });
  return { sections: config.sweep, cells, options: config.options, out };
}

const summary = {
  counts: { failed: 0, sent: 1 },
  validity: { verdict: "valid", reasons: [] },
} as unknown as Summary;

/** Writes what the run layer would, as far as the sweep reads it. */
const wholeSummary = (): Summary =>
  ({
    ...summary,
    objectives: [],
    requests: { ttft: {}, tpot: {}, output_tps: {} },
    jobs: {
      counts: { ok: 1, failed: 0, unfinished: 0 },
      job_e2e: { mean: 5 },
      queueing: { mean: 0 },
      breakdown_ms: {},
      budget_miss_rate: null,
    },
    throughput: {
      jobs_per_hour: 1,
      jobs_in_budget_per_hour: null,
      jobs_per_hour_per_user: null,
      jobs_per_hour_per_gpu: null,
      output_tokens_per_s: null,
    },
    steady_state: null,
    prefix_cache: { hit_rate: null },
  }) as unknown as Summary;

interface Trial {
  readonly tasks: CellTask[];
  readonly progress: SweepProgress[];
  readonly warnings: string[];
  readonly env: SweepEnvironment;
  interrupt(count: number): void;
}

function trial(
  during: (task: CellTask) => Promise<Partial<{ interrupted: boolean }> | void> = async () => undefined,
  freshPrompts = false,
): Trial {
  const tasks: CellTask[] = [];
  const progress: SweepProgress[] = [];
  const warnings: string[] = [];
  let handler: (count: number) => void = () => undefined;
  const runOnce: RunOnce = async (task) => {
    tasks.push(task);
    mkdirSync(task.out, { recursive: true });
    const told = await during(task);
    const made = wholeSummary();
    writeFileSync(join(task.out, "summary.json"), JSON.stringify(made));
    return {
      folder: task.out,
      summary: made,
      interrupted: told?.interrupted ?? false,
      fresh_prompts: freshPrompts,
    };
  };
  return {
    tasks,
    progress,
    warnings,
    interrupt: (count) => handler(count),
    env: {
      clock,
      call,
      runOnce,
      warn: (text) => warnings.push(text),
      onProgress: (told) => progress.push(told),
      onInterrupt: (given) => {
        handler = given;
        return () => {
          handler = () => undefined;
        };
      },
    },
  };
}

const portOf = (task: CellTask): number =>
  Number(new URL(task.server?.command.base_url ?? "http://x:0").port);

describe("a sweep", () => {
  it("starts a server for each engine cell, shares it between load levels, empties its cache, stops it", async () => {
    const seen: string[] = [];
    const run = trial(async (task) => {
      seen.push(
        JSON.stringify([task.cell.knobs["name"], task.options["max_concurrency"], task.server === null]),
      );
    });
    const request = requestOf(`${ENGINE}grid: {name: [a, b], max_concurrency: [1, 2]}\n`);
    const outcome = await runSweep(request, run.env);
    expect(seen).toEqual(['["a",1,false]', '["a",2,false]', '["b",1,false]', '["b",2,false]']);
    // One server for both levels; its cache was emptied between them.
    expect(new Set(run.tasks.map((task) => task.server?.process.pid)).size).toBe(2);
    expect(outcome.results[1]?.runs[0]?.notes).toEqual([]);
    expect(run.tasks.map(({ options }) => options["model"])).toEqual(["a", "a", "b", "b"]);
    // The same work in each cell, though no seed was given.
    expect(run.tasks.map(({ options }) => options["seed"])).toEqual([0, 0, 0, 0]);
    expect(outcome.results.map(({ status }) => status)).toEqual(["done", "done", "done", "done"]);
    for (const task of run.tasks) expect(portListeners(portOf(task)) ?? []).toEqual([]);
    expect(run.progress.at(-1)).toMatchObject({ done: 4, failed: 0, total: 4, current: null, left_ms: 0 });
  });

  it("a cache that cannot be emptied: a fresh server, unless no prompt was ever sent before", async () => {
    const text = `${ENGINE.replace("flags: null", "flags: --no-reset")}grid: {name: [a], max_concurrency: [1, 2]}\n`;
    const recorded = trial();
    const first = await runSweep(requestOf(text), recorded.env);
    expect(new Set(recorded.tasks.map((task) => task.server?.process.pid)).size).toBe(2);
    expect(first.results[1]?.runs[0]?.notes[0]).toContain("restarted for an empty cache: neither");

    const madeUp = trial(undefined, true);
    const second = await runSweep(requestOf(text, join(folder, "made-up")), madeUp.env);
    expect(new Set(madeUp.tasks.map((task) => task.server?.process.pid)).size).toBe(1);
    expect(second.results[1]?.runs[0]?.notes[0]).toContain("no prompt of this run was sent before");
  });

  it("a server that does not start is not started again for each load level", async () => {
    const run = trial();
    const text = `${ENGINE.replace("flags: null", "flags: [--exit-after, '0', --exit-line, no memory]")}grid: {name: [a], max_concurrency: [1, 2, 3]}\n`;
    const outcome = await runSweep(requestOf(text), run.env);
    expect(outcome.results.map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
    for (const { reasons } of outcome.results) expect(reasons[0]).toContain("no memory");
    expect(readdirSync(join(folder, "sweep", "servers"))).toHaveLength(1);
  });

  it("another trace, or another environment, is another sweep; another key is not", async () => {
    const text = (batch: string): string =>
      `${ENGINE.replace("engine:", `engine:\n  env: {KEY: '\${TOKEN}', BATCH: "${batch}"}`)}grid: {name: [a]}\n`;
    const request = requestOf(text("8"));
    await runSweep({ ...request, trace_sha256: "aa" }, trial().env);
    await expect(runSweep({ ...request, trace_sha256: "bb" }, trial().env)).rejects.toThrow(/trace_sha256/);
    await expect(runSweep({ ...requestOf(text("16")), trace_sha256: "aa" }, trial().env)).rejects.toThrow(
      /other settings: engine/,
    );
    secrets.add("sk-CANARY-other-key");
    const rekeyed = { ...request.sections.engine, env: { KEY: "sk-CANARY-other-key", BATCH: "8" } };
    const outcome = await runSweep(
      { ...request, trace_sha256: "aa", sections: { ...request.sections, engine: rekeyed as never } },
      trial().env,
    );
    expect(outcome.resumed).toBe(1);
    expect(readFileSync(join(folder, "sweep", "sweep.json"), "utf8")).not.toContain("CANARY");
  });

  it("a running server whose cache cannot be emptied is said, once, where the prompts are the same", async () => {
    const text = "trace: t.jsonl\nmodel: m\nport: 1\nhost: 127.0.0.1\ngrid: {max_concurrency: [1, 2, 4]}\n";
    const known = [...LOAD_OPTIONS, "trace_file", "model", "host", "port"];
    const config = parseConfig(join(folder, "s.yaml"), text, known, {});
    const cells = expandCells(config.sweep, {
      loadOptions: LOAD_OPTIONS,
      hasEngine: false,
      where: config.where,
    });
    const base = { sections: config.sweep, cells, options: config.options };
    const recorded = trial();
    await runSweep({ ...base, out: join(folder, "recorded") }, recorded.env);
    expect(recorded.warnings.filter((warning) => warning.includes("cannot be emptied"))).toHaveLength(1);
    const madeUp = trial(undefined, true);
    await runSweep({ ...base, out: join(folder, "made-up") }, madeUp.env);
    expect(madeUp.warnings).toEqual([]);
  });

  it("warm: one server for all levels, an unmeasured pass before each with the same prompts", async () => {
    const run = trial();
    await runSweep(requestOf(`${ENGINE}cache: warm\ngrid: {name: [a], max_concurrency: [1, 2]}\n`), run.env);
    expect(new Set(run.tasks.map((task) => task.server?.process.pid)).size).toBe(1);
    const seeds = run.tasks.map(({ options }) => options["prompt_seed"]);
    expect(seeds[0]).toBe(seeds[1]);
    expect(seeds[2]).toBe(seeds[3]);
    expect(seeds[0]).not.toBe(seeds[2]);
    expect(run.tasks.map(({ out }) => out.endsWith("-warming"))).toEqual([true, false, true, false]);
  });

  it("a cell whose server exits is reported with its last lines in seconds, and the rest goes on (case 32)", async () => {
    const run = trial();
    const begin = clock.now();
    const engine = ENGINE.replace("20s", "600s").replace("\n  knobs: {flags: null}", "");
    const dies = "[--completion, '503', --exit-after, '300', --exit-line, out of memory]";
    const cells = `cells:\n  good: {name: a, flags: null}\n  bad: {name: b, flags: ${dies}}\n  last: {name: c, flags: null}\n`;
    const outcome = await runSweep(requestOf(engine + cells), run.env);
    expect(clock.now() - begin).toBeLessThan(20_000);
    expect(outcome.results.map(({ status }) => status)).toEqual(["done", "failed", "done"]);
    expect(outcome.results[1]?.reasons[0]).toContain("out of memory");
    expect(run.warnings[0]).toContain("bad (run 1) failed");
  });

  it("a server that dies during a run fails that cell; the next level gets a new one", async () => {
    const run = trial(async (task) => {
      if (task.options["max_concurrency"] === 1) {
        process.kill(task.server?.process.pid as number, "SIGKILL");
        await task.server?.process.exited;
      }
    });
    const outcome = await runSweep(
      requestOf(`${ENGINE}grid: {name: [a], max_concurrency: [1, 2]}\n`),
      run.env,
    );
    expect(outcome.results.map(({ status }) => status)).toEqual(["failed", "done"]);
    expect(outcome.results[0]?.reasons[0]).toContain("the server died during the run");
  });

  it("goes on where it stopped: done runs are skipped, failed ones tried again", async () => {
    let broken = true;
    const fails = trial(async (task) => {
      if (broken && task.cell.knobs["name"] === "b") throw new UserError("no luck");
    });
    const text = `${ENGINE}repeats: 2\ngrid: {name: [a, b]}\n`;
    const first = await runSweep(requestOf(text), fails.env);
    expect(first.results.map(({ status }) => status)).toEqual(["done", "failed"]);
    broken = false;
    const again = trial();
    const second = await runSweep(requestOf(text), again.env);
    expect(second.resumed).toBe(2);
    expect(again.tasks.map(({ cell, repeat }) => [cell.name, repeat])).toEqual([
      ["name=b", 1],
      ["name=b", 2],
    ]);
    expect(second.results.map(({ status }) => status)).toEqual(["done", "done"]);
    expect(new Set(readdirSync(join(folder, "sweep", "runs"))).size).toBe(6);
    // A process killed while it wrote left half a line: what comes after it is not lost.
    const results = join(folder, "sweep", "results.jsonl");
    writeFileSync(results, readFileSync(results, "utf8").slice(0, -20));
    const third = await runSweep(requestOf(text), trial().env);
    expect(third.resumed).toBe(3);
    expect((await runSweep(requestOf(text), trial().env)).resumed).toBe(4);
    // Other settings in the same folder are another sweep.
    await expect(runSweep(requestOf(`max_jobs: 3\n${text}`), trial().env)).rejects.toThrow(
      /sweep with other settings: options/,
    );
    // A larger grid is the same one.
    const more = trial();
    await runSweep(requestOf(text.replace("[a, b]", "[a, b, c]")), more.env);
    expect(more.tasks.map(({ cell }) => cell.name)).toEqual(["name=c", "name=c"]);
  });

  it("an interrupt ends the sweep after the run under way, and stops the server (case 34)", async () => {
    const run = trial(async () => {
      run.interrupt(1);
      return { interrupted: true };
    });
    const outcome = await runSweep(requestOf(`${ENGINE}grid: {name: [a, b, c]}\n`), run.env);
    expect(outcome.interrupted).toBe(true);
    expect(run.tasks).toHaveLength(1);
    expect(outcome.results.map(({ status }) => status)).toEqual(["incomplete", "not run", "not run"]);
    expect(portListeners(portOf(run.tasks[0] as CellTask)) ?? []).toEqual([]);
  });

  it("an interrupt while a server loads does not wait for it", async () => {
    const run = trial();
    const text = `${ENGINE.replace("20s", "600s").replace("flags: null", "flags: [--completion, '503']")}grid: {name: [a]}\n`;
    const sweep = runSweep(requestOf(text), run.env);
    setTimeout(() => run.interrupt(1), 600);
    const begin = clock.now();
    const outcome = await sweep;
    expect(clock.now() - begin).toBeLessThan(15_000);
    expect(outcome.interrupted).toBe(true);
    expect(outcome.results[0]?.status).toBe("incomplete");
  });

  it("keeps secrets out of its folder (case 35)", async () => {
    const text = `${ENGINE.replace("engine:", "engine:\n  args: [--api-key, sk-CANARY-argument]\n  env: {KEY: '${TOKEN}', PLAIN: sk-CANARY-plain}")}header: {X: 'k \${TOKEN}'}\ngrid: {name: [a]}\n`;
    const run = trial(async () => {
      throw new UserError("401: bad key sk-CANARY-run-sweep, sk-CANARY-argument");
    });
    await runSweep(requestOf(text), run.env);
    expect(secrets.size).toBeGreaterThan(0);
    expect(run.tasks[0]?.options["header"]).toEqual({ X: "k sk-CANARY-run-sweep" });
    const files = ["sweep.json", "results.jsonl"].map((name) =>
      readFileSync(join(folder, "sweep", name), "utf8"),
    );
    expect(files.join("")).not.toContain("CANARY");
    expect(existsSync(join(folder, "sweep", "sweep.json"))).toBe(true);
  });

  it("without an engine it varies the load on a server that runs already", async () => {
    const run = trial();
    const outcome = await runSweep(
      requestOf("trace: t.jsonl\nmodel: m\norder: listed\ngrid: {max_concurrency: [1, 2, 4]}\n"),
      run.env,
    );
    expect(
      run.tasks.map(({ server, options }) => [server, options["max_concurrency"], options["model"]]),
    ).toEqual([
      [null, 1, "m"],
      [null, 2, "m"],
      [null, 4, "m"],
    ]);
    expect(outcome.results.every(({ status }) => status === "done")).toBe(true);
  });
});
