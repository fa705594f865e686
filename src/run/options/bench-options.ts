/** All options of `reprise bench`: those of `vllm bench serve` and `fastdeploy bench serve`, by their names and defaults. */
import { LORA_ASSIGNMENTS } from "../../plan/plan-load.ts";
import { RAMP_STRATEGIES } from "../../plan/arrivals/ramp.ts";
import { SAMPLE_NAMES, type SampleName } from "../../report/compat/served-run.ts";
import { nearestHint } from "../../core/nearest.ts";
import { UserError } from "../../core/failure.ts";
import { z } from "zod";
import {
  choice,
  duration,
  type Given,
  integer,
  type Kind,
  list,
  number,
  option,
  percentiles,
  text,
  toggle,
} from "./option.ts";
import { GROUP } from "./groups.ts";
import { targetOptions } from "./target-options.ts";
import { measureOptions, outputOptions, verdictOptions } from "./measure-options.ts";
import { samplingOptions } from "./sampling-options.ts";
import { datasetOptions } from "./dataset-options.ts";
import { benchResultOptions } from "./result-options.ts";

const { arrivals: A, load: L, target: T, compat: C, output: O } = GROUP;

export const GOODPUT_NAMES = ["ttft", "tpot", "e2el"] as const;

function metricNames(): Kind<readonly SampleName[]> {
  return {
    placeholder: "<name,name,...>",
    arity: "one",
    parse: ([value = ""], flag) =>
      value.split(",").map((part) => {
        const name = SAMPLE_NAMES.find((known) => known === part.trim());
        if (name !== undefined) return name;
        throw new UserError(`${flag}: "${part}" is not a metric`, {
          hint: nearestHint(part.trim(), SAMPLE_NAMES) ?? `known: ${SAMPLE_NAMES.join(", ")}`,
        });
      }),
    schema: z.union([z.array(z.string()), z.string()]),
  };
}

const harmless = (what: string, why: string): { harmless: string } & { help: string } => ({
  help: `read and ignored: ${what}`,
  harmless: why,
});
const ignored = (kind: Kind<boolean> | Kind<string>, what: string, why = what): ReturnType<typeof option> => {
  const { help, harmless: reason } = harmless(what, why);
  return option(kind as Kind<unknown>, C, help, { harmless: reason });
};

const loadOptions = {
  request_rate: option(number({ min: 0, exclusive: true, infinite: true }), A, "requests a second", {
    defaultText: "inf",
  }),
  burstiness: option(
    number({ min: 0, exclusive: true, infinite: true }),
    A,
    "shape of gamma gaps: 1 = Poisson, less = burstier, inf = constant",
    { defaultText: "1" },
  ),
  normalize: option(toggle(), A, "scale gaps so that the last request leaves at (N-1)/rate", {
    negatable: true,
    defaultText: "true",
  }),
  ramp_up_strategy: option(choice(...RAMP_STRATEGIES), A, "let the rate grow from start to end"),
  ramp_up_start_rps: option(number({ min: 0 }), A, "rate of the ramp's first gap"),
  ramp_up_end_rps: option(number({ min: 0 }), A, "rate of the ramp's last gap"),
  max_concurrency: option(integer({ min: 1 }), L, "requests in flight at most", {
    aliases: ["--concurrency"],
  }),
  duration: option(duration("s", { positive: true }), L, "stop sending after this"),
  warmup: option(duration("s"), L, "leave the first part out of the measured window", { defaultText: "0" }),
  num_warmups: option(integer({ min: 0 }), L, "unmeasured requests before the run", { defaultText: "0" }),
  lanes: option(integer({ min: 1 }), L, "worker threads that send", { defaultText: "1" }),
  probe_request_rate: option(
    number({ min: 0 }),
    L,
    "one-token probes a second beside the load, past --max-concurrency, measured on their own; 0 = none",
    { defaultText: "0" },
  ),
  lora_modules: option(list(text("<name>"), "<name...>"), L, "LoRA adapters, one for each request"),
  lora_assignment: option(choice(...LORA_ASSIGNMENTS), L, "how they are assigned", { defaultText: "random" }),
  profile: option(toggle(), L, "POST /start_profile before the run and /stop_profile after it"),
} as const;

export const benchOptions = {
  ...targetOptions,
  backend: option(
    text("<name>"),
    T,
    "protocol: openai-chat, openai, vllm, sglang, ...; `sim` runs the simulated engine in this process",
    { defaultText: "openai-chat", aliases: ["--endpoint-type"] },
  ),
  host: option(text("<host>"), T, "server host, where --base-url is not given", { defaultText: "127.0.0.1" }),
  ready_check_timeout_sec: option(
    duration("s"),
    T,
    "wait this long for the server to answer a one-token request; 0 = do not check",
    { defaultText: "600" },
  ),
  request_id_prefix: option(text("<text>"), T, "X-Request-Id of request i is this, then i", {
    defaultText: "benchmark-serving",
  }),
  ...datasetOptions,
  ...loadOptions,
  ...samplingOptions,
  hyperparameter_path: option(
    text("<file.yaml>"),
    GROUP.sampling,
    "fields merged into every request body, last, overriding",
  ),
  ...measureOptions,
  percentile_metrics: option(metricNames(), GROUP.measure, "metrics of the table and the result file", {
    defaultText: "ttft,tpot,itl",
  }),
  metric_percentiles: option(percentiles(), GROUP.measure, "their percentiles", { defaultText: "99" }),
  ...verdictOptions,
  ...outputOptions,
  debug: option(toggle(), O, "each request's record on stderr as it ends"),
  ...benchResultOptions,
  config: option(
    text("<file>"),
    GROUP.workload,
    "reprise.yaml with any of these options; a flag wins over it",
  ),
  no_stream: ignored(toggle(), "a dataset is always read from a local file"),
  disable_shuffle: ignored(toggle(), "nothing is shuffled without --shuffle"),
  skip_tokenizer_init: ignored(toggle(), "a tokenizer is opened only where prompts are made or counted"),
  skip_chat_template: ignored(toggle(), "prompts are sent as they are, the server applies its template"),
  plot_timeline: ignored(toggle(), "the run's own report shows the timeline"),
  plot_dataset_stats: ignored(toggle(), "the run's own report shows the lengths"),
  timeline_itl_thresholds: ignored(text("<a,b>"), "the run's own report shows the timeline"),
} as const;

export type BenchGiven = Given<typeof benchOptions>;
