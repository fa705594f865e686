/** `reprise generate` */
import { UserError } from "../../core/failure.ts";
import { GENERATE_FLAGS, parseGenerateOptions, type GenerateFlag } from "../../generate/generate-options.ts";
import { generateTrace, toTrace } from "../../generate/generate-trace.ts";
import {
  choice,
  duration,
  integer,
  number,
  option,
  text,
  toggle,
  type Kind,
  type OptionTable,
} from "../../run/options/option.ts";
import { traceLines } from "../../trace/writer.ts";
import { inBatches, openOutput } from "../output-file.ts";
import { verb } from "../verb.ts";

const OUT = "Output";
const outOptions = {
  out: option(text("<file>"), OUT, "where to write the trace; .gz compresses", {
    short: "-o",
    defaultText: "standard output",
  }),
} as const;

export const generate = verb({
  name: "generate",
  summary: "writes a synthetic agent trace",
  positionals: [],
  options: { ...outOptions, ...generateOptions() } as typeof outOptions & OptionTable,
  examples: [
    "reprise generate --num-jobs 200 --seed 0 --out agents.jsonl",
    "reprise generate --preset coder --num-jobs 50 -o coder.jsonl",
    "reprise generate --preset planner --arrivals bursts --fan-out 'uniform(2,6)' -o planner.jsonl.gz",
  ],
  async run(given, words, io) {
    if (words.length > 0)
      throw new UserError(`generate takes no arguments: "${words[0]}"`, { hint: "name the file with --out" });
    const values = given as Record<string, unknown>;
    const trace = await generateTrace(
      parseGenerateOptions(
        Object.fromEntries(
          GENERATE_FLAGS.flatMap(({ key, flag }) => {
            const value = values[keyOf(flag)];
            return value === undefined ? [] : [[key, value]];
          }),
        ),
      ),
    );
    for (const note of trace.notes) io.err(`note: ${note}\n`);
    const whole = toTrace(trace);
    const output = openOutput(given.out ?? null, io);
    for (const batch of inBatches(traceLines(whole))) await output.write(batch);
    await output.close();
    if (given.out !== undefined) io.err(`${given.out}: ${whole.requests.length} requests\n`);
    return 0;
  },
});

function generateOptions(): OptionTable {
  return Object.fromEntries(
    GENERATE_FLAGS.map((flag) => [keyOf(flag.flag), option(kindOf(flag), "Trace", flag.help)]),
  );
}

function keyOf(flag: string): string {
  return flag.replace(/^--/, "").replaceAll("-", "_");
}

function kindOf(flag: GenerateFlag): Kind<unknown> {
  switch (flag.value) {
    case "integer":
      return integer();
    case "number":
      return number();
    case "duration":
      return duration(flag.flag.endsWith("-ms") ? "ms" : "s");
    case "switch":
      return toggle();
    case "choice":
      return choice(...(flag.choices ?? []));
    case "distribution":
      return text("<distribution>");
    case "seed":
    case "text":
      return text(flag.value === "seed" ? "<n>" : "<file>");
  }
}
