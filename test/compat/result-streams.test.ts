/** Result files and tables of whole runs: FastDeploy's server times, what `report` gives later, PyTorch's file, failures. */
import { afterAll, describe, expect, it } from "vitest";
import { report } from "../../src/cli/commands/report.ts";
import { C, DONE, event, usage } from "../stub/events.ts";
import { response } from "../stub/wire.ts";
import { file, type Json, removeFolder, runCompat } from "../support/compat-stub.ts";
import { runCommand } from "../support/run-command.ts";

afterAll(removeFolder);

/** FastDeploy's stream: inference times 0.2, 0.25, 0.35 s; reasoning before the answer. */
const FASTDEPLOY = [
  C({ role: "assistant" }),
  C({ reasoning_content: "hm" }, { arrival_time: 0.2 }),
  C({ content: "x" }, { arrival_time: 0.25 }),
  C({ content: "y" }, { arrival_time: 0.35, finish_reason: "stop" }),
  event({
    choices: [],
    usage: usage(5, { prompt_tokens: 40, prompt_tokens_details: { cached_tokens: 32 } }),
  }) + DONE,
];
const S_METRICS = ["ttft", "s_ttft", "s_itl", "s_e2el", "s_decode", "input_len", "s_input_len", "output_len"];

describe("streams", () => {
  const chats = file("chats.jsonl", [
    {
      messages: [
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
        { role: "user", content: "three" },
      ],
    },
  ]);
  const argv = [
    "--dataset-name",
    "EBChat",
    "--dataset-path",
    chats,
    "--num-prompts",
    "2",
    "--base-url",
    "URL",
    "--model",
    "org/m",
  ];
  const save = [
    "--save-result",
    "--save-detailed",
    "--result-dir",
    "RESULTS",
    "--ready-check-timeout-sec",
    "0",
  ];
  const asked = [...argv, ...save, "--percentile-metrics", S_METRICS.join(",")];
  const script = () => [{ bytes: response(FASTDEPLOY) }];

  it("s_* of FastDeploy's arrival_time, in the file and in the table", async () => {
    const run = await runCompat("bench", asked, { script });
    expect(run.code, run.err).toBe(0);
    const near = (key: string, value: number): void => expect(run.result[key]).toBeCloseTo(value, 6);
    near("mean_s_ttft_ms", 200);
    near("mean_s_e2el_ms", 350);
    near("mean_s_itl_ms", 75);
    // (5 − 1) tokens in 0.15 s.
    near("mean_s_decode", 4 / 0.15);
    near("p99_input_len", 32);
    near("median_s_input_len", 40);
    near("mean_output_len", 5);
    expect(run.result).toMatchObject({
      reasoning_contents: ["hm", "hm"],
      generated_texts: ["xy", "xy"],
      input_lens: [32, 32],
      infer_input_lens: [40, 40],
      total_input_tokens: 80,
    });
    expect((run.result["input_texts"] as string[])[0]).toContain("three");
    expect(run.out).toMatch(/^Mean S_TTFT \(ms\): {24}200\.00 {4}$/m);
    expect(run.out).toMatch(/^Mean Decode: {29}26\.67 {5}$/m);
    // The whole list is the context, history included.
    expect((run.bodies[0] as { messages: unknown[] }).messages).toHaveLength(3);
  });

  it("another server tells none of them: null, and n/a in the table", async () => {
    const run = await runCompat("bench", asked);
    expect(run.result).toMatchObject({
      mean_s_ttft_ms: null,
      p99_s_decode: null,
      std_input_len: null,
      mean_output_len: 3,
    });
    expect(run.out).toMatch(/^Mean S_TTFT \(ms\): +n\/a/m);
  });

  it("report gives the same later, byte for byte; PyTorch's file beside it", async () => {
    const run = await runCompat("bench", asked, { script, env: { SAVE_TO_PYTORCH_BENCHMARK_FORMAT: "1" } });
    const names = Object.keys(run.results).sort();
    expect(names[0]).toMatch(/^openai-chat-infqps-m-\d{8}-\d{6}\.json$/);
    expect(names[1]).toBe((names[0] as string).replace(".json", ".pytorch.json"));
    const records = JSON.parse(run.results[names[1] as string] ?? "") as Json[];
    expect(records).toHaveLength(12);
    expect(records[0]).toMatchObject({ benchmark: { extra_info: { args: { request_rate: "inf" } } } });
    const path = (run.err.match(/run folder: (.*)/) ?? [])[1] as string;
    const later = await runCommand(report, [path, "--format", "fastdeploy"]);
    expect(later.out.trimEnd()).toBe(run.results[names[0] as string]);
  });

  it("--json: our summary and nothing else on stdout, the file all the same", async () => {
    const run = await runCompat("bench", [...asked, "--json"], { script });
    expect(JSON.parse(run.out)).toMatchObject({ reprise_summary: 1, counts: { ok: 2 } });
    expect(run.result).toMatchObject({ completed: 2 });
  });

  it("failures: exit 1, counted in the file; a key in a header is in neither", async () => {
    const bad = (): { bytes: Buffer }[] => [
      {
        bytes: response(['{"error":{"message":"sk-CANARY says no"}}'], "length", {
          status: "500 No",
          type: "application/json",
        }),
      },
    ];
    const run = await runCompat(
      "bench",
      [...asked, "--result-format", "vllm", "--header", "Authorization=Bearer sk-CANARY"],
      {
        script: bad,
      },
    );
    expect(run.code).toBe(1);
    expect(run.result).toMatchObject({ completed: 0, failed: 2, mean_ttft_ms: 0, request_throughput: 0 });
    expect(run.all[0]?.headers["authorization"]).toBe("Bearer sk-CANARY");
    const [errors] = Object.values(run.results);
    expect(errors).toContain("says no");
    expect(`${run.out}${run.err}${errors}${JSON.stringify(run.manifest)}`).not.toContain("CANARY");
  });

  it("a folder that cannot take the file is told before anything is sent", async () => {
    const run = await runCompat("bench", [...argv, "--save-result", "--result-dir", "/proc/nowhere"]);
    expect([run.code, run.all.length]).toEqual([2, 0]);
    expect(run.err).toContain("/proc/nowhere: no result file can be written there");
  });
});
