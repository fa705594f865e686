/**
 * TensorRT-LLM scaffolding traces: JSON `{trace_id, events[]}`, lengths only. Events of one branch follow each other;
 * `parallel_start` opens branches that run side by side and `parallel_end` joins them; tool calls are waits.
 */
import { basename } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import { readJsonDocument } from "../document.ts";
import { arrayAt, handleDocument, handleItem } from "../document-rows.ts";
import type { TraceFormat } from "../format.ts";
import { newTrace } from "../new-trace.ts";
import { isObject, scalarText } from "../openai-messages.ts";
import { RowAccount } from "../row-account.ts";
import { optionalId, stringField } from "../row-fields.ts";
import type { TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";
import { ScaffoldingWalk } from "./trtllm-walk.ts";

const EVENTS = new Set(["message", "tool_call", "parallel_start", "parallel_end", "drop_kv_cache"]);

export const trtllmReplay: TraceFormat = {
  name: "trtllm-replay",
  title: "TensorRT-LLM scaffolding trace (JSON)",
  marks: ["trace_id", "events"],
  detect(sample) {
    if (!isObject(sample.document) || !Array.isArray(sample.document["events"])) return 0;
    const first: unknown = sample.document["events"][0];
    return isObject(first) && EVENTS.has(scalarText(first["event_type"])) ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const document = await readJsonDocument(path, options);
    const notes: string[] = [];
    let requests: readonly TraceRequest[] = [];
    handleDocument(account, document, (whole) => {
      const name = basename(options.name ?? path).replace(/\.json(\.gz)?$/, "");
      const walk = new ScaffoldingWalk(optionalId(whole, "trace_id") ?? name);
      walkEvents(walk, arrayAt(whole["events"], "events"), "events", account);
      requests = walk.requests;
      const open = walk.openBranches();
      if (open > 0)
        notes.push(`${open} parallel_start without parallel_end: their branches are joined by nobody`);
    });
    if ((account.counts().skipped["drop_kv_cache"] ?? 0) > 0)
      notes.push("drop_kv_cache marks are kept in the metadata of the request before them, not replayed");
    return newTrace("trtllm-replay", account, {
      requests,
      provenance: {
        order: "recorded",
        think_time: "recorded",
        prompt_length: "recorded",
        prefix_sharing: "inferred",
        output_length: "recorded",
      },
      notes,
    });
  },
};

function walkEvents(
  walk: ScaffoldingWalk,
  events: readonly unknown[],
  where: string,
  account: RowAccount,
): void {
  events.forEach((event, at) => {
    const place = `${where}[${at}]`;
    handleItem(account, place, event, (row) => {
      const kind = stringField(row, "event_type");
      switch (kind) {
        case "message":
          walk.message(row);
          return undefined;
        case "tool_call":
          walk.toolCall(row);
          return kind;
        case "parallel_start":
          walk.fork(row, (children) => walkChildren(walk, row, children, place, account));
          return kind;
        case "parallel_end":
          walk.join(row);
          return kind;
        case "drop_kv_cache":
          walk.drop(row);
          return kind;
        default:
          return `event ${kind}`;
      }
    });
  });
}

/** Children of a `parallel_start` run side by side, one branch each. */
function walkChildren(
  walk: ScaffoldingWalk,
  row: JsonObject,
  children: readonly unknown[],
  place: string,
  account: RowAccount,
): void {
  const path = Array.isArray(row["branch_path"]) ? row["branch_path"] : [];
  children.forEach((child, at) => {
    const inBranch = isObject(child) ? { ...child, branch_path: [...path, at] } : child;
    walkEvents(walk, [inBranch], `${place}.children[${at}]`, account);
  });
}
