/** Where the load goes, and how it is spoken to. Shared by replay and bench. */
import { choice, duration, integer, jsonObject, keyValues, option, text, toggle } from "./option.ts";
import { GROUP } from "./groups.ts";

const G = GROUP.target;

export const targetOptions = {
  base_url: option(text("<url>"), G, "server, in any form: http://h:p, http://h:p/, http://h:p/v1", {
    defaultText: "http://localhost:8000",
  }),
  host: option(text("<host>"), G, "server host, where --base-url is not given", { defaultText: "localhost" }),
  port: option(integer({ min: 1, max: 65_535 }), G, "server port, where --base-url is not given", {
    defaultText: "8000",
  }),
  endpoint: option(text("<path>"), G, "path of the API", { defaultText: "the protocol's own" }),
  backend: option(
    text("<name>"),
    G,
    "protocol: openai, openai-chat, ...; in this process: `sim` the simulated engine, `llama-cpp` a GGUF file, `vllm` without an address vLLM's own engine",
  ),
  model: option(text("<name>"), G, "model name in the requests", {
    defaultText: "the server's, if it serves just one",
    short: "-m",
  }),
  served_model_name: option(text("<name>"), G, "name sent to the server where it differs from --model"),
  tokenizer: option(
    text("<path>"),
    G,
    "tokenizer.json or model folder; else the server's /tokenize, else a built-in one",
  ),
  tokenizer_mode: option(
    choice("auto", "slow", "mistral", "custom", "hf"),
    GROUP.compat,
    "read and ignored: the tokenizer file tells",
    {
      harmless: "the tokenizer file tells its own mode",
    },
  ),
  trust_remote_code: option(toggle(), GROUP.compat, "read and ignored: no remote code is ever run", {
    harmless: "no remote code is ever run",
  }),
  api_key_env: option(text("<NAME>"), G, "environment variable that holds the API key", {
    defaultText: "OPENAI_API_KEY",
  }),
  api_key_file: option(text("<file>"), G, "file that holds the API key"),
  header: option(keyValues(), G, "HTTP header of every request"),
  extra_body: option(jsonObject(), G, "JSON merged into every request body, overriding"),
  timeout: option(duration("s", { positive: true }), G, "time a request may take", {
    aliases: ["--timeout-s"],
    defaultText: "600s over HTTP, none in this process",
  }),
  retries: option(integer({ min: 0 }), G, "send a failed request again, so many times", { defaultText: "0" }),
  insecure: option(toggle(), G, "do not check the server's certificate"),
  ca: option(text("<file>"), G, "certificate authority to trust (PEM)"),
  http2: option(toggle(), G, "speak HTTP/2 (slower: no punctuality promise)"),
  proxy: option(text("<url>"), G, "go through this HTTP proxy; the environment's proxies are never used"),
  ready_check_timeout_sec: option(
    duration("s"),
    G,
    "wait this long for the server to answer a one-token request; 0 = do not check",
    {
      defaultText: "0",
    },
  ),
  engine_metrics: option(
    text("<auto|off|url>"),
    G,
    "sample the server's own metrics (Prometheus text) while the run lasts; auto = its /metrics",
    { defaultText: "off; on for --backend sim, and for servers that a sweep starts" },
  ),
  engine: option(
    keyValues(),
    G,
    "settings of an engine in this process: sequences=16 (llama-cpp), max-num-seqs=64 python=/env/bin/python (vllm: its own flags)",
  ),
  sim: option(
    keyValues(),
    G,
    "settings of the simulated engine (--backend sim): max_num_seqs=32 gpu=h200 ...",
  ),
  virtual_time: option(toggle(), G, "with --backend sim: run on virtual time, as fast as the CPU can"),
} as const;
