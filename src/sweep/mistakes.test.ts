/** What people get wrong in a sweep's file: told with its place, before anything is started. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UserError } from "../core/failure.ts";
import type { ReplayGiven } from "../run/options/replay-options.ts";
import { prepareSweep } from "./prepare-sweep.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-mistakes-"));
  const rows = [0, 1].map((job) => ({ request_id: `r${job}`, job_id: `j${job}`, prompt_tokens: 8 }));
  writeFileSync(
    join(folder, "t.jsonl"),
    rows.map((row) => JSON.stringify({ ...row, arrival_ms: 0, max_tokens: 2 })).join("\n"),
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function told(text: string, flags: ReplayGiven = {}, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const path = join(folder, "s.yaml");
  writeFileSync(path, text);
  const error: unknown = await prepareSweep(path, flags, env).then(
    () => "accepted",
    (reason: unknown) => reason,
  );
  if (!(error instanceof UserError)) throw error;
  const hint = error.hint === null ? "" : ` (${error.hint})`;
  expect(error.message + hint).not.toContain("\n");
  return (error.message + hint).replaceAll(`${folder}/`, "");
}

const SIM = "trace: t.jsonl\nengine: {type: sim}\n";
const VLLM = "trace: t.jsonl\nengine:\n  type: vllm\n  model: m\n";

describe("mistakes in a sweep's file", () => {
  const cases: readonly (readonly [name: string, text: string, message: string])[] = [
    [
      "an engine nobody knows",
      "trace: t.jsonl\nengine:\n  type: vlm\ngrid: {a: [1]}",
      's.yaml:3:3: no engine "vlm" (did you mean vllm?)',
    ],
    [
      "a value of an option",
      `${SIM}workload:\n  pacing: closd\ngrid: {max_batch_size: [1]}`,
      's.yaml:4:3: pacing: "closd" is not one of',
    ],
    [
      "a value of a load level",
      `${SIM}grid:\n  max_batch_size: [1]\n  max_concurrency: [2, -1]`,
      "s.yaml:5:3: max_concurrency: -1",
    ],
    [
      "an objective on no metric",
      `${SIM}objectives: ["p99(job_e2) <= 3s"]\ngrid: {max_batch_size: [1]}`,
      's.yaml:3:1: --slo: unknown metric "job_e2" (did you mean job_e2e?)',
    ],
    [
      "a budget that is no time",
      `${SIM}budget: soon\ngrid: {max_batch_size: [1]}`,
      's.yaml:3:1: --job-budget: "soon"',
    ],
    [
      "a time that is none",
      "trace: t.jsonl\nengine: {type: sim, stop_grace: soon}\ngrid: {max_batch_size: [1]}",
      's.yaml:2:21: engine.stop_grace: "soon"',
    ],
    [
      "a trace that is not there",
      "trace: no.jsonl\nengine: {type: sim}\ngrid: {max_batch_size: [1]}",
      "no.jsonl: no such file",
    ],
    [
      "standard input",
      "trace: '-'\nengine: {type: sim}\ngrid: {max_batch_size: [1]}",
      "s.yaml:1:1: a sweep reads its trace more than once",
    ],
    [
      "a pacing that the trace cannot follow",
      `${SIM}workload: {history: live}\ngrid: {max_batch_size: [1]}`,
      "s.yaml:3:12: --history live",
    ],
    [
      "an address beside an engine",
      `${SIM}target: {base_url: "http://h"}\ngrid: {max_batch_size: [1]}`,
      "s.yaml:3:10: base_url: the engine section starts the server",
    ],
    [
      "a real server on virtual time",
      `${VLLM}target: {virtual_time: true}\ngrid: {max_batch_size: [1]}`,
      "s.yaml:5:10: --virtual-time needs --backend sim",
    ],
    [
      "a dimension without values",
      `${SIM}grid:\n  max_batch_size:\n`,
      's.yaml:4:3: "max_batch_size" has no values',
    ],
    [
      "no grid at all",
      SIM,
      "s.yaml:1:1: the sweep has no grid and no cells (grid: {max_batch_size: [16, 64]})",
    ],
    [
      "a key twice",
      `${SIM}grid: {max_batch_size: [1], max_batch_size: [2]}`,
      "s.yaml:3:29: max_batch_size is given twice",
    ],
    [
      "an alias of nothing",
      `${SIM}grid: {max_batch_size: *nope}`,
      "s.yaml:3:24: *nope: no &nope stands before it",
    ],
    [
      "aliases without end",
      `a: &a [x, x, x, x, x, x, x, x]\nb: &b [${"*a, ".repeat(20)}]\nc: &c [${"*b, ".repeat(20)}]\nd: [${"*c, ".repeat(20)}]`,
      "s.yaml: its aliases unfold to too much",
    ],
    [
      "two documents",
      `${SIM}grid: {max_batch_size: [1]}\n---\na: 1`,
      "s.yaml:4:1: a second document begins here",
    ],
    ["a tab", `${SIM}grid:\n\tmax_batch_size: [1]`, "s.yaml:4:1: Tabs"],
    [
      "two knobs for one flag",
      `${VLLM}grid: {max_batch_size: [1], max_num_seqs: [2]}`,
      "vllm: max_batch_size and max_num_seqs both set --max-num-seqs",
    ],
    [
      "a raw flag beside its knob",
      `${VLLM}grid: {"--max-num-seqs": [1], max_batch_size: [2]}`,
      "both set --max-num-seqs",
    ],
    [
      "arguments that undo a knob",
      `${VLLM}  args: [--max-num-seqs=4]\ngrid: {max_batch_size: [1, 2]}`,
      "engine.args sets --max-num-seqs, which is set for each configuration already",
    ],
    [
      "arguments that move the server",
      `${VLLM}  args: ["--port", 1]\ngrid: {max_batch_size: [1]}`,
      "engine.args sets --port",
    ],
    [
      "a setting the simulator lacks",
      `${SIM}grid:\n  gpu: [h100, h1000]`,
      's.yaml:4:3: the simulator knows no gpu "h1000"',
    ],
    [
      "a fault the simulator lacks",
      `${SIM}grid:\n  faults: [{crash_aftr: 1}]`,
      "s.yaml:4:3: simulator: faults",
    ],
    [
      "a reference outside of secrets",
      "trace: t.jsonl\nengine: {type: sim, args: ['${HOME}']}\ngrid: {max_batch_size: [1]}",
      "s.yaml:2:21: engine.args takes no environment reference",
    ],
    [
      "a reference in the grid",
      "trace: t.jsonl\nengine: {type: command, command: 'x {port} {a}'}\ngrid: {a: ['${HOME}']}",
      "s.yaml:3:1: grid takes no environment reference",
    ],
    [
      "an option of bench beside a trace",
      `${SIM}workload: {request_rate: 3}\ngrid: {max_batch_size: [1]}`,
      's.yaml:3:12: a trace is replayed: it has no option "request_rate"',
    ],
    [
      "an option of replay beside a dataset",
      "engine: {type: sim}\nworkload: {dataset_name: random, pacing: closed}\ngrid: {max_batch_size: [1]}",
      's.yaml:2:34: the workload is a dataset, which is sent as bench does: it has no option "pacing"',
    ],
    [
      "a dataset nobody knows",
      "engine: {type: sim}\nworkload:\n  dataset_name: randm\ngrid: {max_batch_size: [1]}",
      's.yaml:3:3: --dataset-name: "randm" is not known',
    ],
    [
      "an option of the load in the engine's section",
      "trace: t.jsonl\nengine: {type: sim, virtual_time: true}\ngrid: {max_batch_size: [1]}",
      's.yaml:2:21: "virtual_time" is no key of engine (an option of the load: write it under workload or target)',
    ],
    [
      "an engine without a type",
      "trace: t.jsonl\nengine: {model: m}\ngrid: {max_batch_size: [1]}",
      "s.yaml:2:1: engine.type is missing",
    ],
    [
      "a value in a named cell",
      `${SIM}cells:\n  one: {max_batch_size: 1}\n  two: {max_batch_size: x}`,
      's.yaml:3:1: max_batch_size: "x" is not an integer',
    ],
    [
      "a cell that has no memory left",
      `${SIM}grid:\n  kv_cache_fraction: [0.9, 0.01]`,
      "s.yaml:2:1: kv_cache_fraction=0.01: llama-3.1-8b leaves no KV cache",
    ],
    [
      "a trace beside a dataset",
      `${SIM}workload: {dataset_name: random}\ngrid: {max_batch_size: [1]}`,
      's.yaml:1:1: the workload is a dataset, which is sent as bench does: it has no option "trace"',
    ],
    ["nothing near", `x: 1\n${SIM}grid: {max_batch_size: [1]}`, 's.yaml:1:1: unknown key "x" (known: '],
  ];
  for (const [name, text, message] of cases)
    it(name, async () => {
      expect(await told(text)).toContain(message);
    });

  it("an address as a flag, beside an engine", async () => {
    const text = `${SIM}grid: {max_batch_size: [1]}`;
    expect(await told(text, { base_url: "http://h" })).toContain("--base-url: the engine section starts");
  });

  it("anchors, merges and a shell's own variables are fine; an argument without a value is no override", async () => {
    const path = join(folder, "good.yaml");
    writeFileSync(
      path,
      `trace: t.jsonl
engine:
  type: command
  shell: true
  command: "exec x --home $HOME --port {port} --batch {b}"
  files: {run.sh: "echo \${{HOME}}"}
grid: {b: [1, 2]}
`,
    );
    expect((await prepareSweep(path, {}, {})).cells).toHaveLength(2);
    writeFileSync(
      path,
      "trace: t.jsonl\nengine: {type: sglang, model: m, args: [--enable-metrics]}\ngrid: {max_batch_size: &b [1, 2], max_prefill_tokens: *b}",
    );
    expect((await prepareSweep(path, {}, {})).cells).toHaveLength(4);
    writeFileSync(
      path,
      "trace: t.jsonl\nworkload: {max_concurrency: 2, header: &h {A: b}}\ncells:\n  one: &one {max_batch_size: 1, max_batch_tokens: 512}\n  two: {<<: *one, max_batch_size: 2}\nengine: {type: vllm, model: m}",
    );
    const { cells } = await prepareSweep(path, {}, {});
    expect(cells.map(({ knobs }) => knobs)).toEqual([
      { max_batch_size: 1, max_batch_tokens: 512 },
      { max_batch_tokens: 512, max_batch_size: 2 },
    ]);
  });
});
