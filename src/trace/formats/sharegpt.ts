/**
 * ShareGPT: a JSON array (or JSONL) of `{id, conversations[{from, value}]}`, and vLLM's multi-turn `{id, messages}`. Every
 * answer is a turn; a last question without an answer is one too. No times, no token counts.
 */
import type { JsonObject } from "../../core/json.ts";
import { turnsOfConversation } from "../conversation-turns.ts";
import { readJsonDocument } from "../document.ts";
import { handleItem } from "../document-rows.ts";
import type { ReadOptions, Sample, TraceFormat } from "../format.ts";
import { newTrace } from "../new-trace.ts";
import { isObject, toOpenAiTools } from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { objectsField, optionalId, stringField } from "../row-fields.ts";
import { kindOf, readJsonlRows } from "../row-reader.ts";
import { firstMark, shareOfRows } from "../sample.ts";
import type { Trace } from "../trace.ts";
import type { TraceRequest } from "../trace-request.ts";
import { unusedName } from "../unused-name.ts";
import { decodeJson } from "./otel-messages.ts";

const ROLES: Readonly<Record<string, string>> = {
  human: "user",
  user: "user",
  gpt: "assistant",
  assistant: "assistant",
  chatgpt: "assistant",
  bing: "assistant",
  bard: "assistant",
  ai: "assistant",
  model: "assistant",
  function_call: "assistant",
  system: "system",
  tool: "tool",
  function: "tool",
  function_response: "tool",
  observation: "tool",
};

export const sharegpt: TraceFormat = {
  name: "sharegpt",
  title: "ShareGPT JSON: id, conversations[{from, value}]; or id, messages",
  marks: ["id", "conversations"],
  detect(sample: Sample): number {
    const first: unknown = Array.isArray(sample.document) ? sample.document[0] : undefined;
    if (first !== undefined) return looksRight(first) ? 0.9 : saysOnly(first) ? 0.4 : 0;
    if (shareOfRows(sample, looksRight) > 0.5) return 0.85;
    return shareOfRows(sample, saysOnly) > 0.5 ? 0.4 : 0;
  },
  async read(path: string, options: ReadOptions): Promise<Trace> {
    const account = new RowAccount(path, options);
    const requests: TraceRequest[] = [];
    const jobs = new Set<string>();
    const take = (row: JsonObject, at: number): string | undefined => {
      const turns = conversationTurns(row, at, jobs);
      if (turns.length === 0) return "conversation without a question";
      requests.push(...turns);
      return undefined;
    };
    if ((await firstMark(path)) !== "[") {
      await readJsonlRows(path, account, take);
    } else {
      const document = await readJsonDocument(path, options);
      if (Array.isArray(document))
        document.forEach((item: unknown, at) => handleItem(account, `[${at}]`, item, (row) => take(row, at)));
      else account.refuse(null, `must be an array of conversations, not ${kindOf(document)}`);
    }
    return newTrace("sharegpt", account, {
      requests,
      provenance: { order: "recorded", prompt_text: "recorded", prefix_sharing: "recorded" },
      notes: ["no times and no token counts in the file: think times are unknown, output lengths free"],
    });
  },
};

function looksRight(row: unknown): boolean {
  if (typeof row !== "object" || row === null) return false;
  if ("conversations" in row) return Array.isArray(row.conversations);
  return (
    "id" in row &&
    "messages" in row &&
    Array.isArray(row.messages) &&
    !("startTime" in row) &&
    !("response" in row)
  );
}

/** Rows of fine-tuning data: messages without an id. */
function saysOnly(row: unknown): boolean {
  return (
    isObject(row) &&
    Array.isArray(row["messages"]) &&
    row["messages"].length > 0 &&
    row["messages"].every((message) => isObject(message) && typeof message["role"] === "string") &&
    !["request_id", "response", "startTime", "steps", "body", "history", "max_tokens"].some(
      (key) => key in row,
    )
  );
}

function conversationTurns(row: JsonObject, at: number, jobs: Set<string>): TraceRequest[] {
  const id = optionalId(row, "id") ?? `conversation-${at}`;
  const messages =
    row["conversations"] == null
      ? objectsField(row, "messages")
      : objectsField(row, "conversations").map((part) => {
          const from = stringField(part, part["from"] === undefined ? "role" : "from");
          const role = ROLES[from.toLowerCase()];
          if (role === undefined)
            throw new BadRow(`"from" is ${JSON.stringify(from)}, which is no known role`);
          const value = part["value"] ?? part["content"];
          if (typeof value !== "string") throw new BadRow('"value" must be a string');
          return { role, content: value };
        });
  // Cut conversations go under one id in the public files.
  const job_id = unusedName(id, jobs, "@");
  // Public files hold cut conversations: an answer before the first question is history that no model saw.
  const question = messages.findIndex((message) => message["role"] === "user");
  if (question === -1) return [];
  const system = messages.slice(0, question).filter((message) => message["role"] === "system");
  const whole = [...system, ...messages.slice(question)];
  if (whole.at(-1)?.["role"] === "user") whole.push({ role: "assistant", content: "" });
  return turnsOfConversation({ job_id, messages: whole, tools: toolsOf(row) });
}

/** Definitions as they are, or (LLaMA-Factory) as their JSON text. */
function toolsOf(row: JsonObject): JsonObject[] | null {
  const tools = decodeJson(row["tools"]);
  if (tools == null || tools === "") return null;
  if (!Array.isArray(tools)) throw new BadRow(`"tools" must be an array, not ${kindOf(tools)}`);
  return toOpenAiTools(tools);
}
