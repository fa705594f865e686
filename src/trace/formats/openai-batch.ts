/**
 * OpenAI batch files, JSONL; one job a request, no times. Input: `{custom_id, method, url, body}`, body of a completion, a chat or a
 * response. Output: `{custom_id, response: {status_code, body}}`, which tells lengths and no prompts.
 */
import type { JsonObject } from "../../core/json.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
import { isObject, textOf, toOpenAiMessages, toOpenAiTools } from "../openai-messages.ts";
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
import { completionUsage } from "./litellm-usage.ts";

export const openaiBatch: TraceFormat = {
  name: "openai-batch",
  title: "OpenAI batch JSONL: custom_id, body (or, of its output, response)",
  marks: ["custom_id", "body"],
  detect: (sample: Sample) =>
    mostRowsHave(sample, "custom_id", "body") || mostRowsHave(sample, "custom_id", "response", "error")
      ? 1
      : 0,
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    const ids = new Set<string>();
    let outputs = 0;
    await readJsonlRows(path, account, (row) => {
      const id = idField(row, "custom_id");
      if (ids.has(id)) throw new BadRow(`custom_id "${id}" occurred before`);
      if (row["body"] === undefined && "response" in row) {
        const answered = answeredRequest(id, row["response"]);
        if (typeof answered === "string") return answered;
        ids.add(id);
        requests.push(answered);
        outputs++;
        return undefined;
      }
      const body = chatBody(objectField(row, "body"));
      if (body["messages"] == null && body["prompt"] == null) return "neither chat nor completion";
      const request = bodyRequest(id, body);
      ids.add(id);
      requests.push(request);
      return undefined;
    });
    return newTrace("openai-batch", account, {
      requests,
      provenance:
        outputs > 0
          ? { prompt_length: "recorded", output_length: "recorded" }
          : { prompt_text: "recorded", prefix_sharing: "recorded", sampling: "recorded" },
      notes:
        outputs > 0
          ? ["a batch's output: it tells lengths, and neither prompts nor times"]
          : ["no times and no output lengths in the file"],
    });
  },
};

/** Fields of the Responses API that a chat does not know. */
const RESPONSE_ONLY = new Set(
  "input instructions max_output_tokens text reasoning previous_response_id conversation store include truncation background prompt".split(
    " ",
  ),
);

/** The Responses API's body as that of a chat; any other as it is. */
function chatBody(body: JsonObject): JsonObject {
  const { input, instructions, max_output_tokens } = body;
  if (input == null || body["messages"] != null || typeof body["prompt"] === "string") return body;
  if (instructions === undefined && max_output_tokens === undefined && !isChat(input)) return body;
  const rest = Object.fromEntries(Object.entries(body).filter(([key]) => !RESPONSE_ONLY.has(key)));
  const system = textOf(instructions);
  return {
    ...rest,
    messages: [...(system === "" ? [] : [{ role: "system", content: system }]), ...toOpenAiMessages(input)],
    ...(max_output_tokens == null ? {} : { max_completion_tokens: max_output_tokens }),
    ...(rest["tools"] == null ? {} : { tools: toOpenAiTools(rest["tools"]) }),
  };
}

/** Embeddings take an input, too: texts without roles. */
function isChat(input: unknown): boolean {
  return Array.isArray(input) && input.some((item) => isObject(item) && ("role" in item || "type" in item));
}

/** A request of known lengths, or why there is none. */
function answeredRequest(id: string, response: unknown): TraceRequest | string {
  const body = isObject(response) && isObject(response["body"]) ? response["body"] : null;
  if (body === null || (isObject(response) && response["status_code"] !== 200)) return "failed when recorded";
  const usage = completionUsage(body["usage"]);
  if (!Array.isArray(body["choices"]) && !Array.isArray(body["output"])) return "neither chat nor completion";
  if (usage.prompt_tokens === null || usage.prompt_tokens === 0) return "answer without usage";
  return newRequest({
    request_id: id,
    job_id: id,
    after: [],
    prompt: lengthPrompt(usage.prompt_tokens),
    recorded: newRecorded(usage),
    metadata: typeof body["model"] === "string" ? { model: body["model"] } : null,
  });
}

/** A request body as a job of one turn. */
export function bodyRequest(id: string, body: JsonObject): TraceRequest {
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
