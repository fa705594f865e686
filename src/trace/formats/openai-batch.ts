/** OpenAI batch input, JSONL: `{custom_id, method, url, body}`; one job a request, no times. */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { newProvenance, newRequest } from "../new-request.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import {
  idField,
  objectField,
  objectsField,
  optionalInteger,
  optionalNumber,
  optionalObjects,
} from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TracePrompt, TraceRequest } from "../trace-request.ts";

export const openaiBatch: TraceFormat = {
  name: "openai-batch",
  title: "OpenAI batch JSONL: custom_id, body",
  marks: ["custom_id", "body"],
  detect: (sample: Sample) => (mostRowsHave(sample, "custom_id", "body") ? 1 : 0),
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    const ids = new Set<string>();
    await readJsonlRows(path, account, (row) => {
      const id = idField(row, "custom_id");
      if (ids.has(id)) throw new BadRow(`custom_id "${id}" occurred before`);
      const body = objectField(row, "body");
      if (body["messages"] == null && body["prompt"] == null) return "neither chat nor completion";
      const request = bodyRequest(id, body);
      ids.add(id);
      requests.push(request);
      return undefined;
    });
    return {
      format: "openai-batch",
      path,
      header: null,
      requests,
      rows: account.counts(),
      faults: account.faults,
      provenance: newProvenance({
        prompt_text: "recorded",
        prefix_sharing: "recorded",
        sampling: "recorded",
      }),
      notes: ["no times and no output lengths in the file"],
    };
  },
};

function bodyRequest(id: string, body: JsonObject): TraceRequest {
  const { messages, prompt, tools, model, max_tokens, max_completion_tokens, temperature, ...rest } = body;
  // How a reply comes back is the client's business.
  const { stream: _stream, stream_options: _options, ...params } = rest;
  void [messages, prompt, tools, max_tokens, max_completion_tokens, temperature];
  return newRequest({
    request_id: id,
    job_id: id,
    after: [],
    prompt: bodyPrompt(body),
    max_tokens: optionalInteger(body, "max_completion_tokens", 1) ?? optionalInteger(body, "max_tokens", 1),
    temperature: optionalNumber(body, "temperature"),
    params: Object.keys(params).length > 0 ? params : null,
    metadata: typeof model === "string" ? { model } : null,
  });
}

/** The prompt of an OpenAI request body: messages, a text, or token ids. */
export function bodyPrompt(body: JsonObject): TracePrompt {
  if (body["messages"] != null) {
    const messages = objectsField(body, "messages");
    if (messages.length === 0) throw new BadRow('"messages" is empty');
    return { kind: "messages", messages, tools: optionalObjects(body, "tools") };
  }
  const prompt: unknown = body["prompt"];
  if (typeof prompt === "string" && prompt !== "") return { kind: "text", text: prompt };
  if (Array.isArray(prompt) && prompt.length === 1 && typeof prompt[0] === "string" && prompt[0] !== "")
    return { kind: "text", text: prompt[0] };
  if (
    Array.isArray(prompt) &&
    prompt.length > 0 &&
    prompt.every((id): id is number => Number.isSafeInteger(id))
  )
    return { kind: "ids", ids: prompt };
  throw new BadRow('"prompt" must be one text or an array of token ids');
}
