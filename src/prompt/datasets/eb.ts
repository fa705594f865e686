/** `EB`: JSONL of texts with the sampling parameters they were asked with. */
import { z } from "zod";
import type { JsonObject } from "../../core/json.ts";
import { type Dataset, makeTurn, pathOf, takeRows } from "./dataset.ts";
import { readJsonRows } from "./json-rows.ts";

const schema = z.looseObject({
  text: z.string(),
  temperature: z.number().nullish(),
  penalty_score: z.number().nullish(),
  frequency_score: z.number().nullish(),
  presence_score: z.number().nullish(),
  topp: z.number().nullish(),
  input_token_num: z.number().int().min(0).nullish(),
  max_dec_len: z.number().int().min(1).nullish(),
});

/** A row's name of a parameter, and the body's. */
const PARAMS = [
  ["penalty_score", "repetition_penalty"],
  ["frequency_score", "frequency_penalty"],
  ["presence_score", "presence_penalty"],
  ["topp", "top_p"],
] as const;

export const eb: Dataset = {
  name: "EB",
  title:
    "JSONL: text, temperature, penalty_score, frequency_score, presence_score, topp, input_token_num, max_dec_len",
  needsPath: true,
  load: async (context) => {
    const path = pathOf(context, "EB");
    return takeRows(await readJsonRows(path, schema), context, path).map(({ value }) => {
      const params: Record<string, JsonObject[string]> = {};
      for (const [theirs, body] of PARAMS) {
        const given = value[theirs];
        if (given != null) params[body] = given;
      }
      return makeTurn(context, {
        prompt: { kind: "text", text: value.text },
        promptTokens: value.input_token_num ?? null,
        outputTokens: value.max_dec_len ?? null,
        temperature: value.temperature ?? null,
        params: Object.keys(params).length > 0 ? params : null,
      });
    });
  },
};
