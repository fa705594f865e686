/** `--backend sim`: the simulated engine in this process, on real or on virtual time. */
import type { Clock } from "../core/clock.ts";
import { UserError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { nearestHint } from "../core/nearest.ts";
import type { Ms } from "../core/units.ts";
import { VirtualClock } from "../core/virtual-clock.ts";
import type { SyncTokenizer } from "../prompt/tokenizer.ts";
import {
  countTokens,
  createSimClient,
  createSimEngine,
  decode,
  encode,
  SIM_FLAGS,
  SIM_PRESETS,
  simConfigFromFlags,
  type SimConfigInput,
  type SimEngine,
} from "../sim/index.ts";
import { createSimWatch } from "./sim-watch.ts";
import type { Target } from "./target.ts";

/** The simulator's own tokenizer, as prompt/ wants it. */
export const SIM_TOKENIZER: SyncTokenizer = {
  name: "sim",
  source: "server",
  encode: (text) => Array.from(encode(text)),
  decode: (ids) => decode(ids),
  count: (text) => countTokens(text),
  overhead_tokens: 0,
};

export interface SimTargetOptions {
  /** `key=value` settings of the engine, as in `--sim max_num_seqs=32`. */
  readonly settings: Readonly<Record<string, string>>;
  readonly model: string | null;
  readonly seed: number;
  readonly clock: Clock;
  readonly virtualTime: boolean;
  /** Time a request may take; absent = as long as it does. */
  readonly timeoutMs?: Ms;
  /** Sample the engine while a run lasts. */
  readonly watch?: boolean;
}

/** Opens the engine. Settings it does not know are `UserError`s. */
export function openSimTarget(options: SimTargetOptions): Target & { readonly engine: SimEngine } {
  const clock = options.virtualTime ? new VirtualClock(0, options.clock.wall()) : options.clock;
  const engine = createSimEngine(simSettings(options.settings), clock, options.seed);
  const model = engine.sim.served_name;
  const client = createSimClient(engine, clock, {
    model_names: "any",
    ...(options.timeoutMs === undefined ? {} : { timeout_ms: options.timeoutMs }),
  });
  let open = 0;
  return {
    client: {
      name: client.name,
      prepare: (request) => client.prepare(request),
      send: (prepared, done, listener) => {
        open++;
        return client.send(
          prepared,
          (seen) => {
            open--;
            done(seen);
          },
          listener,
        );
      },
      close: () => client.close(),
    },
    spec: null,
    clock,
    url: "in-process",
    model: options.model ?? model,
    backend: "sim",
    simulated: true,
    virtual: options.virtualTime,
    prompts: ["text", "ids", "messages"],
    post: null,
    tokenizer: SIM_TOKENIZER,
    server: { model, gpus: engine.sim.config.tensor_parallel_size } satisfies JsonObject,
    watch: options.watch === true ? createSimWatch(engine, clock, options.virtualTime) : null,
    openStreams: () => open,
    drive: (done) => (clock instanceof VirtualClock ? clock.runUntil(done) : done),
    close: async () => {
      await client.close();
      engine.stop();
    },
    engine,
  };
}

/** `--sim key=value` words as the engine's configuration. An unknown key is a `UserError` with the nearest one. */
export function simSettings(settings: Readonly<Record<string, string>>): SimConfigInput {
  const { preset, ...own } = settings;
  const keys = SIM_FLAGS.map(({ key }) => key);
  const config: Record<string, string> = {};
  for (const [key, text] of Object.entries(own)) {
    const name = key.replaceAll("-", "_");
    if (!keys.includes(name))
      throw new UserError(`--sim: the engine has no setting "${key}"`, {
        hint: nearestHint(name, keys) ?? "reprise sim --help lists them",
      });
    config[name] = text;
  }
  return { ...simPreset(preset), ...simConfigFromFlags(config) };
}

/** A named configuration; none without a name. */
export function simPreset(name: string | undefined): SimConfigInput {
  if (name === undefined) return {};
  const found = Object.hasOwn(SIM_PRESETS, name) ? SIM_PRESETS[name] : undefined;
  if (found !== undefined) return found.config;
  const names = Object.keys(SIM_PRESETS);
  throw new UserError(`no preset "${name}"`, {
    hint: nearestHint(name, names) ?? `one of ${names.join(", ")}`,
  });
}
