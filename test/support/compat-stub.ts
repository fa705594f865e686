/** Runs bench and replay against a recording stub, in this process, and gathers what reached the server and the disk. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bench } from "../../src/cli/commands/bench.ts";
import { replay } from "../../src/cli/commands/replay.ts";
import type { Manifest } from "../../src/record/manifest.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";
import { C, DONE, R, usage, event } from "../stub/events.ts";
import { type StubRequest, type StubScript, startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";
import { jsonLines } from "./json-lines.ts";
import { recordsOf, runCommand } from "./run-command.ts";

export type Json = Record<string, unknown>;

export interface CompatRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** All requests in the order they came. */
  readonly all: readonly StubRequest[];
  /** Those of the load; of bench by their ids, of replay in the order they came. */
  readonly measured: readonly StubRequest[];
  readonly bodies: readonly Json[];
  /** Paths of all requests. */
  readonly paths: readonly string[];
  readonly manifest: Manifest;
  /** In the order of sending. */
  readonly records: readonly RequestRecord[];
  /** Result files by name. */
  readonly results: Readonly<Record<string, string>>;
  /** The one result file, parsed. */
  readonly result: Json;
}

export const folder = mkdtempSync(join(tmpdir(), "reprise-compat-"));
export const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });

export function file(name: string, rows: readonly object[] | string): string {
  const path = join(folder, name);
  writeFileSync(path, typeof rows === "string" ? rows : jsonLines(rows));
  return path;
}

/** Three tokens at once in the protocol of the path; 404 elsewhere. */
export const answer: StubScript = ({ path }) => {
  const end = event({ choices: [], usage: usage(3) }) + DONE;
  if (path.endsWith("/chat/completions"))
    return [
      {
        bytes: response([
          C({ role: "assistant" }),
          C({ content: "a" }),
          C({ content: "b" }),
          C({ content: "c" }) + end,
        ]),
      },
    ];
  if (path.endsWith("/completions")) return [{ bytes: response([R("a"), R("b"), R("c") + end]) }];
  if (path.endsWith("_profile")) return [{ bytes: response([""], "length", { type: null }) }];
  return [{ bytes: response(["{}"], "length", { status: "404 Not Found", type: "application/json" }) }];
};

let runs = 0;

export interface CompatOptions {
  readonly script?: StubScript;
  readonly env?: Readonly<Record<string, string>>;
  /** Files that lie in the result folder before. */
  readonly existing?: Readonly<Record<string, string>>;
}

/** `argv` gets the stub's address: `URL`, `HOST` and `PORT` in it are replaced. */
export async function runCompat(
  command: "bench" | "replay",
  argv: readonly string[],
  options: CompatOptions = {},
): Promise<CompatRun> {
  const own = join(folder, `run-${runs++}`);
  const dir = join(own, "results");
  const ran = join(own, "run");
  mkdirSync(own);
  if (options.existing !== undefined) mkdirSync(dir);
  for (const [name, text] of Object.entries(options.existing ?? {})) writeFileSync(join(dir, name), text);
  const stub = await startStub(options.script ?? answer);
  try {
    const words = argv.map((word) =>
      word
        .replaceAll("URL", stub.url)
        .replaceAll("PORT", String(stub.port))
        .replaceAll("HOST", "127.0.0.1")
        .replaceAll("RESULTS", dir),
    );
    const verb = command === "bench" ? bench : replay;
    const { code, out, err } = await runCommand(verb, [...words, "--out", ran], options.env);
    const records = existsSync(join(ran, "records.jsonl"))
      ? [...recordsOf(ran).values()].sort(
          (a, b) => (a.intended_ms ?? 0) - (b.intended_ms ?? 0) || (a.sent_ms ?? 0) - (b.sent_ms ?? 0),
        )
      : [];
    const results = existsSync(dir)
      ? Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), "utf8")]))
      : {};
    const manifestPath = join(ran, "manifest.json");
    const [only] = Object.values(results);
    const measured =
      command === "bench"
        ? stub.requests
            .filter(({ headers }) => headers["x-request-id"] !== undefined)
            .sort((a, b) => idOf(a) - idOf(b))
        : stub.requests.filter(({ path }) => path.includes("/completions"));
    return {
      code,
      out,
      err,
      all: [...stub.requests],
      measured,
      bodies: measured.map(({ body }) => JSON.parse(body) as Json),
      paths: stub.requests.map(({ path }) => path),
      manifest: existsSync(manifestPath)
        ? (JSON.parse(readFileSync(manifestPath, "utf8")) as Manifest)
        : ({} as Manifest),
      records,
      results,
      result: parsed(only),
    };
  } finally {
    await stub.close();
  }
}

function idOf({ headers }: StubRequest): number {
  return Number(/\d+$/.exec(headers["x-request-id"] ?? "")?.[0]);
}

function parsed(text: string | undefined): Json {
  try {
    return text === undefined ? {} : (JSON.parse(text) as Json);
  } catch {
    return {};
  }
}
