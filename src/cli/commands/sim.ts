/** `reprise sim` */
import { UserError } from "../../core/failure.ts";
import { integer, option, text, toggle, type Option, type OptionTable } from "../../run/options/option.ts";
import { simPreset } from "../../run/sim-target.ts";
import { SIM_FLAGS, SIM_PRESETS, simConfigFromFlags, startSimServer, type SimFlag } from "../../sim/index.ts";
import { verb } from "../verb.ts";

const SERVER = "Server";
const ENGINE = "Engine";

const serverOptions = {
  host: option(text("<host>"), SERVER, "address to listen on", { defaultText: "127.0.0.1" }),
  port: option(integer({ min: 0, max: 65_535 }), SERVER, "port; 0 = any free one", { defaultText: "8000" }),
  seed: option(integer({ min: 0 }), SERVER, "seed of answers and faults", { defaultText: "0" }),
  alias: option(text("<name>"), SERVER, "a further name the model answers to"),
  preset: option(text("<name>"), ENGINE, `start from: ${Object.keys(SIM_PRESETS).join(", ")}`),
} as const;

export const sim = verb({
  name: "sim",
  summary: "runs the simulated engine as an OpenAI-compatible server",
  positionals: [],
  options: { ...serverOptions, ...engineOptions() } as typeof serverOptions & OptionTable,
  examples: ["reprise sim --port 8000 --max-num-seqs 32", "reprise sim --preset 70b-a100 --host-cache-gb 64"],
  async run(given, words, io) {
    if (words.length > 0) throw new UserError(`sim takes no arguments: "${words[0]}"`);
    const values = Object.fromEntries(
      SIM_FLAGS.map(({ key }) => [key, (given as Record<string, unknown>)[key]]),
    );
    const server = await startSimServer({
      config: { ...simPreset(given.preset), ...simConfigFromFlags(values) },
      clock: io.clock,
      seed: given.seed ?? 0,
      host: given.host ?? "127.0.0.1",
      port: given.port ?? 8000,
      ...(given.alias === undefined ? {} : { aliases: [given.alias] }),
    });
    const { sim: resolved } = server.engine;
    for (const note of resolved.notes) io.err(`note: ${note}\n`);
    io.err(`simulated engine ${resolved.served_name} at ${server.url} (a simulation: no model runs here)\n`);
    await new Promise<void>((resolve) => {
      io.onInterrupt(() => resolve());
    });
    await server.close();
    return 0;
  },
});

function engineOptions(): OptionTable {
  return Object.fromEntries(SIM_FLAGS.map((flag) => [flag.key, engineOption(flag)]));
}

/** The engine's own schema checks the values: here they are only text. */
function engineOption(flag: SimFlag): Option {
  const more = flag.default === null ? {} : { defaultText: JSON.stringify(flag.default) };
  if (flag.type === "boolean")
    return option(toggle(), ENGINE, flag.description, { ...more, negatable: true });
  return option(
    text(flag.type === "choice" ? `<${flag.choices?.join("|")}>` : `<${flag.type}>`),
    ENGINE,
    flag.description,
    more,
  );
}
