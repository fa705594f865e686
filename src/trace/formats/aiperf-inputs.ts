/**
 * The `inputs.json` that AIPerf (and GenAI-Perf before it) leaves beside its results: `{data: [{session_id, payloads: [body, ...]}]}`, a
 * request body a turn, as it was sent.
 */
import type { JsonObject } from "../../core/json.ts";
import { arrayAt, handleItem } from "../document-rows.ts";
import { isObject } from "../openai-messages.ts";
import { BadRow, type RowAccount } from "../row-account.ts";
import { optionalId } from "../row-fields.ts";
import type { TraceRequest } from "../trace-request.ts";
import { unusedName } from "../unused-name.ts";
import { bodyRequest } from "./openai-batch.ts";

export function isInputsFile(document: unknown): document is JsonObject {
  return isObject(document) && Array.isArray(document["data"]) && payloadsOf(document["data"][0]) !== null;
}

export function inputRequests(document: JsonObject, account: RowAccount): TraceRequest[] {
  const requests: TraceRequest[] = [];
  const jobs = new Set<string>();
  arrayAt(document["data"], "data").forEach((session, at) => {
    const payloads = payloadsOf(session);
    if (!isObject(session) || payloads === null) {
      account.refuse(null, `data[${at}]: "payloads" must be an array of request bodies`);
      return;
    }
    const job_id = unusedName(optionalId(session, "session_id") ?? `session-${at}`, jobs, "@");
    let before: string | null = null;
    payloads.forEach((payload, turn) =>
      handleItem(account, `data[${at}].payloads[${turn}]`, payload, (body) => {
        if (body["messages"] == null && body["prompt"] == null)
          throw new BadRow('neither "messages" nor "prompt"');
        const request_id = `${job_id}/${turn}`;
        requests.push({
          ...bodyRequest(request_id, body),
          job_id,
          turn,
          after: before === null ? [] : [before],
        });
        before = request_id;
        return undefined;
      }),
    );
  });
  return requests;
}

function payloadsOf(session: unknown): readonly unknown[] | null {
  if (!isObject(session)) return null;
  const payloads = session["payloads"] ?? session["payload"];
  return Array.isArray(payloads) && payloads.every(isObject) ? payloads : null;
}
