/** `reprise convert IN OUT` */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { UserError } from "../../core/failure.ts";
import { plainText } from "../../core/terminal-text.ts";
import { loadBuiltinTokenizer } from "../../prompt/builtin-tokenizer.ts";
import { resolveTokenizer } from "../../prompt/resolve-tokenizer.ts";
import { isSyncTokenizer } from "../../prompt/tokenizer.ts";
import { choice, integer, option, text, toggle } from "../../run/options/option.ts";
import { anonymizeTrace } from "../../trace/anonymize.ts";
import { readTrace } from "../../trace/reader.ts";
import type { Trace } from "../../trace/trace.ts";
import { traceLines } from "../../trace/writer.ts";
import { aiperfRows } from "../../trace/writers/aiperf-rows.ts";
import { mooncakeRows } from "../../trace/writers/mooncake-rows.ts";
import { inBatches, openOutput } from "../output-file.ts";
import type { Io } from "../verb.ts";
import { verb } from "../verb.ts";

const IN = "Input";
const OUT = "Output";
const ANONYMIZE = "Anonymizing";

export const convert = verb({
  name: "convert",
  summary: "any trace format to ours, or to Mooncake or AIPerf rows",
  positionals: [
    { name: "IN", help: "trace file or folder; - for standard input", required: true },
    { name: "OUT", help: "file to write; - for standard output; .gz compresses", required: true },
  ],
  options: {
    format: option(text("<name>"), IN, "format of IN", { defaultText: "detected by content" }),
    skip_bad: option(toggle(), IN, "count and skip bad rows instead of refusing the trace"),
    block_tokens: option(
      integer({ min: 1 }),
      IN,
      "tokens of a prefix block, where the format leaves it open",
    ),
    to: option(choice("reprise", "mooncake", "aiperf"), OUT, "format of OUT", { defaultText: "reprise" }),
    force: option(toggle(), OUT, "replace OUT if it exists"),
    anonymize: option(
      toggle(),
      ANONYMIZE,
      "no text, names or calendar times: keyed hashes of token blocks instead",
    ),
    key_file: option(
      text("<file>"),
      ANONYMIZE,
      "the secret key; the same key names equal blocks of two traces equally",
      {
        defaultText: "a key that is drawn and forgotten",
      },
    ),
    key_env: option(text("<NAME>"), ANONYMIZE, "environment variable that holds the key"),
    tokenizer: option(text("<path>"), ANONYMIZE, "tokenizer that cuts text into blocks", {
      defaultText: "a built-in one",
    }),
    anonymize_block_tokens: option(integer({ min: 1 }), ANONYMIZE, "tokens of a keyed block", {
      defaultText: "64",
    }),
  },
  examples: [
    "reprise convert sessions/ agents.jsonl",
    "reprise convert logs.json shared.jsonl.gz --anonymize --key-file key.txt",
    "reprise convert agents.jsonl rows.jsonl --to mooncake",
  ],
  async run(given, [from, to, ...more], io) {
    if (from === undefined || to === undefined || more.length > 0)
      throw new UserError("convert takes IN and OUT");
    if (to !== "-" && existsSync(to) && given.force !== true)
      throw new UserError(`${to}: exists`, { hint: "name a new file, or use --force" });
    const anonymizing = [given.key_file, given.key_env, given.tokenizer, given.anonymize_block_tokens];
    if (given.anonymize !== true && anonymizing.some((value) => value !== undefined))
      throw new UserError(
        "--key-file, --key-env, --tokenizer and --anonymize-block-tokens go with --anonymize",
      );
    const read = await readTrace(from, {
      skipBad: given.skip_bad ?? false,
      ...(given.format === undefined ? {} : { format: given.format }),
      ...(given.block_tokens === undefined ? {} : { blockTokens: given.block_tokens }),
    });
    const trace = given.anonymize === true ? await anonymized(read, given, io) : read;
    const { lines, notes } = rowsOf(trace, given.to ?? "reprise");
    const output = openOutput(to, io);
    let count = 0;
    for (const batch of inBatches(counting(lines, () => count++))) await output.write(batch);
    await output.close();
    report(read, trace, [...notes], count, to, io);
    return 0;
  },
});

function rowsOf(
  trace: Trace,
  to: "reprise" | "mooncake" | "aiperf",
): { lines: Iterable<string>; notes: readonly string[] } {
  if (to === "reprise") return { lines: traceLines(trace), notes: [] };
  return to === "mooncake" ? mooncakeRows(trace) : aiperfRows(trace);
}

function* counting(lines: Iterable<string>, count: () => void): Generator<string> {
  for (const line of lines) {
    count();
    yield line;
  }
}

interface KeyGiven {
  readonly key_file?: string;
  readonly key_env?: string;
  readonly tokenizer?: string;
  readonly anonymize_block_tokens?: number;
}

async function anonymized(trace: Trace, given: KeyGiven, io: Io): Promise<Trace> {
  const { tokenizer } =
    given.tokenizer === undefined
      ? { tokenizer: await loadBuiltinTokenizer() }
      : await resolveTokenizer({ tokenizerPath: given.tokenizer, model: given.tokenizer });
  if (!isSyncTokenizer(tokenizer))
    throw new UserError(`--tokenizer ${given.tokenizer}: names no tokenizer file`);
  return anonymizeTrace(trace, {
    key: keyOf(given, io),
    encode: (text) => tokenizer.encode(text),
    ...(given.anonymize_block_tokens === undefined ? {} : { blockTokens: given.anonymize_block_tokens }),
  });
}

const MIN_KEY_BYTES = 16;

function keyOf({ key_file, key_env }: KeyGiven, io: Io): Uint8Array {
  if (key_file !== undefined && key_env !== undefined)
    throw new UserError("--key-file and --key-env contradict each other");
  if (key_file === undefined && key_env === undefined) return randomBytes(32);
  let key: Buffer;
  if (key_file !== undefined) {
    try {
      key = readFileSync(key_file);
    } catch (error) {
      throw new UserError(
        `--key-file ${key_file}: cannot be read (${(error as NodeJS.ErrnoException).code ?? "error"})`,
      );
    }
  } else {
    key = Buffer.from(io.env[key_env as string] ?? "");
    if (key.length === 0) throw new UserError(`--key-env ${key_env}: the variable is not set`);
  }
  if (key.length < MIN_KEY_BYTES)
    throw new UserError(`the key is too short (${key.length} bytes)`, {
      hint: `use ${MIN_KEY_BYTES} bytes or more: head -c 32 /dev/urandom > key`,
    });
  return key;
}

function report(
  read: Trace,
  written: Trace,
  notes: readonly string[],
  count: number,
  to: string,
  io: Io,
): void {
  const { rows } = read;
  const skipped = Object.entries(rows.skipped).map(([kind, n]) => `${n} skipped (${plainText(kind)})`);
  const account = [`${rows.read} rows read`, `${rows.used} used`, ...skipped, `${rows.refused} refused`].join(
    ", ",
  );
  io.err(`${plainText(read.path)} (${read.format}): ${account}; ${read.requests.length} requests\n`);
  io.err(`${to === "-" ? "standard output" : plainText(to)}: ${count} lines\n`);
  for (const fault of read.faults.slice(0, 10))
    io.err(
      `  ${plainText(`${fault.file}${fault.line === null ? "" : `:${fault.line}`}: ${fault.reason}`)}\n`,
    );
  const told = new Set([...read.notes, ...(written === read ? [] : written.notes), ...notes]);
  for (const note of told) io.err(`  ${plainText(note)}\n`);
}
