/**
 * The sweep's folder: `sweep.json` says whose it is, `results.jsonl` gets a line when a run ends. A sweep that is started
 * again in the same folder goes on where the first stopped.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { secrets } from "../core/secret.ts";
import type { Summary } from "../metric/summary.ts";
import { writeError } from "../record/atomic-file.ts";
import { makeFolder } from "../record/make-folder.ts";
import type { CellRunResult } from "./cell-result.ts";

export class SweepLog {
  readonly folder: string;
  readonly #results: CellRunResult[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Opens or begins a sweep. `work` is everything that makes results comparable (not the grid: cells may be added later). A
   * folder that holds other work is a `UserError`.
   */
  static open(folder: string, work: JsonObject): SweepLog {
    const log = new SweepLog(folder);
    try {
      makeFolder(join(folder, "runs"));
    } catch (error) {
      throw writeError(folder, error);
    }
    const file = join(folder, "sweep.json");
    const state = { reprise_sweep_state: 1, work };
    if (existsSync(file)) {
      const before = readState(file);
      const now = JSON.parse(secrets.redact(JSON.stringify(state))) as typeof state;
      const changed = Object.keys({ ...before.work, ...now.work }).filter(
        (key) => JSON.stringify(told(before.work?.[key])) !== JSON.stringify(told(now.work[key])),
      );
      if (changed.length > 0)
        throw new UserError(`${folder} holds a sweep with other settings: ${changed.join(", ")}`, {
          hint: "give another --out, or the settings it was begun with",
        });
    } else {
      writeFileSync(file, `${secrets.redact(JSON.stringify(state, null, 2))}\n`);
    }
    log.#read();
    return log;
  }

  get results(): readonly CellRunResult[] {
    return this.#results;
  }

  isDone(slug: string, repeat: number): boolean {
    return this.#results.some((run) => run.slug === slug && run.repeat === repeat && run.status === "done");
  }

  /** A result; one that came before of the same run (a failure, an interruption) is replaced. */
  add(result: CellRunResult): void {
    this.#replace(result);
    const { summary: _kept, folder, ...rest } = result;
    const line = { ...rest, folder: folder === null ? null : relative(this.folder, resolve(folder)) };
    appendFileSync(join(this.folder, "results.jsonl"), `${secrets.redact(JSON.stringify(line))}\n`);
  }

  #replace(result: CellRunResult): void {
    const at = this.#results.findIndex((run) => run.slug === result.slug && run.repeat === result.repeat);
    if (at === -1) this.#results.push(result);
    else this.#results[at] = result;
  }

  #read(): void {
    const file = join(this.folder, "results.jsonl");
    if (!existsSync(file)) return;
    const text = readFileSync(file, "utf8");
    // A killed process may have left half a line: the next one must not be written onto it.
    if (text !== "" && !text.endsWith("\n")) appendFileSync(file, "\n");
    for (const line of text.split("\n")) {
      const result = parseResult(line);
      if (result === null) continue;
      const folder = result.folder === null ? null : join(this.folder, result.folder);
      const summary = folder === null ? null : readSummary(folder);
      // A run whose numbers are gone must be run again.
      if (result.status === "done" && summary === null) continue;
      this.#replace({ ...result, folder, summary });
    }
  }
}

function readState(file: string): { readonly work?: JsonObject } {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { work?: JsonObject };
  } catch (cause) {
    throw new UserError(`${file} cannot be read: ${(cause as Error).message}`, {
      hint: "give another --out; the runs in the folder can still be reported and compared",
      cause,
    });
  }
}

/** Settings that say something: an option that a newer version knows, and nobody set, is no other setting. */
function told(value: JsonValue | undefined): JsonValue {
  if (value === undefined) return null;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value as JsonObject)
    .map(([key, inner]) => [key, told(inner)] as const)
    .filter(([, inner]) => inner !== null)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

/** `null` for a line that a killed process left unfinished. */
function parseResult(line: string): CellRunResult | null {
  if (line.trim() === "") return null;
  try {
    const row = JSON.parse(line) as CellRunResult;
    return typeof row.slug === "string" && typeof row.repeat === "number" ? row : null;
  } catch {
    return null;
  }
}

function readSummary(folder: string): Summary | null {
  try {
    return JSON.parse(readFileSync(join(folder, "summary.json"), "utf8")) as Summary;
  } catch {
    return null;
  }
}
