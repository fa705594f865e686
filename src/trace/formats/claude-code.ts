/**
 * Claude Code session logs (JSONL). The log stamps answers, not requests: a request is taken to have been sent when its last
 * input (message or tool result) was logged. System prompt and tool definitions are not in the log.
 */
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { newProvenance } from "../new-request.ts";
import { RowAccount } from "../row-account.ts";
import { readSessionRecords, sampleRecords } from "../session-records.ts";
import { traceFiles } from "../sample.ts";
import type { RowCounts, Trace } from "../trace.ts";
import { ClaudeCodeLog } from "./claude-code-log.ts";
import { turnsOfLog } from "./claude-code-turns.ts";

export const claudeCode: TraceFormat = {
  name: "claude-code",
  title: "Claude Code session (JSONL, or a folder with its sub-agents' files)",
  readsFolder: true,
  marks: ["type", "uuid", "parentUuid", "sessionId", "isSidechain", "message"],
  detect(sample) {
    const records = sampleRecords(sample);
    const talks = records.filter(
      (row) =>
        (row["type"] === "user" || row["type"] === "assistant") &&
        "message" in row &&
        "sessionId" in row &&
        "uuid" in row,
    );
    if (talks.length > 0) return 1;
    const marks = records.filter(
      (row) =>
        "sessionId" in row &&
        ("leafUuid" in row ||
          "parentUuid" in row ||
          row["type"] === "file-history-snapshot" ||
          row["type"] === "permission-mode"),
    );
    return marks.length > 0 ? 0.6 : 0;
  },
  async read(path, options): Promise<Trace> {
    const isFolder = (await stat(path)).isDirectory();
    const files = isFolder ? logFiles(await traceFiles(path)) : [""];
    const axis = new TimeAxis();
    const log = new ClaudeCodeLog(axis);
    const accounts: RowAccount[] = [];
    for (const name of files) {
      const file = name === "" ? (options.name ?? path) : join(options.name ?? path, name);
      const account = new RowAccount(path, { ...options, name: file });
      accounts.push(account);
      const session = basename(file).replace(/\.jsonl?(\.gz)?$/, "");
      await readSessionRecords(join(path, name), account, (row, line) =>
        log.take(row, { line, session, account }),
      );
    }
    const { requests, unused, side_agents, bare } = turnsOfLog(log);
    for (const { place } of bare)
      place.account.revoke(place.line, "an answer without usage or any message before it");
    const placed = fromFirstArrival(requests, axis);
    const rows = sumRows(accounts.map((account) => account.counts()));
    const notes = [
      "requests are taken to have been sent when their last input was logged; the log stamps answers only",
      "system prompt and tool definitions are not in the log: prompts sent are shorter than the recorded ones",
    ];
    if (side_agents > 0) notes.push(`${side_agents} sub-agents: who waited for them is inferred`);
    return {
      format: "claude-code",
      path,
      header: placed.header,
      requests: placed.requests,
      rows:
        unused === 0
          ? rows
          : {
              ...rows,
              used: rows.used - unused,
              skipped: { ...rows.skipped, "message that no request held": unused },
            },
      faults: accounts.flatMap(({ faults }) => faults),
      provenance: newProvenance({
        arrivals: "inferred",
        order: "recorded",
        think_time: "inferred",
        prompt_text: "recorded",
        prompt_length: "recorded",
        prefix_sharing: "recorded",
        output_length: "recorded",
      }),
      notes,
    };
  },
};

function sumRows(all: readonly RowCounts[]): RowCounts {
  const skipped: Record<string, number> = {};
  for (const counts of all)
    for (const [kind, rows] of Object.entries(counts.skipped)) skipped[kind] = (skipped[kind] ?? 0) + rows;
  const sum = (key: "read" | "used" | "refused"): number =>
    all.reduce((total, counts) => total + counts[key], 0);
  return { read: sum("read"), used: sum("used"), skipped, refused: sum("refused") };
}

/** Beside its `.jsonl` logs a session's folder holds other JSON; where there are no such logs, the others must be they. */
function logFiles(names: readonly string[]): readonly string[] {
  const logs = names.filter((name) => /\.jsonl(\.gz)?$/.test(name));
  return logs.length > 0 ? logs : names;
}
