/** `burstgpt`: lengths of recorded requests; their text is made up. */
import { UserError } from "../../core/failure.ts";
import { readText } from "../../core/lines.ts";
import { type Dataset, makeTurn, pathOf, takeRows } from "./dataset.ts";

const MODEL = "GPT-4";

export const burstgpt: Dataset = {
  name: "burstgpt",
  title: "BurstGPT CSV: Request tokens and Response tokens of its GPT-4 rows",
  needsPath: true,
  load: async (context) => {
    const path = pathOf(context, "burstgpt");
    const all = (await readRows(path)).filter((row) => row.output > 0 && row.input > 0);
    const chosen = all.filter((row) => row.model === MODEL);
    if (chosen.length === 0 && all.length > 0)
      context.note(`${path}: no row of ${MODEL}; the rows of all models are used`);
    return takeRows(chosen.length > 0 ? chosen : all, context, path).map((row) =>
      makeTurn(context, {
        prompt: { kind: "length", tokens: row.input, hash_ids: null, block_tokens: null, hash_scope: null },
        promptTokens: row.input,
        outputTokens: row.output,
      }),
    );
  },
};

interface Row {
  readonly model: string;
  readonly input: number;
  readonly output: number;
}

async function readRows(path: string): Promise<Row[]> {
  const lines = (await readText(path)).split(/\r?\n/);
  const columns = (lines[0] ?? "").split(",").map((cell) => cell.trim());
  const [model, input, output] = ["Model", "Request tokens", "Response tokens"].map((name) => {
    const at = columns.indexOf(name);
    if (at === -1) throw new UserError(`${path}:1: no column "${name}"`);
    return at;
  }) as [number, number, number];
  const rows: Row[] = [];
  for (const [at, line] of lines.entries()) {
    if (at === 0 || line.trim() === "") continue;
    const cells = line.split(",");
    const [a, b] = [Number(cells[input]), Number(cells[output])];
    if (
      cells.length < columns.length ||
      !Number.isSafeInteger(a) ||
      !Number.isSafeInteger(b) ||
      a < 0 ||
      b < 0
    )
      throw new UserError(`${path}:${at + 1}: token counts are not whole numbers`);
    rows.push({ model: (cells[model] ?? "").trim(), input: a, output: b });
  }
  return rows;
}
