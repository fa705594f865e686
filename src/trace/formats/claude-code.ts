/**
 * Claude Code session logs (JSONL). The log stamps answers, not requests: a request is taken to have been sent when its last
 * input (message or tool result) was logged. System prompt and tool definitions are not in the log.
 */
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { newProvenance } from "../new-request.ts";
import { RowAccount, sumRows } from "../row-account.ts";
import { isFolder } from "../sample.ts";
import { readSessionRecords, sampleRecords } from "../session-records.ts";
import type { Trace } from "../trace.ts";
import { sessionFiles } from "./claude-code-files.ts";
import { ClaudeCodeLog } from "./claude-code-log.ts";
import { turnsOfLog } from "./claude-code-turns.ts";

export const claudeCode: TraceFormat = {
  name: "claude-code",
  title: "Claude Code session (JSONL with its sub-agents' files, or a folder of sessions)",
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
    const files = await sessionFiles(path, options.name ?? path);
    const axis = new TimeAxis();
    const log = new ClaudeCodeLog(axis);
    const accounts: RowAccount[] = [];
    for (const { path: file, name, session, agent } of files) {
      const account = new RowAccount(file, { ...options, name });
      accounts.push(account);
      await readSessionRecords(file, account, (row, line) =>
        log.take(row, { line, session, agent, account }),
      );
    }
    const { requests, unused, side_agents, guessed, bare } = turnsOfLog(log);
    for (const { place } of bare)
      place.account.revoke(place.line, "an answer without usage or any message before it");
    const placed = fromFirstArrival(requests, axis);
    const rows = sumRows(accounts.map((account) => account.counts()));
    const notes = [
      "requests are taken to have been sent when their last input was logged; the log stamps answers only",
      "system prompt and tool definitions are not in the log: prompts sent are shorter than the recorded ones",
    ];
    if (side_agents > 0)
      notes.push(
        `${side_agents} sub-agents: who waited for them is inferred${guessed > 0 ? `; ${guessed} are placed by time only, nothing tells who called them` : ""}`,
      );
    const besides = files.length - 1;
    if (besides > 0 && !(await isFolder(path)))
      notes.push(`${besides} files of sub-agents beside the session were read with it`);
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
