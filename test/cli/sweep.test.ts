/** Sweeps and comparisons through the command line, with servers as processes of their own. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { RealClock } from "../../src/core/real-clock.ts";
import { createHttpCall } from "../../src/server/http-call.ts";
import { serverProcesses } from "../../src/server/process-group.ts";
import { ServerProcess } from "../../src/server/process.ts";
import { freePort } from "../../src/server/readiness.ts";
import { cli, scratch, traceFile } from "./run-cli.ts";

const dist = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "dist", "cli.js");
const clock = new RealClock();
const linux = process.platform === "linux";

const rows = (jobs: number, tokens: number): object[] =>
  Array.from({ length: jobs }, (_unused, job) => ({
    request_id: `r${job}`,
    job_id: `j${job}`,
    prompt_tokens: 64 + 8 * job,
    max_tokens: tokens,
    expected_output_tokens: tokens,
    arrival_ms: job,
  }));

function sweepFile(folder: string, trace: string, more: string): string {
  const path = join(folder, "reprise.yaml");
  writeFileSync(
    path,
    `trace: ${trace}\nworkload: {pacing: closed, max_concurrency: 4, seed: 1}\norder: listed\n${more}`,
  );
  return path;
}

/** Processes of servers that this sweep launched: their log folder is on their command line. */
function launched(folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
      } catch {
        return false;
      }
    })
    .map(Number);
}

describe("reprise sweep", () => {
  it("launches, measures, reports a cell that cannot start, names the winner, and goes on where it was", async () => {
    const folder = scratch();
    const wrapper = join(folder, "engine.sh");
    writeFileSync(
      wrapper,
      `#!/bin/sh\ncase "$*" in *"--max-num-seqs 2"*) echo "torch.OutOfMemoryError: CUDA out of memory" >&2; exit 1;; esac\nexec "${process.execPath}" "${dist}" "$@"\n`,
      { mode: 0o755 },
    );
    const config = sweepFile(
      folder,
      traceFile(rows(6, 8)),
      `engine: {type: sim, command: ["${wrapper}", sim], knobs: {speed: 5}}\ngrid: {max_batch_size: [1, 2, 4]}\nworkload_note: x\n`,
    );
    const typo = await cli(["sweep", config], { cwd: folder });
    expect([typo.code, typo.stderr]).toEqual([
      2,
      expect.stringContaining('reprise.yaml:6:1: unknown key "workload_note"'),
    ]);
    writeFileSync(
      config,
      readFileSync(config, "utf8").replace("workload_note: x\n", "objectives: {max_lateness: 10s}\n"),
    );

    const run = await cli(["sweep", config, "--json"], { cwd: folder });
    const result = JSON.parse(run.stdout) as {
      winner: string | null;
      cells: {
        name: string;
        status: string;
        barred: string | null;
        runs: { gpus: number | null }[];
        jobs: { ok: number };
      }[];
    };
    expect(result.cells.map(({ status }) => status)).toEqual(["done", "failed", "done"]);
    expect(result.cells[1]?.barred).toContain("CUDA out of memory");
    expect(result.cells.map(({ jobs }) => jobs.ok)).toEqual([6, 0, 6]);
    expect(result.cells[0]?.runs[0]?.gpus).toBe(1);
    // Whether a cell may win depends on how punctual this machine was; the faulty one never may.
    expect(result.winner).not.toBe("max_batch_size=2");
    expect(run.code).toBe(result.winner === null ? 1 : 0);
    const out = join(folder, "sweeps", "reprise");
    expect(readFileSync(join(out, "comparison.csv"), "utf8").trimEnd().split("\n")).toHaveLength(4);
    expect(existsSync(join(out, "comparison.md"))).toBe(true);
    const [first] = readdirSync(join(out, "runs"));
    const engine = readFileSync(join(out, "runs", first as string, "engine.jsonl"), "utf8")
      .trimEnd()
      .split("\n");
    expect(JSON.parse(engine.at(-1) as string)).toMatchObject({ running: 0, preemptions: 0 });

    const summary = JSON.parse(readFileSync(join(out, "runs", first as string, "summary.json"), "utf8"));
    // Six requests of the run; the readiness check came before its first reading.
    expect(summary.engine).toMatchObject({ engine: "sim", requests: 6, failed_samples: 0, preemptions: 0 });

    const again = await cli(["sweep", config], { cwd: folder });
    expect(again.stderr).toContain("2 runs were there already");
    expect(again.stderr).toContain("max_batch_size=2 (run 1) failed");
  });

  it("no server at all: exit 3, one line for each cell", async () => {
    const folder = scratch();
    const config = sweepFile(
      folder,
      traceFile(rows(2, 4)),
      "engine: {type: vllm, model: m, command: no-such-engine}\ngrid: {max_batch_size: [1, 2]}\n",
    );
    const run = await cli(["sweep", config], { cwd: folder });
    expect(run.code).toBe(3);
    const warnings = run.stderr.split("\n").filter((line) => line.startsWith("warning: "));
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain("cannot start no-such-engine: no such program");
  });

  it.runIf(linux)("SIGINT: the run under way is kept, exit 130, no server left (case 34)", async () => {
    const folder = scratch();
    const config = sweepFile(
      folder,
      traceFile(rows(40, 60)),
      // The log folder on the command line makes its processes findable.
      `engine: {type: sim, command: ["${process.execPath}", "${dist}", sim], args: [--served-model-name, "sim/${folder}"]}\ngrid: {max_batch_size: [1, 2]}\n`,
    );
    const seen: number[] = [];
    const run = await cli(["sweep", config], {
      cwd: folder,
      onStderr: (all, kill) => {
        if (all.includes("running") && seen.length === 0) {
          seen.push(...launched(folder));
          // The run is under way once it has a log.
          const looking = setInterval(() => {
            if (!readdirSync(folder, { recursive: true }).join().includes("records.jsonl")) return;
            clearInterval(looking);
            setTimeout(() => kill("SIGINT"), 200);
          }, 20);
        }
      },
    });
    expect(run.code).toBe(130);
    expect(seen.length).toBeGreaterThan(0);
    expect(launched(folder)).toEqual([]);
    for (const pid of seen) expect(serverProcesses(pid, "none")).toEqual([]);
    const runs = join(folder, "sweeps", "reprise", "runs");
    const [only, ...more] = readdirSync(runs);
    expect(more).toEqual([]);
    const summary = JSON.parse(readFileSync(join(runs, only as string, "summary.json"), "utf8"));
    expect(summary.run.interrupted).toBe(true);
    expect(summary.validity.verdict).toBe("degraded");
  });
});

describe("reprise compare", () => {
  it("swapped runs give inverse ratios; a gate sets the exit code; other traces are refused", async () => {
    const folder = scratch();
    const trace = traceFile(rows(12, 30));
    const replay = (out: string, speed: number, file = trace) =>
      cli(
        [
          "replay",
          file,
          "--backend",
          "sim",
          "--virtual-time",
          "--seed",
          "1",
          "--sim",
          `speed=${speed}`,
          "--out",
          out,
        ],
        { cwd: folder },
      );
    for (const done of [
      await replay("a", 1),
      await replay("b", 0.8),
      await replay("c", 1, traceFile(rows(12, 31))),
    ])
      expect(done.code, done.stderr).toBe(0);
    const ratio = async (x: string, y: string): Promise<number> => {
      const { stdout } = await cli(["compare", x, y, "--json"], { cwd: folder });
      return JSON.parse(stdout).statistics["mean(job_e2e)"].ratio as number;
    };
    const forth = await ratio("a", "b");
    // The same engine at 0.8 of its speed takes 1.25 times as long.
    expect(forth).toBeCloseTo(1.25, 2);
    expect(forth * (await ratio("b", "a"))).toBeCloseTo(1, 9);
    const gate = (x: string, y: string, text: string) =>
      cli(["compare", x, y, "--gate", text, "--format", "md"], { cwd: folder });
    const failed = await gate("a", "b", "p99(job_e2e) <= +5%");
    expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining("### Gate: **failed**")]);
    expect((await gate("b", "a", "p99(job_e2e) <= +5%")).code).toBe(0);
    expect((await gate("a", "b", "p99(job_e2e) <= +30%")).code).toBe(0);
    const other = await gate("a", "c", "p99(job_e2e) <= +5%");
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("different traces")]);
    const typo = await gate("a", "b", "p99(job_e2) <= +5%");
    expect([typo.code, typo.stderr]).toEqual([2, expect.stringContaining("job_e2e")]);
  });
});

describe("reprise replay --engine-metrics", () => {
  it("samples the server's metrics while the run lasts; asks nothing without the flag; refuses what has none", async () => {
    const folder = scratch();
    const port = await freePort("127.0.0.1");
    const server = await ServerProcess.start({
      argv: [process.execPath, dist, "sim", "--port", String(port)],
      env: {},
      log_file: join(folder, "sim.log"),
      clock,
    });
    try {
      const url = `http://127.0.0.1:${port}`;
      const call = createHttpCall(clock, 2_000);
      for (;;) {
        const up = await call("GET", `${url}/health`).catch(() => null);
        if (up?.status === 200) break;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const replay = (out: string, ...more: string[]) =>
        cli(
          [
            "replay",
            traceFile(rows(6, 8)),
            "--base-url",
            url,
            "--out",
            out,
            "--max-lateness",
            "10s",
            ...more,
          ],
          { cwd: folder },
        );
      const run = await replay("with", "--engine-metrics", "auto");
      expect(run.code, run.stderr).toBe(0);
      const summary = JSON.parse(readFileSync(join(folder, "with", "summary.json"), "utf8"));
      expect(summary.engine).toMatchObject({ engine: "sim", requests: 6 });
      await replay("without");
      expect(existsSync(join(folder, "without", "engine.jsonl"))).toBe(false);
      const wrong = await replay("wrong", "--engine-metrics", `${url}/v1/models`);
      expect([wrong.code, wrong.stderr]).toEqual([
        3,
        expect.stringContaining("does not answer with metrics"),
      ]);
      expect(existsSync(join(folder, "wrong"))).toBe(false);
    } finally {
      await server.stop();
    }
  });
});
