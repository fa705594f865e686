/** `EBChat`: JSONL of message lists; the whole list is the context, history included. */
import { z } from "zod";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { type Dataset, makeTurn, pathOf, takeRows } from "./dataset.ts";
import { readJsonRows } from "./json-rows.ts";

const DEFAULT_MAX_TOKENS = 12_288;

const schema = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  max_tokens: z.number().int().min(1).nullish(),
  response_format: z.json().optional(),
});

export const ebChat: Dataset = {
  name: "EBChat",
  title: `JSONL: messages, max_tokens (${DEFAULT_MAX_TOKENS}), response_format`,
  needsPath: true,
  load: async (context) => {
    const path = pathOf(context, "EBChat");
    return takeRows(await readJsonRows(path, schema), context, path).map(({ value }) => {
      const format = value.response_format as JsonValue | undefined;
      return makeTurn(context, {
        prompt: {
          kind: "messages",
          messages: value.messages as unknown as readonly JsonObject[],
          tools: null,
        },
        promptTokens: null,
        outputTokens: value.max_tokens ?? DEFAULT_MAX_TOKENS,
        params: format == null ? null : { response_format: format },
      });
    });
  },
};
