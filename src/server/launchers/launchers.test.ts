import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { UserError } from "../../core/failure.ts";
import { findLauncher, launchers } from "./index.ts";
import type { EngineSpec, Knobs } from "./launcher.ts";
import { splitWords } from "./words.ts";

const place = { port: 8123, metrics_port: 8124, folder: "/tmp/cell" };

function spec(launcher: string, knobs: Knobs, more: Partial<EngineSpec> = {}): EngineSpec {
  return {
    launcher,
    model: "org/model",
    command: null,
    args: [],
    env: {},
    config: null,
    files: {},
    shell: false,
    host: "127.0.0.1",
    knobs,
    ...more,
  };
}

const commandOf = (launcher: string, knobs: Knobs, more: Partial<EngineSpec> = {}) =>
  findLauncher(launcher).command(spec(launcher, knobs, more), place);

/** Arguments after those every launch of this engine has. */
function added(launcher: string, knobs: Knobs, more: Partial<EngineSpec> = {}): string[] {
  const base = commandOf(launcher, {}).argv;
  const all = [...commandOf(launcher, knobs, more).argv];
  expect(all.slice(0, base.length)).toEqual(base);
  return all.slice(base.length);
}

describe("launchers", () => {
  it("vLLM: common knobs become its flags, raw flags pass through", () => {
    expect(
      added("vllm", {
        max_batch_size: 64,
        max_batch_tokens: 8192,
        kv_cache_fraction: 0.7,
        kv_cache_dtype: "fp8",
        cuda_graphs: false,
        chunked_prefill: false,
        prefix_caching: true,
        host_offload_gb: 16,
        "--max-model-len": 4096,
        "--trust-remote-code": true,
        "--enable-expert-parallel": false,
        "--compilation-config": { cudagraph_mode: "FULL" },
        "--cudagraph-capture-sizes": [1, 8],
      }),
    ).toEqual(
      (
        "--max-num-seqs 64 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.7 --kv-cache-dtype fp8 " +
        "--enforce-eager --no-enable-chunked-prefill --enable-prefix-caching --kv-offloading-size 16 " +
        "--kv-offloading-backend native --max-model-len 4096 --trust-remote-code --no-enable-expert-parallel " +
        '--compilation-config {"cudagraph_mode":"FULL"} --cudagraph-capture-sizes 1 8'
      ).split(" "),
    );
    const launch = commandOf("vllm", {});
    expect(launch.argv.slice(0, 3)).toEqual(["vllm", "serve", "org/model"]);
    expect(launch.env["VLLM_SERVER_DEV_MODE"]).toBe("1");
    expect(launch.metrics_url).toBe("http://127.0.0.1:8123/metrics");
  });

  it("tells GPUs from the parallel sizes, and says nothing where the command does not", () => {
    expect(commandOf("vllm", {}).gpus).toBeNull();
    expect(commandOf("vllm", { tensor_parallel: 4 }).gpus).toBe(4);
    expect(
      commandOf("vllm", { "--tensor-parallel-size": 2 }, { args: ["-pp", "2", "--data-parallel-size=2"] })
        .gpus,
    ).toBe(8);
    expect(commandOf("vllm", { tensor_parallel: 4 }, { args: ["-tp", "2"] }).gpus).toBe(2);
    expect(commandOf("sglang", { tensor_parallel: 2, data_parallel: 3 }).gpus).toBe(6);
    expect(commandOf("trtllm", { tensor_parallel: 8 }).gpus).toBe(8);
    expect(commandOf("trtllm", {}, { config: { tensor_parallel_size: 2 } }).gpus).toBe(2);
    expect(commandOf("fastdeploy", { tensor_parallel: 2 }).gpus).toBe(2);
  });

  it("SGLang: what is on by default is only switched off", () => {
    expect(added("sglang", { cuda_graphs: true, prefix_caching: true, chunked_prefill: true })).toEqual([]);
    expect(
      added("sglang", {
        cuda_graphs: false,
        prefix_caching: false,
        chunked_prefill: false,
        kv_cache_fraction: 0.9,
      }),
    ).toEqual(
      "--disable-cuda-graph --disable-radix-cache --chunked-prefill-size -1 --mem-fraction-static 0.9".split(
        " ",
      ),
    );
    expect(() => added("sglang", { chunked_prefill: false, max_batch_tokens: 4096 })).toThrow(UserError);
  });

  it("TensorRT-LLM: writes a config file for each configuration", () => {
    const launch = commandOf(
      "trtllm",
      {
        max_batch_size: 32,
        cuda_graphs: true,
        cuda_graph_max_batch: 16,
        kv_cache_fraction: 0.6,
        kv_cache_dtype: "fp8",
        prefix_caching: false,
        host_offload_gb: 2,
        "cuda_graph_config.enable_padding": true,
      },
      { config: { kv_cache_config: { tokens_per_block: 64 } } },
    );
    expect(launch.argv).toEqual(
      "trtllm-serve org/model --host 127.0.0.1 --port 8123 --config /tmp/cell/trtllm-config.yaml".split(" "),
    );
    expect(parse(launch.files["/tmp/cell/trtllm-config.yaml"] ?? "")).toEqual({
      return_perf_metrics: true,
      perf_metrics_max_requests: 10000,
      max_batch_size: 32,
      cuda_graph_config: { enable_padding: true, max_batch_size: 16 },
      kv_cache_config: {
        tokens_per_block: 64,
        free_gpu_memory_fraction: 0.6,
        dtype: "fp8",
        enable_block_reuse: false,
        host_cache_size: 2147483648,
      },
    });
    const off = commandOf("trtllm", { cuda_graphs: false, cuda_graph_max_batch: 16 });
    expect(parse(Object.values(off.files)[0] ?? "").cuda_graph_config).toBeNull();
    const older = commandOf("trtllm", {}, { config: { config_flag: "--extra_llm_api_options" } });
    expect(older.argv).toContain("--extra_llm_api_options");
    expect(Object.values(older.files)[0]).not.toContain("config_flag");
    expect(() => commandOf("trtllm", { "cuda_graf_config.x": 1 })).toThrow(/leads nowhere/);
  });

  it("FastDeploy: graph settings are one JSON object; metrics have their own port", () => {
    expect(added("fastdeploy", { max_batch_size: 8, cuda_graphs: true, graph_opt_level: 0 })).toEqual([
      "--max-num-seqs",
      "8",
      "--graph-optimization-config",
      '{"use_cudagraph":true,"graph_opt_level":0}',
    ]);
    expect(commandOf("fastdeploy", {}).metrics_url).toBe("http://127.0.0.1:8124/metrics");
  });

  it("llama.cpp: short flags, environment for CUDA graphs", () => {
    expect(
      added("llama-cpp", {
        max_batch_size: 4,
        max_batch_tokens: 512,
        kv_cache_dtype: "q8_0",
        cache_reuse: 256,
      }),
    ).toEqual("-np 4 -b 512 -ctk q8_0 -ctv q8_0 --cache-reuse 256".split(" "));
    expect(commandOf("llama-cpp", { cuda_graphs: false }).env).toEqual({ GGML_CUDA_DISABLE_GRAPHS: "1" });
    expect(commandOf("llama-cpp", {}, { model: "/m/tiny.gguf" }).model).toBe("tiny.gguf");
  });

  it("an unknown knob, or one the engine has no flag for, is a user error with the nearest name", () => {
    for (const { name } of launchers.filter((launcher) => launcher.name !== "command")) {
      try {
        commandOf(name, { max_batch_sise: 4 });
        expect.unreachable(name);
      } catch (error) {
        expect(error).toBeInstanceOf(UserError);
        expect((error as UserError).hint).toContain("max_batch_size");
      }
    }
    expect(() => commandOf("llama-cpp", { kv_cache_fraction: 0.5 })).toThrow(/llama-cpp has no flag for/);
    expect(() => commandOf("fastdeploy", { kv_cache_dtype: "fp8" })).toThrow(/has no flag/);
    expect(() => commandOf("vllm", { constructor: 1 })).toThrow(/unknown knob "constructor"/);
    expect(() => findLauncher("vlm")).toThrow(UserError);
  });

  it("refuses values of the wrong kind", () => {
    for (const [knob, value] of [
      ["max_batch_size", 0],
      ["max_batch_size", 2.5],
      ["max_batch_size", "8"],
      ["kv_cache_fraction", 1.5],
      ["kv_cache_fraction", 0],
      ["cuda_graphs", "yes"],
      ["kv_cache_dtype", true],
    ] as const) {
      expect(() => commandOf("vllm", { [knob]: value }), `${knob}: ${value}`).toThrow(UserError);
    }
    // null is the engine's own default.
    expect(added("vllm", { max_batch_size: null, "--x": null })).toEqual([]);
  });
});

describe("command template", () => {
  const template = (command: string | string[], knobs: Knobs, more: Partial<EngineSpec> = {}) =>
    commandOf("command", knobs, { command, ...more }).argv;

  it("replaces after splitting: values stay one argument", () => {
    expect(
      template(`serve "my model" --name {name} --opt='{"a": {b}}' {cuda_graph_flag} {off} --port={port}`, {
        name: `it's "a {port} b"; rm -rf $HOME`,
        b: 2,
        cuda_graph_flag: ["--cuda-graph-max-bs", 8],
        off: false,
      }),
    ).toEqual([
      "serve",
      "my model",
      "--name",
      `it's "a {port} b"; rm -rf $HOME`,
      '--opt={"a": 2}',
      "--cuda-graph-max-bs",
      "8",
      "--port=8123",
    ]);
  });

  it("leaves braces of JSON alone, and doubled braces are literal", () => {
    expect(template(["x", '{"use": {"k": true}}', "{{port}}", "{}", "${HOME}"], { HOME: "h" })).toEqual([
      "x",
      '{"use": {"k": true}}',
      "{port}",
      "{}",
      "$h",
    ]);
  });

  it("names the nearest placeholder, and refuses a knob that changes nothing", () => {
    expect(() => template("x {max_batch_sise}", { max_batch_size: 1 })).toThrow(/holds \{max_batch_sise\}/);
    expect(() => template("x --port {port}", { max_batch_size: 1 })).toThrow(/used nowhere/);
    expect(() => template("x 'unclosed", {})).toThrow(/unclosed/);
    expect(() => template("  ", {})).toThrow(/empty/);
  });

  it("takes a shell only when asked, and then quotes the values", () => {
    expect(template("a | b {v}", { v: "c d" })).toEqual(["a", "|", "b", "c d"]);
    expect(template("ulimit -n 99; exec serve {v}", { v: "a 'b'; c" }, { shell: true })).toEqual([
      "/bin/sh",
      "-c",
      `ulimit -n 99; exec serve 'a '\\''b'\\''; c'`,
    ]);
  });

  it("writes files for each configuration, values keeping their type", () => {
    const launch = commandOf(
      "command",
      { batch: 8, graphs: false },
      {
        command: "serve -c {file.engine.yaml}",
        files: { "engine.yaml": { max_batch: "{batch}", note: "b={batch}", cuda: { on: "{graphs}" } } },
      },
    );
    expect(launch.argv).toEqual(["serve", "-c", "/tmp/cell/engine.yaml"]);
    expect(parse(launch.files["/tmp/cell/engine.yaml"] ?? "")).toEqual({
      max_batch: 8,
      note: "b=8",
      cuda: { on: false },
    });
    expect(() => commandOf("command", {}, { command: "x", files: { "../up": "" } })).toThrow(
      /plain file name/,
    );
  });

  it("splits words as a POSIX shell does", () => {
    expect(splitWords(String.raw`a  'b "c"' "d \"e\" \n" f\ g ''`)).toEqual([
      "a",
      'b "c"',
      'd "e" \\n',
      "f g",
      "",
    ]);
    expect(splitWords("a \\\n  b")).toEqual(["a", "b"]);
  });
});
