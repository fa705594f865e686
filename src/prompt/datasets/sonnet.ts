/** `sonnet`: prompts of lines of a poem, the first of them the same in all. */
import { UserError } from "../../core/failure.ts";
import { readText } from "../../core/lines.ts";
import { type Dataset, type DatasetTurn, makeTurn, pathOf } from "./dataset.ts";

const TASK = "Choose as many of the following lines as you like:\n";
/** A prompt that came out too long is drawn again; after this many the lengths asked for do not fit the poem. */
const MAX_TRIES = 1000;

export const sonnet: Dataset = {
  name: "sonnet",
  title: "lines of a text file: --sonnet-input-len, -output-len, -prefix-len",
  needsPath: true,
  load: async (context) => {
    const path = pathOf(context, "sonnet");
    const { sonnetInputLen: input, sonnetPrefixLen: prefix, sonnetOutputLen: output } = context.options;
    const lines = (await readText(path)).split(/\r?\n/).filter((line) => line.trim() !== "");
    if (lines.length === 0) throw new UserError(`${path}: no line in it`);
    if (prefix > input)
      throw new UserError(`--sonnet-prefix-len ${prefix} is above --sonnet-input-len ${input}`);
    const task = await context.tokenizer.count(TASK);
    if (input <= task)
      throw new UserError(`--sonnet-input-len ${input} is not above the ${task} tokens of the task itself`);
    const mean = (await context.tokenizer.count(`${lines.join("\n")}\n`)) / lines.length;
    const all = Math.max(1, Math.round((input - task) / mean));
    const shared = Math.min(all, lines.length, Math.max(0, Math.round((prefix - task) / mean)));
    const rng = context.rng.fork("sonnet lines");
    const turns: DatasetTurn[] = [];
    let tries = 0;
    while (turns.length < context.options.numPrompts) {
      const own = Array.from({ length: all - shared }, () => rng.pick(lines));
      const text = `${TASK}${[...lines.slice(0, shared), ...own].join("\n")}\n`;
      const promptTokens = await context.tokenizer.count(text);
      if (promptTokens <= input) {
        turns.push(makeTurn(context, { prompt: { kind: "text", text }, promptTokens, outputTokens: output }));
        tries = 0;
      } else if (++tries > MAX_TRIES) {
        throw new UserError(`${path}: no choice of lines fits into --sonnet-input-len ${input}`, {
          hint: "ask for longer prompts, or name a text with shorter lines",
        });
      }
    }
    return turns;
  },
};
