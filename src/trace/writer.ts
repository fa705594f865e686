/** Writes our own format: a header line, then a request a line. What is written is read back equal. */
import { createWriteStream } from "node:fs";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import type { List } from "../core/list.ts";
import { plainText } from "../core/terminal-text.ts";
import type { Ms } from "../core/units.ts";
import { VERSION } from "../core/version.ts";
import { TRACE_VERSION } from "./formats/reprise.ts";
import { groupByJob, resolveJobs } from "./jobs.ts";
import type { Trace } from "./trace.ts";
import type { Recorded, TraceRequest } from "./trace-request.ts";

/** Times from here on are Unix times (1973 in ms): they are written as offsets from the first. */
const EPOCH_MS = 1e11;

/** The lines of a trace in our format, without line ends; the header first. */
export function* traceLines(trace: Trace): Generator<string> {
  const shift = shiftOf(trace.requests);
  yield JSON.stringify(headerOf(trace, shift));
  const parents = missingParents(trace.requests);
  for (const request of trace.requests) {
    yield JSON.stringify(requestRow(request, shift, parents.get(request.request_id) ?? request.after));
  }
}

/** Writes lines to a new file (`-` is standard output). An existing file is refused, never overwritten. */
export async function writeLines(path: string, lines: Iterable<string>): Promise<void> {
  const text = (function* () {
    for (const line of lines) yield `${line}\n`;
  })();
  try {
    if (path === "-") await pipeline(Readable.from(text), process.stdout, { end: false });
    else await pipeline(Readable.from(text), createWriteStream(path, { flags: "wx" }));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EEXIST") {
      throw new UserError(`${plainText(path)}: the file exists`, { hint: "name a new file", cause: error });
    }
    if (
      code === "ENOENT" ||
      code === "EACCES" ||
      code === "ENOSPC" ||
      code === "EISDIR" ||
      code === "ENOTDIR"
    )
      throw new UserError(`${plainText(path)}: cannot be written (${code})`, { cause: error });
    throw error;
  }
}

function headerOf(trace: Trace, shift: Ms): JsonObject {
  const own = trace.format === "reprise" ? trace.header : null;
  const epoch = trace.header?.["epoch_ms"];
  const origin = typeof epoch === "number" ? epoch + shift : shift >= EPOCH_MS ? shift : null;
  return {
    ...(own ?? {
      source: { format: trace.format, file: basename(trace.path) },
      written_by: `reprise ${VERSION}`,
      units: { time: "ms", length: "tokens" },
    }),
    ...(trace.header?.["anonymized"] === undefined ? {} : { anonymized: trace.header["anonymized"] }),
    reprise_trace: TRACE_VERSION,
    ...(origin === null ? {} : { epoch_ms: origin }),
    provenance: { ...trace.provenance },
    ...(trace.notes.length > 0 ? { notes: trace.notes } : {}),
  };
}

/** What is taken off every time: nothing, unless one is negative or they are Unix times. */
function shiftOf(requests: List<TraceRequest>): Ms {
  let first = Infinity;
  for (const { arrival_ms, recorded } of requests) {
    for (const time of [arrival_ms, recorded?.sent_ms, recorded?.first_token_ms, recorded?.end_ms]) {
      if (time != null && time < first) first = time;
    }
  }
  return first < 0 || (first >= EPOCH_MS && first < Infinity) ? first : 0;
}

/** A row needs an arrival or parents: jobs with a row that has neither get their parents spelled out. */
function missingParents(requests: List<TraceRequest>): ReadonlyMap<string, readonly string[]> {
  const parents = new Map<string, readonly string[]>();
  if (!requests.some(hasNeither)) return parents;
  for (const members of groupByJob(requests).values()) {
    if (!members.some(hasNeither)) continue;
    for (const { turns } of resolveJobs(members)) {
      for (const turn of turns) {
        const ids = turn.parents.map((at) => turns[at]?.request.request_id as string);
        parents.set(turn.request.request_id, ids);
      }
    }
  }
  return parents;
}

function hasNeither({ arrival_ms, after }: TraceRequest): boolean {
  return arrival_ms === null && after === null;
}

function requestRow(request: TraceRequest, shift: Ms, after: readonly string[] | null): JsonObject {
  const { prompt } = request;
  const row: Record<string, JsonObject[string]> = { request_id: request.request_id, job_id: request.job_id };
  const put = (key: string, value: JsonObject[string] | null): void => {
    if (value !== null && value !== undefined) row[key] = value;
  };
  put("turn", request.turn);
  put("arrival_ms", moved(request.arrival_ms, shift));
  put("after", after);
  put("think_ms", request.think_ms);
  put("tool", request.tool?.map(({ name, ms }) => ({ name: name === "" ? "tool" : name, ms })) ?? null);
  switch (prompt.kind) {
    case "text":
      put("prompt", prompt.text);
      break;
    case "ids":
      put("prompt_ids", prompt.ids);
      break;
    case "messages":
      put("messages", prompt.messages);
      put("tools", prompt.tools);
      break;
    case "length":
      put("prompt_tokens", prompt.tokens);
      put("hash_ids", prompt.hash_ids);
      put("block_tokens", prompt.hash_ids === null ? null : prompt.block_tokens);
      put("hash_scope", prompt.hash_ids === null ? null : prompt.hash_scope);
      break;
  }
  row["max_tokens"] = request.max_tokens;
  put("expected_output_tokens", request.expected_output_tokens);
  put("temperature", request.temperature);
  put("params", request.params);
  put("budget_ms", request.budget_ms);
  put("agent", request.agent);
  put("recorded", request.recorded === null ? null : recordedRow(request.recorded, shift));
  put("response_text", request.response_text ?? null);
  put("metadata", request.metadata);
  return row;
}

function recordedRow(recorded: Recorded, shift: Ms): JsonObject {
  const row: Record<string, number> = {};
  const put = (key: string, value: number | null): void => {
    if (value !== null) row[key] = value;
  };
  put("sent_ms", moved(recorded.sent_ms, shift));
  put("first_token_ms", moved(recorded.first_token_ms, shift));
  put("end_ms", moved(recorded.end_ms, shift));
  put("prompt_tokens", recorded.prompt_tokens);
  put("output_tokens", recorded.output_tokens);
  put("cached_tokens", recorded.cached_tokens);
  return row;
}

function moved(time: Ms | null, shift: Ms): Ms | null {
  return time === null ? null : time - shift;
}
