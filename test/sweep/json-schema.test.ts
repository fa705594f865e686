/** The published schema of reprise.yaml: what it takes, what it refuses, and that it is the one that is printed. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 as Ajv } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { configJsonSchema } from "../../src/sweep/json-schema.ts";
import { cli } from "../cli/run-cli.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
// Strict about the schema itself: an unknown keyword in it would check nothing.
const validate = new Ajv({ strict: true, strictTypes: false, allowUnionTypes: true }).compile(
  configJsonSchema(),
);
const complaint = (): string => JSON.stringify(validate.errors);

describe("reprise.schema.json", () => {
  const examples = readdirSync(join(root, "examples"), { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.ya?ml$/.test(name),
  );
  it("takes every example", () => {
    expect(examples.length).toBeGreaterThan(3);
    for (const name of examples)
      expect(
        validate(parse(readFileSync(join(root, "examples", name), "utf8"))),
        `${name}: ${complaint()}`,
      ).toBe(true);
  });

  it("takes every configuration of the pages", () => {
    const text = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => readFileSync(join(root, "docs", name), "utf8"))
      .join("\n");
    const blocks = [...text.matchAll(/```yaml\n([^]*?)```/g)].map(([, block = ""]) => block);
    expect(blocks.length).toBeGreaterThan(1);
    for (const block of blocks) expect(validate(parse(block)), `${block}\n${complaint()}`).toBe(true);
  });

  it("takes what replay, bench and sweep read", () => {
    for (const good of [
      {
        trace: "a.jsonl",
        target: { backend: "openai" },
        objectives: ["p99(ttft) <= 1s"],
        budget: "30s",
        engine: { type: "vllm", model: "m", args: ["--x", 1], env: { A: "b" } },
        grid: { max_batch_size: [1, 2], cuda_graphs: true },
        cells: { a: { x: 1 } },
        repeats: 3,
      },
      { target: { base_url: "http://h:1" }, workload: { dataset_name: "random", request_rate: 4 } },
    ])
      expect(validate(good), complaint()).toBe(true);
  });

  it("refuses typos and values of the wrong kind", () => {
    for (const bad of [
      { gird: {} },
      { repeats: 0 },
      { engine: { modle: "x", type: "sim" } },
      { engine: { model: "x" } },
      { workload: { pacin: "x" } },
      { workload: { pacing: "closd" } },
      { workload: { max_concurrency: -1 } },
      { order: "randm" },
      { cache: "hot" },
      { link: [["a"]] },
      { objectives: "p99(ttft) <= 1s" },
    ])
      expect(validate(bad), JSON.stringify(bad)).toBe(false);
  });

  it("is what is printed", async () => {
    const { code, stdout } = await cli(["sweep", "--print-schema"]);
    expect([code, JSON.parse(stdout)]).toEqual([0, JSON.parse(JSON.stringify(configJsonSchema()))]);
    // The build writes it where editors find it.
    expect(readFileSync(join(root, "dist", "reprise.schema.json"), "utf8")).toBe(stdout);
  });
});
