/** `reprise inspect TRACE` */
import { plainJson } from "../../core/terminal-text.ts";
import { UserError } from "../../core/failure.ts";
import { integer, option, text, toggle } from "../../run/options/option.ts";
import { inspectTrace } from "../../trace/inspect.ts";
import { readTrace } from "../../trace/reader.ts";
import { inspectionText } from "../inspection-text.ts";
import { verb } from "../verb.ts";

const G = "Options";

export const inspect = verb({
  name: "inspect",
  summary: "tells what is in a trace",
  positionals: [
    { name: "TRACE", help: "trace file or folder, any known format; - for standard input", required: true },
  ],
  options: {
    json: option(toggle(), G, "print one JSON object"),
    format: option(text("<name>"), G, "trace format", { defaultText: "detected by content" }),
    skip_bad: option(toggle(), G, "count and skip bad rows instead of refusing the trace"),
    block_tokens: option(integer({ min: 1 }), G, "tokens of a prefix block, where the format leaves it open"),
  },
  examples: ["reprise inspect agents.jsonl", "reprise inspect sessions/ --json"],
  async run(given, [path, ...more], io) {
    if (path === undefined || more.length > 0) throw new UserError("inspect takes one TRACE");
    const trace = await readTrace(path, {
      skipBad: given.skip_bad ?? false,
      ...(given.format === undefined ? {} : { format: given.format }),
      ...(given.block_tokens === undefined ? {} : { blockTokens: given.block_tokens }),
    });
    const inspection = inspectTrace(trace);
    await io.out(
      given.json === true
        ? `${plainJson(JSON.stringify(inspection, null, 2))}\n`
        : inspectionText(inspection),
    );
    return 0;
  },
});
