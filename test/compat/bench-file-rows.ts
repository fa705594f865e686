/** Flags of bench that show in the result file and on the terminal. */
import { join } from "node:path";
import { expect } from "vitest";
import { folder, type Json } from "../support/compat-stub.ts";
import { PROMPTS, onlyName, type Row } from "./bench-row.ts";

export const FILE_ROWS: Readonly<Record<string, Row>> = {
  "--goodput": {
    argv: ["--goodput", "ttft:60000", "tpot:60000", "e2el:0.001"],
    check: (run) => expect(run.result["request_goodput"]).toBe(0),
  },
  "--percentile-metrics": {
    argv: ["--percentile-metrics", "e2el,output_len"],
    check: (run) => {
      expect(run.result).toHaveProperty("p99_e2el_ms");
      expect(run.result).toMatchObject({ mean_output_len: 3, std_output_len: 0, p99_output_len: 3 });
      expect(run.result).not.toHaveProperty("mean_ttft_ms");
      // Only FastDeploy has this metric: its file is written, with its odd key.
      expect(run.result).toHaveProperty("request_goodput:");
    },
  },
  "--metric-percentiles": {
    argv: ["--metric-percentiles", "25,50,99.9"],
    check: (run) => {
      for (const p of ["p25", "p50", "p99.9"]) expect(run.result).toHaveProperty([`${p}_ttft_ms`]);
      expect(run.result).not.toHaveProperty("p99_ttft_ms");
    },
  },
  "--label": {
    argv: ["--label", "night"],
    check: (run) => {
      expect(run.result["label"]).toBe("night");
      expect(onlyName(run)).toMatch(/^night-infqps-m-/);
    },
  },
  "--save-result": {
    argv: ["--save-result"],
    rest: ["--model", "m", "--result-dir", "RESULTS", "--ready-check-timeout-sec", "0"],
    without: [],
    check: (run) => expect(Object.keys(run.results)).toHaveLength(1),
  },
  "--save-detailed": {
    argv: ["--save-detailed", "--max-concurrency", "1"],
    check: (run) => {
      expect(run.result["generated_texts"]).toEqual(["abc", "abc", "abc", "abc"]);
      expect(run.result["output_lens"]).toEqual([3, 3, 3, 3]);
      expect(run.records.map((record) => record.input_text)).toEqual(PROMPTS.slice(0, 4));
    },
  },
  "--append-result": {
    argv: ["--append-result", "--result-filename", "all.json"],
    without: ["--result-filename", "all.json"],
    existing: { "all.json": '{"old":1}' },
    check: (run) => {
      const lines = (run.results["all.json"] ?? "").split("\n").map((line) => JSON.parse(line) as Json);
      expect(lines).toHaveLength(2);
      expect(lines[0]).toEqual({ old: 1 });
      expect(lines[1]).toMatchObject({ completed: 4 });
    },
  },
  "--metadata": {
    argv: ["--metadata", "version=1=2", "tp=8"],
    check: (run) => expect(run.result).toMatchObject({ version: "1=2", tp: "8" }),
  },
  "--result-dir": {
    argv: ["--result-dir", join(folder, "elsewhere", "deep")],
    check: (run) => {
      expect(Object.keys(run.results)).toEqual([]);
      expect(run.err).toContain(join("elsewhere", "deep"));
    },
  },
  "--result-filename": {
    argv: ["--result-filename", "mine.json"],
    check: (run) => expect(Object.keys(run.results)).toEqual(["mine.json"]),
  },
  "--disable-tqdm": { argv: ["--disable-tqdm"], check: (run) => expect(run.err).not.toContain("run folder") },
  "--debug": {
    argv: ["--debug"],
    check: (run) => expect(run.err.split("\n").filter((line) => line.startsWith('{"'))).toHaveLength(4),
  },
};
