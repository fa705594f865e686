/**
 * Which files are a Claude Code session: `X.jsonl`, its sub-agents' in `X/subagents/` (a workflow's one folder deeper), and, as older
 * versions wrote them, `agent-*.jsonl` beside it.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import { readLineBatches } from "../../core/lines.ts";
import { isObject, scalarText } from "../openai-messages.ts";
import { parseLossless } from "../lossless-json.ts";
import { traceFiles } from "../sample.ts";

/** What is known of a sub-agent beside its log. */
export interface AgentFile {
  readonly id: string;
  /** The session whose folder it stands in; `null` where it stands beside. */
  readonly session: string | null;
  /** The workflow's run that it is a step of. */
  readonly run: string | null;
  /** `agent-*.meta.json`: `toolUseId`, `agentType`, `name`... Empty where there is none. */
  readonly meta: JsonObject;
}

export interface LogFile {
  readonly path: string;
  /** How messages call it. */
  readonly name: string;
  /** The file's name without its ending. */
  readonly session: string;
  /** `null` = a session's own log. */
  readonly agent: AgentFile | null;
}

const LOG = /\.jsonl(\.gz)?$/;
const AGENT = /^agent-(.+)\.jsonl(\.gz)?$/;

/** The files of the session (or, in a folder, of all sessions) at `path`; sub-agents after all sessions. */
export async function sessionFiles(path: string, name: string): Promise<LogFile[]> {
  const files = (await stat(path)).isDirectory() ? await ofFolder(path, name) : await ofSession(path, name);
  return [...files.filter(({ agent }) => agent === null), ...files.filter(({ agent }) => agent !== null)];
}

async function ofSession(path: string, name: string): Promise<LogFile[]> {
  const own = await logFile(path, name, null, null);
  if (own.agent !== null) return [own];
  const [folder, shown] = [dirname(path), dirname(name)];
  const nested = await ofSubagents(join(folder, own.session), join(shown, own.session), own.session);
  const beside = await namesIn(folder, AGENT);
  const sessions = beside.length === 0 ? new Set<string>() : await sessionIds(path);
  const siblings: LogFile[] = [];
  for (const file of beside) {
    const agentOf = await sessionIds(join(folder, file), 1);
    if ([...agentOf].some((id) => sessions.has(id)))
      siblings.push(await logFile(join(folder, file), join(shown, file), null, null));
  }
  return [own, ...nested, ...siblings];
}

async function ofFolder(folder: string, name: string): Promise<LogFile[]> {
  if (basename(folder) === "subagents") {
    const session = basename(dirname(folder));
    return ofSubagents(dirname(folder), dirname(name), session);
  }
  const all = await traceFiles(folder);
  const logs = all.filter((file) => LOG.test(file));
  const folders = await foldersIn(folder);
  const files: LogFile[] = [];
  // Beside its `.jsonl` logs a session's folder holds other JSON; where there are no such logs, the others must be they.
  for (const file of logs.length > 0 || folders.length > 0 ? logs : all)
    files.push(await logFile(join(folder, file), join(name, file), null, null));
  const isOwn = folders.includes("subagents");
  if (isOwn) files.push(...(await ofSubagents(folder, name, basename(folder))));
  // A session's own folder also holds its workflows' records.
  for (const inner of isOwn ? [] : folders) {
    const [path, shown] = [join(folder, inner), join(name, inner)];
    if ((await foldersIn(path)).includes("subagents")) files.push(...(await ofSubagents(path, shown, inner)));
    // A folder of projects: each holds its sessions.
    else if (logs.length === 0) files.push(...(await ofFolder(path, shown)));
  }
  return files;
}

/** Logs in `folder/subagents/` and below. */
async function ofSubagents(folder: string, name: string, session: string): Promise<LogFile[]> {
  const files: LogFile[] = [];
  const walk = async (path: string, shown: string, run: string | null): Promise<void> => {
    for (const file of await namesIn(path, AGENT))
      files.push(await logFile(join(path, file), join(shown, file), session, run));
    for (const inner of await foldersIn(path))
      await walk(join(path, inner), join(shown, inner), inner === "workflows" ? run : inner);
  };
  await walk(join(folder, "subagents"), join(name, "subagents"), null);
  return files;
}

async function logFile(
  path: string,
  name: string,
  session: string | null,
  run: string | null,
): Promise<LogFile> {
  const id = AGENT.exec(basename(name))?.[1] ?? null;
  return {
    path,
    name,
    session: session ?? basename(name).replace(/\.jsonl?(\.gz)?$/, ""),
    agent: id === null ? null : { id, session, run, meta: await metaOf(path) },
  };
}

/** A sidecar that is missing or damaged tells nothing. */
async function metaOf(path: string): Promise<JsonObject> {
  try {
    const meta: unknown = JSON.parse(await readFile(path.replace(LOG, ".meta.json"), "utf8"));
    return isObject(meta) ? meta : {};
  } catch {
    return {};
  }
}

/** Session ids in a file's rows; of the first `max` rows that tell one. */
async function sessionIds(path: string, max = Infinity): Promise<Set<string>> {
  const ids = new Set<string>();
  let told = 0;
  for await (const batch of readLineBatches(path)) {
    for (const { text } of batch) {
      const id = sessionOf(text);
      if (id === "") continue;
      ids.add(id);
      if (++told >= max) return ids;
    }
  }
  return ids;
}

function sessionOf(text: string): string {
  if (!text.includes('"sessionId"')) return "";
  try {
    const row = parseLossless(text);
    return isObject(row) ? scalarText(row["sessionId"]) : "";
  } catch {
    return "";
  }
}

async function namesIn(folder: string, pattern: RegExp): Promise<string[]> {
  const entries = await entriesOf(folder);
  return entries
    .filter((entry) => !entry.isDirectory() && pattern.test(entry.name))
    .map(({ name }) => name)
    .sort();
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await entriesOf(folder);
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name)
    .sort();
}

async function entriesOf(folder: string): Promise<Awaited<ReturnType<typeof readEntries>>> {
  try {
    return await readEntries(folder);
  } catch {
    return [];
  }
}

function readEntries(folder: string) {
  return readdir(folder, { withFileTypes: true });
}
