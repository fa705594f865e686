/** `sharegpt`: the first question of each conversation; the length of its answer is the output's. */
import { z } from "zod";
import { UserError } from "../../core/failure.ts";
import { readText } from "../../core/lines.ts";
import type { Tokens } from "../../core/units.ts";
import { type Dataset, type DatasetTurn, fillUp, makeTurn, pathOf } from "./dataset.ts";

/** Bounds of the tools this dataset comes from: shorter ones measure nothing, longer ones do not fit old models. */
const MIN_TOKENS = 4;
const MAX_PROMPT_TOKENS = 1024;
const MAX_TOTAL_TOKENS = 2048;

const turnSchema = z.looseObject({ value: z.string() });
const schema = z.array(z.looseObject({ conversations: z.array(turnSchema).optional() }));

export const sharegpt: Dataset = {
  name: "sharegpt",
  title: "JSON array of conversations; --sharegpt-output-len fixes the output length",
  needsPath: true,
  load: async (context) => {
    const path = pathOf(context, "sharegpt");
    const pairs = await readPairs(path);
    const ordered = context.options.shuffle ? context.rng.fork("shuffle").shuffle(pairs) : pairs;
    const turns: DatasetTurn[] = [];
    let left = 0;
    for (const [question, answer] of ordered) {
      if (turns.length === context.options.numPrompts) break;
      const promptTokens = await context.tokenizer.count(question);
      const outputTokens: Tokens =
        context.options.sharegptOutputLen ?? (await context.tokenizer.count(answer));
      const fixed = context.options.sharegptOutputLen !== null;
      const fits =
        promptTokens >= MIN_TOKENS &&
        (fixed || outputTokens >= MIN_TOKENS) &&
        promptTokens <= MAX_PROMPT_TOKENS &&
        promptTokens + outputTokens <= MAX_TOTAL_TOKENS;
      if (!fits) left++;
      else
        turns.push(
          makeTurn(context, { prompt: { kind: "text", text: question }, promptTokens, outputTokens }),
        );
    }
    if (left > 0)
      context.note(
        `${path}: ${left} conversations left out (below ${MIN_TOKENS} tokens, prompt above ${MAX_PROMPT_TOKENS}, or both above ${MAX_TOTAL_TOKENS})`,
      );
    if (turns.length === 0) throw new UserError(`${path}: no conversation of a usable length`);
    return fillUp(turns, context, path);
  },
};

async function readPairs(path: string): Promise<[string, string][]> {
  let raw: unknown;
  try {
    raw = JSON.parse(await readText(path));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${path}: not a JSON array (${(error as Error).message})`);
  }
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
    throw new UserError(`${path}: ${where}${issue?.message ?? "not ShareGPT"}`);
  }
  return parsed.data.flatMap(({ conversations }): [string, string][] => {
    const [question, answer] = conversations ?? [];
    return question === undefined || answer === undefined ? [] : [[question.value, answer.value]];
  });
}
