/** Runs and sweeps below one folder, as the list shows them. What was read once is kept until its file changes. */
import { type Dirent, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { UserError } from "../core/failure.ts";
import type { Summary } from "../metric/summary.ts";
import { readManifest } from "../record/manifest-file.ts";
import type { Manifest } from "../record/manifest.ts";

export interface ListedRun {
  /** Path below the folder, with `/`. */
  readonly id: string;
  readonly name: string;
  readonly state: "running" | "done" | "interrupted" | "unfinished" | "unreadable";
  readonly note: string | null;
  readonly started_at: string | null;
  readonly model: string | null;
  readonly trace: string | null;
  readonly pacing: string | null;
  readonly simulated: boolean;
  readonly verdict: string | null;
  readonly jobs: number | null;
  readonly requests: number | null;
  readonly failed: number | null;
  readonly job_p95_ms: number | null;
  readonly budget_miss_rate: number | null;
  readonly jobs_per_hour: number | null;
}

export interface ListedSweep {
  readonly id: string;
  readonly winner: string | null;
  readonly reason: string | null;
  readonly cells: number | null;
  /** Ids of its finished runs. */
  readonly runs: readonly string[];
}

export interface Listing {
  readonly folder: string;
  readonly runs: readonly ListedRun[];
  readonly sweeps: readonly ListedSweep[];
  /** Folders that were not looked into: too deep, or too many. */
  readonly cut: boolean;
}

const DEEPEST = 4;
const MOST_FOLDERS = 20_000;
/** A run without an end that has written nothing for this long is not under way, ms. */
const SILENT_MS = 120_000;

interface Cached {
  readonly stamp: string;
  readonly run: ListedRun;
}

export class RunList {
  /** Real path of the folder. */
  readonly root: string;
  readonly #shown: string;
  readonly #wall: () => number;
  readonly #cache = new Map<string, Cached>();

  /** {@link UserError} for a folder that is not there. */
  constructor(folder: string, wall: () => number) {
    try {
      this.root = realpathSync(folder);
      if (!statSync(this.root).isDirectory()) throw new Error("not a folder");
    } catch (error) {
      throw new UserError(`${folder}: is no folder`, {
        hint: "name the folder that holds the runs",
        cause: error,
      });
    }
    this.#shown = folder;
    this.#wall = wall;
  }

  async list(): Promise<Listing> {
    const found = { runs: [] as string[], sweeps: [] as string[], folders: 0, cut: false };
    walk(this.root, 0, found);
    const runs: ListedRun[] = [];
    for (const folder of found.runs) runs.push(await this.#run(folder));
    runs.sort((a, b) => (b.started_at ?? "").localeCompare(a.started_at ?? "") || a.id.localeCompare(b.id));
    return {
      folder: this.#shown,
      runs,
      sweeps: found.sweeps.map((folder) => this.#sweep(folder)),
      cut: found.cut,
    };
  }

  /**
   * The folder of a run by its id, or `null`: an id is a path below the root, made of plain names; neither `..` nor a link leads
   * out of it.
   */
  folderOf(id: string): string | null {
    const parts = id === "." ? [] : id.split("/");
    if (parts.some((part) => part === "" || part === "." || part === ".." || /[\\\0]/.test(part)))
      return null;
    try {
      const folder = realpathSync(join(this.root, ...parts));
      if (
        folder !== this.root &&
        !folder.startsWith(this.root.endsWith(sep) ? this.root : `${this.root}${sep}`)
      )
        return null;
      return statSync(join(folder, "manifest.json")).isFile() ? folder : null;
    } catch {
      return null;
    }
  }

  /** Plain files of a run's folder. */
  filesOf(folder: string): { readonly name: string; readonly bytes: number }[] {
    return entries(folder)
      .filter((entry) => entry.isFile())
      .map(({ name }) => ({ name, bytes: statSync(join(folder, name)).size }))
      .sort((a, b) => a.name.localeCompare(b.name));
  }

  #id(folder: string): string {
    return relative(this.root, folder).split(sep).join("/") || ".";
  }

  async #run(folder: string): Promise<ListedRun> {
    const stamps = ["manifest.json", "summary.json", "records.jsonl"].map((name) =>
      stampOf(join(folder, name)),
    );
    // A running run's log grows: only its being fresh matters, not its size.
    const fresh = this.#wall() - Math.max(stamps[2]?.at ?? 0, stamps[0]?.at ?? 0) < SILENT_MS;
    const stamp = `${stamps[0]?.text} ${stamps[1]?.text} ${fresh}`;
    const cached = this.#cache.get(folder);
    if (cached?.stamp === stamp) return cached.run;
    const run = await this.#read(folder, fresh);
    this.#cache.set(folder, { stamp, run });
    return run;
  }

  async #read(folder: string, fresh: boolean): Promise<ListedRun> {
    const id = this.#id(folder);
    let manifest: Manifest;
    try {
      manifest = await readManifest(folder);
    } catch (error) {
      const why =
        error instanceof UserError
          ? `${error.message}${error.hint === null ? "" : ` (${error.hint})`}`
          : String(error);
      return { ...NOTHING, id, name: id, state: "unreadable", note: why.replace(`${folder}/`, "") };
    }
    const summary = readSummary(folder);
    const { end } = manifest;
    return {
      ...NOTHING,
      id,
      name: manifest.label ?? id,
      state: end === null ? (fresh ? "running" : "unfinished") : end.interrupted ? "interrupted" : "done",
      note: null,
      started_at: manifest.started_at,
      model: manifest.target.model,
      trace: manifest.plan.trace,
      pacing: manifest.plan.pacing,
      simulated: manifest.target.simulated,
      jobs: manifest.plan.jobs,
      requests: manifest.plan.requests,
      ...(summary === null ? {} : numbersOf(summary)),
    };
  }

  #sweep(folder: string): ListedSweep {
    const json = readJson(join(folder, "comparison.json"));
    const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
    const cells = Array.isArray(json?.["cells"]) ? (json["cells"] as Record<string, unknown>[]) : null;
    const runs = entries(join(folder, "runs"))
      .filter((entry) => entry.isDirectory() && !/-warming(\.\d+)?$/.test(entry.name))
      .map(({ name }) => `${this.#id(folder) === "." ? "" : `${this.#id(folder)}/`}runs/${name}`)
      .filter((id) => this.folderOf(id) !== null);
    return {
      id: this.#id(folder),
      winner: text(json?.["winner"]),
      reason: text(json?.["reason"]),
      cells: cells?.length ?? null,
      runs,
    };
  }
}

const NOTHING = {
  started_at: null,
  model: null,
  trace: null,
  pacing: null,
  simulated: false,
  verdict: null,
  jobs: null,
  requests: null,
  failed: null,
  job_p95_ms: null,
  budget_miss_rate: null,
  jobs_per_hour: null,
} as const;

/** `null` where the file is not there, or is of another shape. */
function readSummary(folder: string): Summary | null {
  const json = readJson(join(folder, "summary.json"));
  return json?.["reprise_summary"] === 1 ? (json as unknown as Summary) : null;
}

function numbersOf(summary: Summary): Partial<ListedRun> {
  try {
    return {
      verdict: summary.validity.verdict,
      failed: summary.counts.failed,
      job_p95_ms: summary.jobs.job_e2e["p95"] ?? null,
      budget_miss_rate: summary.jobs.budget_miss_rate,
      jobs_per_hour: summary.throughput.jobs_per_hour,
    };
  } catch {
    // Written by hand or by another tool: the manifest has told what there is.
    return {};
  }
}

function readJson(path: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function stampOf(path: string): { text: string; at: number } | null {
  try {
    const { mtimeMs, size } = statSync(path);
    return { text: `${mtimeMs}-${size}`, at: mtimeMs };
  } catch {
    return null;
  }
}

function entries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Run folders are not looked into further; links are not followed. */
function walk(
  folder: string,
  depth: number,
  found: { runs: string[]; sweeps: string[]; folders: number; cut: boolean },
): void {
  if (++found.folders > MOST_FOLDERS) {
    found.cut = true;
    return;
  }
  const inside = entries(folder);
  const has = (name: string): boolean => inside.some((entry) => entry.name === name && entry.isFile());
  if (has("manifest.json")) {
    found.runs.push(folder);
    return;
  }
  if (has("sweep.json")) found.sweeps.push(folder);
  for (const entry of inside) {
    if (!entry.isDirectory() || entry.name.startsWith(".") || entry.name === "node_modules") continue;
    if (depth >= DEEPEST) found.cut = true;
    else walk(join(folder, entry.name), depth + 1, found);
  }
}
