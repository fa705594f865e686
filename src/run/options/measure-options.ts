/** Objectives, statistics and output. Shared by replay, bench and (partly) report. */
import {
  choice,
  duration,
  keyValues,
  list,
  number,
  option,
  percentiles,
  repeated,
  text,
  toggle,
} from "./option.ts";
import { GROUP } from "./groups.ts";

const M = GROUP.measure;
const O = GROUP.output;

export const measureOptions = {
  goodput: option(
    list(text("<metric:ms>"), "<metric:ms...>", (word) => /^[\w.]+:/.test(word)),
    M,
    "count requests that meet all of these: ttft:200 tpot:50 e2el:2000",
  ),
  slo: option(repeated(text("<expression>")), M, 'objective, decides the exit code: "p99(ttft) <= 500ms"'),
  job_budget: option(text("<30s|2x>"), M, "time a job may take; 2x = twice its time on the unloaded server"),
  percentiles: option(percentiles(), M, "percentiles to report", { defaultText: "50,90,95,99" }),
  gpus: option(number({ min: 0, exclusive: true }), M, "GPUs behind the server, for jobs/h/GPU"),
  max_lateness: option(
    duration("ms"),
    M,
    "p99 lateness of our own sends past which the run is client-limited",
    { defaultText: "5ms" },
  ),
} as const;

export const verdictOptions = {
  max_failure_rate: option(number({ min: 0, max: 1 }), M, "share of failed requests that is still exit 0", {
    defaultText: "0",
  }),
  strict_validity: option(toggle(), M, "exit 4 when the generator, not the server, was the limit"),
} as const;

export const outputOptions = {
  out: option(text("<folder>"), O, "run folder, never overwritten", {
    defaultText: "runs/<time>-<trace>-<model>",
  }),
  json: option(toggle(), O, "print the summary as JSON, and nothing else, on stdout"),
  label: option(text("<text>"), O, "name of the run in reports"),
  metadata: option(keyValues(), O, "written into the manifest and result files"),
  save_text: option(toggle(), O, "keep the answers' text in the records"),
  timeline: option(choice("full", "none"), O, "keep each chunk's arrival in the records", {
    defaultText: "full",
  }),
  quiet: option(toggle(), O, "no progress on stderr", { aliases: ["--disable-tqdm"], short: "-q" }),
} as const;
