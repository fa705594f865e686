/**
 * Weka / kv-cache-tester: recorded coding-agent sessions, a JSON file each; a folder of them is one trace. Sessions have
 * their own clocks: in a folder all start at 0, which is our choice and is said.
 */
import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import { readJsonDocument } from "../document.ts";
import type { ReadOptions, TraceFormat } from "../format.ts";
import { newTrace } from "../new-trace.ts";
import { isObject } from "../openai-messages.ts";
import { RowAccount } from "../row-account.ts";
import { kindOf } from "../row-reader.ts";
import { traceFiles } from "../sample.ts";
import type { TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";
import { layOutSession, type WekaSession } from "./weka-session.ts";

/** A format test that does not need the whole document: it can be larger than what detection reads. */
const MARKS = [/"requests"\s*:\s*\[/, /"(hash_id_scope|block_size)"\s*:/, /"hash_ids"\s*:/];

export const weka: TraceFormat = {
  name: "weka",
  title: "Weka / kv-cache-tester sessions (JSON, a file a session, or a folder of them)",
  readsFolder: true,
  marks: ["requests", "block_size", "hash_id_scope"],
  detect(sample) {
    return /^\s*\{/.test(sample.head) && MARKS.every((mark) => mark.test(sample.head)) ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const isFolder = (await stat(path)).isDirectory();
    const files = isFolder ? (await traceFiles(path)).map((name) => join(path, name)) : [path];
    const account = new RowAccount(path, options);
    const read = new SessionReader(account, options);
    for (const file of files)
      await read.file(file, isFolder ? basename(file) : (options.name ?? path), isFolder);
    return read.trace(isFolder);
  },
};

class SessionReader {
  readonly #account: RowAccount;
  readonly #options: ReadOptions;
  readonly #requests: TraceRequest[] = [];
  readonly #notes: string[] = [];
  readonly #jobs = new Set<string>();
  readonly #contents = new Map<string, string>();
  readonly #duplicates: string[] = [];
  #sessions = 0;
  #subAgents = 0;
  #unknownEnds = 0;
  #silent = 0;

  constructor(account: RowAccount, options: ReadOptions) {
    this.#account = account;
    this.#options = options;
  }

  async file(path: string, name: string, isFolder: boolean): Promise<void> {
    const document = await readJsonDocument(path, { ...this.#options, name });
    if (!isObject(document) || !Array.isArray(document["requests"])) {
      if (isFolder && isObject(document)) {
        this.#account.skip("file that is no session");
        this.#notes.push(`${name} is no session: it has no "requests"`);
        return;
      }
      const found = isObject(document) ? 'no "requests" array' : `${kindOf(document)}, not a session`;
      this.#account.refuse(null, found, name);
      return;
    }
    this.#sessions++;
    this.#noteDuplicate(document, name);
    const session: WekaSession = {
      job_id: this.#jobId(document, name),
      hash_scope: document["hash_id_scope"] === "global" ? null : basename(name),
      block_tokens: blockSize(document) ?? this.#options.blockTokens ?? 64,
      file: name,
    };
    const laid = layOutSession(session, document["requests"] as unknown[], this.#account);
    this.#requests.push(...laid.requests);
    this.#subAgents += laid.sub_agents;
    this.#unknownEnds += laid.unknown_ends;
    this.#silent += laid.requests.filter((request) => request.recorded?.output_tokens === 0).length;
    if (laid.models.length > 1)
      this.#notes.push(`${name}: ${laid.models.length} models (${laid.models.join(", ")}), all sent to one`);
  }

  #jobId(document: JsonObject, name: string): string {
    const stem = basename(name).replace(/\.json(\.gz)?$/i, "");
    const id = typeof document["id"] === "string" && document["id"] !== "" ? document["id"] : stem;
    const own = this.#jobs.has(id) ? (this.#jobs.has(stem) ? `${id}#${this.#sessions}` : stem) : id;
    this.#jobs.add(own);
    return own;
  }

  #noteDuplicate(document: JsonObject, name: string): void {
    const digest = createHash("sha256").update(JSON.stringify(document["requests"])).digest("hex");
    const first = this.#contents.get(digest);
    if (first === undefined) this.#contents.set(digest, name);
    else this.#duplicates.push(`${name} = ${first}`);
  }

  trace(isFolder: boolean): Trace {
    const notes = this.#notes;
    const copies = this.#duplicates;
    if (copies.length > 0)
      notes.unshift(
        `${copies.length} files hold the same session as another: ${copies.slice(0, 5).join(", ")}${copies.length > 5 ? ", ..." : ""}; each is replayed, without sharing the other's prefixes`,
      );
    if (isFolder)
      notes.push(`${this.#sessions} sessions, each with its own clock: all are laid out to start at 0`);
    if (this.#unknownEnds > 0)
      notes.push(`${this.#unknownEnds} requests follow one without api_time: their think time is unknown`);
    if (this.#silent > 0) notes.push(`${this.#silent} requests recorded no output token`);
    return newTrace("weka", this.#account, {
      requests: this.#requests,
      provenance: {
        arrivals: isFolder ? "inferred" : "recorded",
        order: this.#subAgents > 0 ? "inferred" : "recorded",
        think_time: "recorded",
        prompt_length: "recorded",
        prefix_sharing: "recorded",
        output_length: "recorded",
      },
      notes,
    });
  }
}

function blockSize(document: JsonObject): number | null {
  const size = document["block_size"];
  return typeof size === "number" && Number.isInteger(size) && size > 0 ? size : null;
}
