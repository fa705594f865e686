/** For tests of trace formats: a trace written to a temporary file and read back, and its links in a form that reads well. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { TraceFormat } from "../../src/trace/format.ts";
import { resolveJobs } from "../../src/trace/jobs.ts";
import type { Trace } from "../../src/trace/trace.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-format-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Reads `content` (text, or a value that becomes JSON) as a file called `name`. */
export function readWritten(
  format: TraceFormat,
  content: unknown,
  options: { readonly skipBad?: boolean; readonly name?: string } = {},
): Promise<Trace> {
  const path = join(folder, options.name ?? "trace.json");
  writeFileSync(
    path,
    typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content),
  );
  return format.read(path, { skipBad: options.skipBad ?? false });
}

/** One JSON value a line. */
export function jsonl(rows: readonly unknown[]): string {
  return rows.map((row) => JSON.stringify(row)).join("\n");
}

/** id → [ids it waits for, think time], over all jobs, as the plan will see them. */
export function linksOf(trace: Trace): Record<string, [string[], number | null]> {
  return Object.fromEntries(
    resolveJobs(trace.requests).flatMap(({ turns }) =>
      turns.map(({ request, parents, think_ms }) => [
        request.request_id,
        [parents.map((at) => turns[at]?.request.request_id ?? "?").sort(), think_ms],
      ]),
    ),
  );
}

/** Whether every row is accounted for. */
export function rowsAddUp({ rows }: Trace): boolean {
  return rows.read === rows.used + Object.values(rows.skipped).reduce((a, b) => a + b, 0) + rows.refused;
}

/** Role and content of each message of a request's prompt; the prompt's kind where it is of another. */
export function messagesOf(trace: Trace, at: number): unknown {
  const prompt = trace.requests.at(at)?.prompt;
  return prompt?.kind === "messages"
    ? prompt.messages.map(({ role, content }) => [role, content])
    : prompt?.kind;
}
