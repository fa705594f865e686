/** `custom`: JSONL with `prompt` and, where the row tells it, `output_tokens`. */
import { z } from "zod";
import { type Dataset, makeTurn, pathOf, takeRows } from "./dataset.ts";
import { readJsonRows } from "./json-rows.ts";

const schema = z.looseObject({
  prompt: z.string(),
  output_tokens: z.number().int().min(1).nullish(),
});

export const custom: Dataset = {
  name: "custom",
  title: "JSONL: prompt, output_tokens? (else --custom-output-len)",
  needsPath: true,
  load: async (context) => {
    const path = pathOf(context, "custom");
    const rows = takeRows(await readJsonRows(path, schema), context, path);
    const turns = [];
    for (const { value } of rows) {
      turns.push(
        makeTurn(context, {
          prompt: { kind: "text", text: value.prompt },
          promptTokens: await context.tokenizer.count(value.prompt),
          outputTokens: value.output_tokens ?? context.options.customOutputLen,
        }),
      );
    }
    return turns;
  },
};
