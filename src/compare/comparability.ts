/** May these two runs be compared, and what else differs between them? */
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { RunIdentity } from "./run-samples.ts";

export interface Concern {
  /** `refuse`: the pairing means nothing. `doubt`: the numbers may be wrong; no gate is decided on them. `note`: read on. */
  readonly severity: "refuse" | "doubt" | "note";
  readonly text: string;
}

/** Options whose difference is what a comparison is for, or says nothing about the work done. */
const SILENT = ["out", "label", "metadata", "json", "quiet", "result_dir", "result_filename"];

export function findConcerns(a: RunIdentity, b: RunIdentity, commonJobs: number): Concern[] {
  const concerns: Concern[] = [];
  const add = (severity: Concern["severity"], text: string): void => {
    concerns.push({ severity, text });
  };
  if (a.id !== undefined && a.id === b.id)
    add("doubt", `${a.label} and ${b.label} are one and the same run: of course nothing differs`);
  if (a.trace_sha256 !== null && b.trace_sha256 !== null && a.trace_sha256 !== b.trace_sha256)
    add(
      "refuse",
      `they replayed different traces: ${a.trace ?? a.trace_sha256} and ${b.trace ?? b.trace_sha256}`,
    );
  else if ((a.trace_sha256 === null) !== (b.trace_sha256 === null))
    add("refuse", `only ${a.trace_sha256 === null ? b.label : a.label} replayed a trace`);
  else if (commonJobs === 0) add("refuse", "they have no job in common");
  if (a.pacing !== b.pacing) add("refuse", `they were paced differently: ${a.pacing} and ${b.pacing}`);
  if (a.speed !== b.speed) add("refuse", `they ran at different speeds: ${a.speed} and ${b.speed}`);
  if (a.planned.requests !== b.planned.requests || a.planned.jobs !== b.planned.jobs) {
    const size = ({ planned }: RunIdentity): string =>
      `${planned.jobs} jobs and ${planned.requests} requests`;
    add("doubt", `they were to do different work: ${size(a)}, and ${size(b)}`);
  }
  const seeds = seedDifferences(a, b);
  if (seeds.length > 0) {
    const drawn = [a, b].some((run) => isDrawn(run));
    const consequence = drawn
      ? "arrivals or lengths were drawn from it: not the same work"
      : "the trace tells the work all the same";
    add(drawn ? "doubt" : "note", `${seeds.join(", ")}; ${consequence}`);
  }
  if (a.simulated !== b.simulated)
    add("doubt", `${a.simulated ? a.label : b.label} is a simulation, the other is not`);
  for (const run of [a, b]) {
    if (run.verdict !== "valid") {
      const reasons = run.verdict_reasons.length === 0 ? "" : `: ${run.verdict_reasons.join("; ")}`;
      add("doubt", `${run.label} is ${run.verdict}${reasons}`);
    }
    if (run.partial) add("doubt", `${run.label} has no end: it was killed, or still runs`);
  }
  if (a.model !== b.model) add("note", `models differ: ${a.model} and ${b.model}`);
  if (a.backend !== b.backend) add("note", `protocols differ: ${a.backend} and ${b.backend}`);
  if (a.version !== b.version) add("note", `measured by Reprise ${a.version} and ${b.version}`);
  return concerns;
}

function seedDifferences(a: RunIdentity, b: RunIdentity): string[] {
  return (
    [...new Set([...Object.keys(a.seeds), ...Object.keys(b.seeds)])]
      // Made-up text is new in every run by design.
      .filter((name) => !/prompt/.test(name) && a.seeds[name] !== b.seeds[name])
      .map((name) => `seed "${name}" differs (${a.seeds[name] ?? "none"} and ${b.seeds[name] ?? "none"})`)
  );
}

/** Does the seed decide what work this run did? A replayed trace tells its own arrivals and lengths. */
function isDrawn({ trace_sha256, options }: RunIdentity): boolean {
  const arrivals = options["arrival_type"] ?? "trace";
  return trace_sha256 === null || arrivals !== "trace" || options["lora_modules"] !== undefined;
}

export interface Change {
  /** Path of keys, joined by dots. */
  readonly key: string;
  readonly a: JsonValue;
  readonly b: JsonValue;
}

/** What differs in the options (of the load and of the engine), keys sorted. */
export function optionChanges(a: RunIdentity, b: RunIdentity): Change[] {
  return changes(a.options, b.options).filter(({ key }) => !SILENT.includes(key.split(".")[0] as string));
}

/** What differs in what the servers said of themselves: version, model entry. */
export function serverChanges(a: RunIdentity, b: RunIdentity): Change[] {
  return changes(a.server, b.server).filter(({ key }) => !/(^|\.)(created|id|permission)(\.|$)/.test(key));
}

function changes(a: JsonValue, b: JsonValue): Change[] {
  const flatA = flatten(a);
  const flatB = flatten(b);
  return [...new Set([...flatA.keys(), ...flatB.keys()])]
    .sort()
    .map((key) => ({ key, a: flatA.get(key) ?? null, b: flatB.get(key) ?? null }))
    .filter((change) => JSON.stringify(change.a) !== JSON.stringify(change.b));
}

function flatten(value: JsonValue, path = "", into = new Map<string, JsonValue>()): Map<string, JsonValue> {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [key, inner] of Object.entries(value as JsonObject))
      flatten(inner ?? null, path === "" ? key : `${path}.${key}`, into);
  } else if (value !== null || path !== "") {
    into.set(path, value);
  }
  return into;
}
