/** The table of commands. Each is loaded only when it is called, so that `reprise --help` stays quick. */
import type { Verb } from "../verb.ts";

export interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Verb>;
}

export const VERBS: readonly VerbEntry[] = [
  {
    name: "demo",
    summary: "the whole story in under a minute: real agents on two configurations of a simulated engine",
    load: async () => (await import("./demo.ts")).demo,
  },
  {
    name: "replay",
    summary: "replays a trace against a server",
    load: async () => (await import("./replay.ts")).replay,
  },
  {
    name: "bench",
    summary: "sends a dataset or made-up prompts at a rate or a concurrency",
    load: async () => (await import("./bench.ts")).bench,
  },
  {
    name: "inspect",
    summary: "tells what is in a trace",
    load: async () => (await import("./inspect.ts")).inspect,
  },
  {
    name: "convert",
    summary: "any trace format to ours, or to Mooncake or AIPerf rows",
    load: async () => (await import("./convert.ts")).convert,
  },
  {
    name: "generate",
    summary: "writes a synthetic agent trace",
    load: async () => (await import("./generate.ts")).generate,
  },
  {
    name: "report",
    summary: "recomputes every number of a run from its log",
    load: async () => (await import("./report.ts")).report,
  },
  {
    name: "compare",
    summary: "compares runs of the same work job by job, with confidence intervals and gates",
    load: async () => (await import("./compare.ts")).compare,
  },
  {
    name: "sweep",
    summary: "launches the server once for each configuration and compares them on the same trace",
    load: async () => (await import("./sweep.ts")).sweep,
  },
  {
    name: "ui",
    summary: "local web page: runs, the run under way, comparison, job by job",
    load: async () => (await import("./ui.ts")).ui,
  },
  {
    name: "sim",
    summary: "runs the simulated engine as an OpenAI-compatible server",
    load: async () => (await import("./sim.ts")).sim,
  },
];
