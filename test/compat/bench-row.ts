/** One flag of bench in the table of bench-flags.test.ts, and what its checks look at. */
import { expect } from "vitest";
import { type CompatRun, file, type Json } from "../support/compat-stub.ts";

export const PROMPTS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"];
export const custom = file(
  "custom.jsonl",
  PROMPTS.map((prompt, i) => ({ prompt, output_tokens: 2 + i })),
);
export const hyper = file("hyper.yaml", "top_p: 0.25\nmax_tokens: 77\nnested: {a: [1, 2]}\n");

export const DATASET = ["--dataset-name", "custom", "--dataset-path", custom, "--num-prompts", "4"];
export const ADDRESS = ["--base-url", "URL"];
export const REST = [
  "--model",
  "m",
  "--result-dir",
  "RESULTS",
  "--save-result",
  "--ready-check-timeout-sec",
  "0",
];
export const MADE_UP = [
  "--dataset-name",
  "random",
  "--num-prompts",
  "4",
  "--random-input-len",
  "40",
  "--random-output-len",
  "6",
];

export interface Row {
  readonly argv: readonly string[];
  /** Replaces the dataset, the address or the rest. */
  readonly dataset?: readonly string[];
  readonly address?: readonly string[];
  readonly rest?: readonly string[];
  /** What the flag does. Must not hold for the run without it. */
  check(run: CompatRun): void | Promise<void>;
  /** The run without the flag, where it is not the usual one. */
  readonly without?: readonly string[];
  readonly existing?: Readonly<Record<string, string>>;
}

export const everyBody = (run: CompatRun, want: Json): void => {
  expect(run.bodies.length).toBeGreaterThan(0);
  for (const body of run.bodies) expect(body).toMatchObject(want);
};
export const content = (body: Json): unknown => ((body["messages"] as Json[])[0] as Json)["content"];
export const prompts = (run: CompatRun): unknown[] => run.bodies.map((body) => content(body));
export const intended = (run: CompatRun): number[] => run.records.map((record) => record.intended_ms ?? NaN);
export const words = (body: Json): number => String(content(body)).split(" ").length;
export const onlyName = (run: CompatRun): string => Object.keys(run.results)[0] ?? "";
