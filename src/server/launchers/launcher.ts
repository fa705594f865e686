/**
 * The contract of a launcher: how one engine is started with given knobs. One engine a file, one line in index.ts.
 * Launchers only make command lines (pure); process.ts runs them.
 */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";

/** Knobs of one configuration: common names, the engine's own names, raw flags (`--anything`). */
export type Knobs = Readonly<Record<string, JsonValue>>;

/** The `engine` section of a configuration, defaults applied. */
export interface EngineSpec {
  readonly launcher: string;
  readonly model: string;
  /** The program, or the whole command template for `command`; `null` = the engine's usual program. */
  readonly command: string | readonly string[] | null;
  /** Raw arguments, passed through after those of the knobs. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Base of the engine's config file (TensorRT-LLM); knobs are merged into it. */
  readonly config: JsonObject | null;
  /** Files written for each configuration: name → text, or an object that becomes YAML. `{knob}` is replaced. */
  readonly files: Readonly<Record<string, string | JsonObject>>;
  /** Run the command by `/bin/sh -c`; values are quoted. */
  readonly shell: boolean;
  readonly host: string;
  readonly knobs: Knobs;
}

export interface LaunchPlace {
  readonly port: number;
  /** A second port, for engines that serve metrics elsewhere. */
  readonly metrics_port: number;
  /** Folder of this server: config files are written here. */
  readonly folder: string;
}

export type CacheReset =
  | { readonly kind: "post"; readonly path: string }
  | { readonly kind: "llama-slots" }
  /** Some server: the endpoints of the known engines are tried. */
  | { readonly kind: "try" }
  /** No endpoint: a new server, or prompts that share nothing with the runs before. */
  | { readonly kind: "none" };

export interface LaunchCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** To be written before the start: absolute path → text. */
  readonly files: Readonly<Record<string, string>>;
  readonly base_url: string;
  /** Prometheus text; `null` where the engine has none. */
  readonly metrics_url: string | null;
  /** Path answering 200 when up; `null` where none is known (the completion alone decides). */
  readonly health_path: string | null;
  /** What `/v1/models` and replies call the model; `null` = not known, anything goes. */
  readonly model: string;
  readonly cache_reset: CacheReset;
  /** Which metric names to look for (scrape.ts). */
  readonly engine: string;
  /** GPUs this command takes: tensor × pipeline × data parallel size; `null` where it does not tell. */
  readonly gpus: number | null;
}

export interface Launcher {
  readonly name: string;
  readonly title: string;
  /** Knobs it knows, common ones first. */
  readonly knobs: readonly string[];
  /** Usual time to load a model; the default of `ready_timeout`. */
  readonly ready_timeout_ms: Ms;
  /** Throws a `UserError` for a knob it does not know or a value it cannot take. */
  command(spec: EngineSpec, place: LaunchPlace): LaunchCommand;
}
