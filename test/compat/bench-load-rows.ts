/** Flags of bench that show in when and beside what it is sent. */
import { expect } from "vitest";
import { type Json } from "../support/compat-stub.ts";
import {
  PROMPTS,
  MADE_UP,
  everyBody,
  content,
  prompts,
  intended,
  words,
  onlyName,
  type Row,
} from "./bench-row.ts";

export const LOAD_ROWS: Readonly<Record<string, Row>> = {
  "--request-rate": {
    argv: ["--request-rate", "40"],
    check: (run) => {
      const times = intended(run);
      expect(times[0]).toBe(0);
      // Normalised: the last leaves at (N−1)/rate.
      expect(times.at(-1)).toBeCloseTo(3000 / 40, 3);
      expect(run.result["request_rate"]).toBe(40);
      expect(onlyName(run)).toMatch(/^openai-chat-40\.0qps-m-\d{8}-\d{6}\.json$/);
    },
  },
  "--burstiness": {
    argv: ["--request-rate", "40", "--burstiness", "inf"],
    without: ["--request-rate", "40"],
    check: (run) => expect(intended(run).map((at) => Math.round(at))).toEqual([0, 25, 50, 75]),
  },
  "--no-normalize": {
    argv: ["--request-rate", "40", "--no-normalize"],
    without: ["--request-rate", "40"],
    check: (run) => expect(Math.abs((intended(run).at(-1) ?? 0) - 75)).toBeGreaterThan(0.01),
  },
  "--max-concurrency": {
    argv: ["--max-concurrency", "1"],
    check: (run) => {
      const [, second] = run.records;
      expect(second?.sent_ms ?? 0).toBeGreaterThanOrEqual(run.records[0]?.end_ms ?? Infinity);
      expect(run.result).toMatchObject({ max_concurrency: 1, max_concurrent_requests: 1 });
      expect(onlyName(run)).toContain("-concurrency1-");
    },
  },
  "--ramp-up-strategy": {
    argv: [
      "--ramp-up-strategy",
      "exponential",
      "--ramp-up-start-rps",
      "20",
      "--ramp-up-end-rps",
      "80",
      "--burstiness",
      "inf",
    ],
    check: (run) => {
      // p = 1/3, 2/3, 1: rates 20·4^p.
      const gaps = [1, 2, 3].map((i) => 1000 / (20 * 4 ** (i / 3)));
      const want = [0, gaps[0], (gaps[0] as number) + (gaps[1] as number), gaps.reduce((a, b) => a + b)];
      intended(run).forEach((at, i) => expect(at).toBeCloseTo(want[i] as number, 2));
      expect(run.result).toMatchObject({
        ramp_up_strategy: "exponential",
        ramp_up_start_rps: 20,
        ramp_up_end_rps: 80,
      });
      expect(onlyName(run)).toMatch(/^openai-chat-ramp-up-exponential-20qps-80qps-m-/);
    },
  },
  "--ramp-up-start-rps": {
    argv: [
      "--ramp-up-strategy",
      "linear",
      "--ramp-up-start-rps",
      "10",
      "--ramp-up-end-rps",
      "100",
      "--burstiness",
      "inf",
    ],
    without: [
      "--ramp-up-strategy",
      "linear",
      "--ramp-up-start-rps",
      "0",
      "--ramp-up-end-rps",
      "100",
      "--burstiness",
      "inf",
    ],
    check: (run) => expect(intended(run)[1]).toBeCloseTo(1000 / (10 + 90 / 3), 2),
  },
  "--ramp-up-end-rps": {
    argv: [
      "--ramp-up-strategy",
      "linear",
      "--ramp-up-start-rps",
      "0",
      "--ramp-up-end-rps",
      "90",
      "--burstiness",
      "inf",
    ],
    without: [
      "--ramp-up-strategy",
      "linear",
      "--ramp-up-start-rps",
      "0",
      "--ramp-up-end-rps",
      "120",
      "--burstiness",
      "inf",
    ],
    check: (run) => expect(intended(run).at(-1)).toBeCloseTo(1000 / 30 + 1000 / 60 + 1000 / 90, 2),
  },
  "--lora-modules": {
    argv: ["--lora-modules", "ada", "bob"],
    check: (run) => {
      for (const body of run.bodies) expect(["ada", "bob"]).toContain(body["model"]);
    },
  },
  "--lora-assignment": {
    argv: ["--lora-modules", "ada", "bob", "--lora-assignment", "round-robin", "--max-concurrency", "1"],
    without: ["--lora-modules", "ada", "bob", "--seed", "1", "--max-concurrency", "1"],
    check: (run) => expect(run.bodies.map((body) => body["model"])).toEqual(["ada", "bob", "ada", "bob"]),
  },
  "--profile": {
    argv: ["--profile"],
    check: (run) => {
      const load = run.paths.filter((path) => !path.endsWith("/tokenize"));
      expect(load[0]).toBe("/start_profile");
      expect(load.at(-1)).toBe("/stop_profile");
      expect(load).toHaveLength(6);
    },
  },
  "--ready-check-timeout-sec": {
    argv: [],
    rest: ["--model", "m", "--result-dir", "RESULTS", "--save-result"],
    check: (run) => {
      const [first] = run.all.filter(({ path }) => path.endsWith("/completions"));
      expect(first?.headers["x-request-id"]).toBeUndefined();
      const body = JSON.parse(first?.body ?? "{}") as Json;
      expect(body["max_tokens"]).toBe(1);
      expect(PROMPTS).not.toContain(content(body));
    },
  },
  "--num-warmups": {
    argv: ["--num-warmups", "2"],
    check: (run) => {
      const side = run.all.filter(
        ({ path, headers }) => path.endsWith("/completions") && headers["x-request-id"] === undefined,
      );
      expect(side).toHaveLength(2);
      for (const { body } of side) expect(PROMPTS).not.toContain(content(JSON.parse(body) as Json));
      expect(run.manifest.plan.warmup_duplicates).toBe(0);
      expect(run.records).toHaveLength(4);
    },
  },
  "--probe-request-rate": {
    argv: ["--probe-request-rate", "50", "--request-rate", "20", "--max-concurrency", "1"],
    without: ["--request-rate", "20", "--max-concurrency", "1"],
    check: (run) => {
      const probes = run.all.filter(({ body }) => body.includes('"Hi"'));
      // The load lasts 150 ms; a probe begins 20 ms after the one before has ended.
      expect(probes.length).toBeGreaterThanOrEqual(2);
      expect(JSON.parse(probes[0]?.body ?? "{}")).toMatchObject({ max_tokens: 1 });
      expect(run.result).toMatchObject({ probe_completed: probes.length, probe_failed: 0, completed: 4 });
      expect(run.records).toHaveLength(4);
    },
  },
  "--random-input-len": {
    argv: [],
    dataset: MADE_UP,
    check: (run) => expect(run.bodies.map(words)).toEqual([40, 40, 40, 40]),
  },
  "--random-output-len": { argv: [], dataset: MADE_UP, check: (run) => everyBody(run, { max_tokens: 6 }) },
  "--random-prefix-len": {
    argv: [],
    dataset: [...MADE_UP, "--random-prefix-len", "10"],
    check: (run) => {
      const starts = new Set(prompts(run).map((text) => String(text).split(" ").slice(0, 10).join(" ")));
      expect([starts.size, ...run.bodies.map(words)]).toEqual([1, 50, 50, 50, 50]);
    },
  },
  "--random-range-ratio": {
    argv: [],
    dataset: [...MADE_UP, "--random-range-ratio", "0.5"],
    check: (run) => {
      for (const body of run.bodies) {
        expect(words(body)).toBeGreaterThanOrEqual(20);
        expect(words(body)).toBeLessThanOrEqual(60);
      }
      expect(new Set(run.bodies.map(words)).size).toBeGreaterThan(1);
    },
  },
};
