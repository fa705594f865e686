/**
 * Codex session logs (rollout JSONL). A `token_count` with new usage closes a request; its input counts the cached tokens in and
 * its output the reasoning. What is said is logged twice (as item and as event): items count.
 */
import { basename, join } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import { readLineBatches } from "../../core/lines.ts";
import { readFolder } from "../folder.ts";
import type { ReadOptions, TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { parseLossless } from "../lossless-json.ts";
import { newTrace } from "../new-trace.ts";
import { isObject, scalarText } from "../openai-messages.ts";
import { RowAccount } from "../row-account.ts";
import { hasRecordMarks, readSessionRecords, sampleRecords } from "../session-records.ts";
import { isFolder, takeSample } from "../sample.ts";
import type { Trace } from "../trace.ts";
import { joinThreads, type CodexThread } from "./codex-agents.ts";
import { CodexSession, type CodexMode } from "./codex-session.ts";

const RECORDS = new Set([
  "session_meta",
  "turn_context",
  "response_item",
  "event_msg",
  "compacted",
  "inter_agent_communication",
  "token_usage_record",
]);
/** Items of the oldest logs, which stand bare in their lines. */
const BARE =
  /^(message|reasoning|function_call|function_call_output|local_shell_call|custom_tool_call(_output)?)$/;

const CUT_RECORD = /"type"\s*:\s*"(session_meta|turn_context|response_item|event_msg)",\s*"payload"\s*:\s*\{/;

export const codex: TraceFormat = {
  name: "codex",
  title: "Codex session (rollout JSONL, or a folder of them)",
  readsFolder: true,
  marks: ["timestamp", "type", "payload"],
  detect(sample) {
    const records = sampleRecords(sample);
    const known = records.filter((row) => RECORDS.has(scalarText(row["type"])) && isObject(row["payload"]));
    if (known.length > 0) return 1;
    if (records.some(isBareMeta) && records.some((row) => isBareItem(row) || row["record_type"] === "state"))
      return 0.9;
    // The first pretty-printed record can be longer than what detection sees.
    return records.length === 0 && hasRecordMarks(sample) && CUT_RECORD.test(sample.head) ? 0.9 : 0;
  },
  async read(path, options): Promise<Trace> {
    return (await isFolder(path)) ? readSessions(path, options) : readSession(path, options);
  },
};

function isBareMeta(row: JsonObject): boolean {
  return "id" in row && "timestamp" in row && "instructions" in row && row["type"] === undefined;
}

function isBareItem(row: JsonObject): boolean {
  return row["payload"] === undefined && BARE.test(scalarText(row["type"]));
}

/** A row of the oldest logs in the shape of the others. */
function wrapped(row: JsonObject): JsonObject {
  if (isBareMeta(row)) return { type: "session_meta", timestamp: row["timestamp"], payload: row };
  return isBareItem(row) ? { type: "response_item", payload: row } : row;
}

/** `threads` gets the threads of the file, for who joins them to others'; without it they are joined here. */
async function readSession(path: string, options: ReadOptions, threads?: CodexThread[]): Promise<Trace> {
  const first = await readRollout(path, options, { byAnswers: false, forkByTime: false });
  const { sessions } = first;
  const mode: CodexMode = {
    byAnswers: sessions.every(({ requests, copied }) => requests.length === 0 && copied === 0),
    forkByTime: sessions.some(({ isCopy }) => isCopy),
  };
  const rollout = mode.byAnswers || mode.forkByTime ? await readRollout(path, options, mode) : first;
  const own = rollout.sessions.map(({ thread }) => thread);
  threads?.push(...own);
  const unjoined = rollout.sessions.flatMap((session) => session.requests);
  const { requests, notes } =
    threads === undefined ? joinThreads(unjoined, own) : { requests: unjoined, notes: [] };
  const hasText = rollout.sessions.some((session) => session.hasText);
  const lacking = rollout.sessions.filter(({ lacksHistory }) => lacksHistory).length;
  const copied = rollout.sessions.reduce((sum, session) => sum + session.copied, 0);
  const placed = fromFirstArrival(requests, rollout.axis);
  const counts = mode.byAnswers ? "missing" : "recorded";
  return newTrace("codex", rollout.account, {
    ...placed,
    provenance: {
      arrivals: "inferred",
      order: "recorded",
      think_time: "inferred",
      prompt_text: hasText ? "recorded" : "missing",
      prompt_length: counts,
      prefix_sharing: hasText ? "recorded" : "missing",
      output_length: counts,
    },
    notes: [
      "requests are taken to have been sent when their last input was logged",
      "tool definitions are not in the log: prompts sent are shorter than the recorded ones",
      ...notes,
      ...(lacking > 0
        ? [`${lacking} sessions go on from a history in another file: the prompts sent lack it`]
        : []),
      ...(copied > 0
        ? [`${copied} requests are copies of the parent session's: they are history here, and not sent again`]
        : []),
      ...(mode.byAnswers ? ["the log reports no usage: every answer is a request of unknown length"] : []),
    ],
  });
}

interface Rollout {
  readonly sessions: readonly CodexSession[];
  readonly account: RowAccount;
  readonly axis: TimeAxis;
}

async function readRollout(path: string, options: ReadOptions, mode: CodexMode): Promise<Rollout> {
  const account = new RowAccount(path, options);
  const axis = new TimeAxis();
  const jobs = new Set<string>();
  const name = basename(options.name ?? path).replace(/\.jsonl?(\.gz)?$/, "");
  let session = new CodexSession(axis, name, mode, jobs);
  const sessions = [session];
  const close = (): void => {
    session.end();
    const unused = session.pending();
    if (unused > 0) account.unuse("item after the last request", unused);
  };
  await readSessionRecords(path, account, (raw) => {
    const row = wrapped(raw);
    if (row["record_type"] === "state") return "state";
    if (row["type"] === "session_meta" && isObject(row["payload"]) && session.isOther(row["payload"])) {
      close();
      session = new CodexSession(axis, scalarText(row["payload"]["id"]), mode, jobs);
      sessions.push(session);
    }
    return session.take(row);
  });
  close();
  return { sessions, account, axis };
}

/**
 * A folder, sessions by day; a file that lies there twice (live and archived) is read once, from the longer. A session may go on in a
 * second file, which begins otherwise.
 */
async function readSessions(folder: string, options: ReadOptions): Promise<Trace> {
  const { files } = await takeSample(folder, options.name ?? folder);
  const logs = files.filter((file) => /\.jsonl(\.gz)?$/.test(file));
  const longest = new Map<string, { readonly file: string; readonly lines: number }>();
  let [copies, lines] = [0, 0];
  for (const file of logs.length > 0 ? logs : files) {
    const head = await headOf(join(folder, file));
    const key = idOf(head.first) === "" ? file : head.first;
    const known = longest.get(key);
    if (known !== undefined) {
      copies++;
      lines += Math.min(known.lines, head.lines);
    }
    if (known === undefined || head.lines > known.lines) longest.set(key, { file, lines: head.lines });
  }
  const chosen = [...longest.values()].map(({ file }) => file).sort();
  const threads: CodexThread[] = [];
  const each = { ...codex, read: (path: string, more: ReadOptions) => readSession(path, more, threads) };
  const apart = await readFolder(folder, chosen, each, options);
  const hasAgents = threads.some(({ parent }) => parent !== "");
  const joined = hasAgents
    ? joinThreads([...apart.requests], threads)
    : { requests: apart.requests, notes: [] };
  const trace = { ...apart, requests: joined.requests, notes: [...apart.notes, ...joined.notes] };
  if (copies === 0) return trace;
  const { read, skipped } = trace.rows;
  return {
    ...trace,
    rows: { ...trace.rows, read: read + lines, skipped: { ...skipped, "row of a session's copy": lines } },
    notes: [...trace.notes, `${copies} files hold a session that a longer file holds: they are not read`],
  };
}

/** The first row of a file, and how many it has. */
async function headOf(path: string): Promise<{ readonly first: string; readonly lines: number }> {
  let first = "";
  let lines = 0;
  for await (const batch of readLineBatches(path)) {
    for (const { text } of batch) {
      if (text.trim() === "") continue;
      if (lines++ === 0) first = text;
    }
  }
  return { first, lines };
}

/** The session that a first row tells. */
function idOf(text: string): string {
  try {
    const row = parseLossless(text);
    const payload = isObject(row) ? (row["payload"] ?? row) : null;
    return isObject(payload) ? scalarText(payload["id"]) : "";
  } catch {
    return "";
  }
}
