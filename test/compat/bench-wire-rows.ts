/** Flags of bench that show in what is sent. */
import { expect } from "vitest";
import { file, runCompat } from "../support/compat-stub.ts";
import {
  PROMPTS,
  DATASET,
  ADDRESS,
  REST,
  hyper,
  everyBody,
  prompts,
  onlyName,
  type Row,
} from "./bench-row.ts";

export const WIRE_ROWS: Readonly<Record<string, Row>> = {
  "--backend": {
    argv: ["--backend", "openai"],
    check: (run) => {
      expect(run.measured.map(({ path }) => path)).toEqual(Array(4).fill("/v1/completions"));
      expect(run.bodies.map((body) => body["prompt"])).toEqual(PROMPTS.slice(0, 4));
      expect(run.result).toMatchObject({ backend: "openai", endpoint_type: "openai" });
    },
  },
  "--base-url": {
    argv: [],
    address: ["--base-url", "URL/prefix/v1"],
    check: (run) => expect(run.paths.at(-1)).toBe("/prefix/v1/chat/completions"),
  },
  "--host": {
    argv: [],
    address: ["--host", "HOST", "--port", "PORT"],
    check: (run) => {
      expect(run.measured).toHaveLength(4);
      expect(run.manifest.options["host"]).toBe("127.0.0.1");
    },
  },
  "--port": {
    argv: [],
    address: ["--port", "PORT"],
    check: (run) => {
      expect(run.measured).toHaveLength(4);
      expect(run.manifest.options["base_url"]).toBeUndefined();
    },
  },
  "--endpoint": {
    argv: ["--endpoint", "/api/v9/chat/completions"],
    check: (run) => expect(run.measured[0]?.path).toBe("/api/v9/chat/completions"),
  },
  "--header": {
    argv: ["--header", "X-One=a=b", "X-Two=2"],
    check: (run) => {
      for (const { headers } of run.measured) expect(headers).toMatchObject({ "x-one": "a=b", "x-two": "2" });
    },
  },
  "--dataset-name": {
    argv: [],
    dataset: [
      "--dataset-name",
      "EB",
      "--dataset-path",
      file("eb.jsonl", [{ text: "hello", topp: 0.5, max_dec_len: 9 }]),
      "--num-prompts",
      "1",
    ],
    check: (run) =>
      expect(run.bodies[0]).toMatchObject({ top_p: 0.5, max_tokens: 9, messages: [{ content: "hello" }] }),
  },
  "--dataset-path": {
    argv: [],
    dataset: [
      "--dataset-path",
      file("alone.jsonl", [{ prompt: "alone", output_tokens: 3 }]),
      "--num-prompts",
      "1",
    ],
    check: (run) => expect(prompts(run)).toEqual(["alone"]),
  },
  "--num-prompts": {
    argv: [],
    dataset: [...DATASET, "--num-prompts", "11"],
    check: (run) => {
      expect(run.measured).toHaveLength(11);
      expect(run.err).toContain("8 rows for 11 prompts; 3 of them are sent again");
    },
  },
  "--no-oversample": {
    argv: ["--num-prompts", "11", "--no-oversample"],
    without: ["--num-prompts", "11"],
    check: (run) => expect(prompts(run)).toEqual(PROMPTS),
  },
  "--shuffle": {
    argv: ["--shuffle"],
    check: (run) => {
      expect(prompts(run)).not.toEqual(PROMPTS.slice(0, 4));
      expect(new Set(prompts(run)).size).toBe(4);
    },
  },
  "--seed": {
    argv: ["--shuffle", "--seed", "5"],
    without: ["--shuffle"],
    check: async (run) => {
      const again = await runCompat("bench", [...DATASET, ...ADDRESS, ...REST, "--shuffle", "--seed", "5"]);
      expect(prompts(run)).toEqual(prompts(again));
    },
  },
  "--model": {
    argv: [],
    rest: [...REST, "--model", "other/name"],
    check: (run) => {
      everyBody(run, { model: "other/name" });
      expect(run.result).toMatchObject({ model_id: "other/name", tokenizer_id: "other/name" });
      expect(onlyName(run)).toMatch(/^openai-chat-infqps-name-/);
    },
  },
  "--served-model-name": {
    argv: ["--served-model-name", "served"],
    check: (run) => {
      everyBody(run, { model: "served" });
      expect(run.result["model_id"]).toBe("m");
    },
  },
  "--tokenizer": {
    argv: ["--tokenizer", "not/here"],
    check: (run) => {
      expect(run.result["tokenizer_id"]).toBe("not/here");
      expect(run.err).toContain("--tokenizer not/here is not on this machine");
    },
  },
  "--logprobs": {
    argv: ["--logprobs", "4"],
    check: (run) => everyBody(run, { logprobs: true, top_logprobs: 4 }),
  },
  "--top-p": { argv: ["--top-p", "0.75"], check: (run) => everyBody(run, { top_p: 0.75 }) },
  "--top-k": { argv: ["--top-k", "-1"], check: (run) => everyBody(run, { top_k: -1 }) },
  "--min-p": { argv: ["--min-p=0.1"], check: (run) => everyBody(run, { min_p: 0.1 }) },
  "--temperature": {
    argv: ["--temperature", "0.5"],
    check: (run) => everyBody(run, { temperature: 0.5 }),
  },
  "--ignore-eos": {
    argv: ["--ignore-eos"],
    check: (run) => {
      everyBody(run, { ignore_eos: true });
      expect(run.bodies.map((body) => body["min_tokens"])).toEqual([2, 3, 4, 5]);
    },
  },
  "--use-beam-search": {
    argv: ["--use-beam-search"],
    check: (run) => everyBody(run, { use_beam_search: true }),
  },
  "--extra-body": {
    argv: ["--extra-body", '{"chat_template_kwargs":{"thinking":false}}'],
    check: (run) => everyBody(run, { chat_template_kwargs: { thinking: false } }),
  },
  "--hyperparameter-path": {
    argv: ["--hyperparameter-path", hyper, "--top-p", "0.9", "--extra-body", '{"max_tokens":5}'],
    without: ["--top-p", "0.9", "--extra-body", '{"max_tokens":5}'],
    check: (run) => everyBody(run, { top_p: 0.25, max_tokens: 77, nested: { a: [1, 2] } }),
  },
  "--request-id-prefix": {
    argv: ["--request-id-prefix", "mine-"],
    check: (run) => {
      expect(run.measured.map(({ headers }) => headers["x-request-id"])).toEqual([
        "mine-0",
        "mine-1",
        "mine-2",
        "mine-3",
      ]);
    },
  },
};
