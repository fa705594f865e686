/**
 * Any server by a command template: `command: my-server --port {port} --batch {max_batch_size}`. Placeholders are
 * replaced after the template has been split into arguments, so a value with spaces, quotes or braces stays one
 * argument. `{{name}}` is a literal `{name}`; braces around anything but a name (JSON) are left alone.
 */
import { join } from "node:path";
import { stringify } from "yaml";
import { UserError } from "../../core/failure.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { nearest } from "../../core/nearest.ts";
import { rawFlag } from "./knobs.ts";
import type { EngineSpec, Launcher } from "./launcher.ts";
import { baseUrl } from "./program.ts";
import { shellQuote, splitWords } from "./words.ts";

const PLACEHOLDER = /\{\{([A-Za-z_][\w.-]*)\}\}|\{([A-Za-z_][\w.-]*)\}/g;

export const command: Launcher = {
  name: "command",
  title: "command template",
  knobs: [],
  ready_timeout_ms: 600_000,
  command(spec, place) {
    if (spec.command === null)
      throw new UserError("engine.command is missing: the command that starts the server", {
        hint: 'for example: command: "my-server --port {port} --max-batch {max_batch_size}"',
      });
    const base = baseUrl(spec.host, place.port);
    const names = Object.keys(spec.files);
    for (const name of names) {
      if (name === "" || name.includes("/") || name.includes("\\") || name.startsWith("."))
        throw new UserError(`engine.files: "${name}" must be a plain file name`);
    }
    const values: Record<string, JsonValue> = {
      model: spec.model,
      host: spec.host,
      port: place.port,
      metrics_port: place.metrics_port,
      base_url: base,
      folder: place.folder,
      ...Object.fromEntries(names.map((name) => [`file.${name}`, join(place.folder, name)])),
    };
    const flags: string[] = [];
    for (const [name, value] of Object.entries(spec.knobs)) {
      if (name.startsWith("-")) flags.push(...rawFlag(name, value, null));
      else values[name] = value ?? null;
    }
    const template = new Template(values);
    const argv = spec.shell ? shellCommand(spec, template, flags) : plainCommand(spec, template, flags);
    const env = Object.fromEntries(
      Object.entries(spec.env).map(([name, text]) => [name, template.fill(text, String)]),
    );
    const files: Record<string, string> = {};
    for (const [name, content] of Object.entries(spec.files)) {
      files[join(place.folder, name)] =
        typeof content === "string" ? template.fill(content, plain) : stringify(template.fillObject(content));
    }
    for (const name of Object.keys(spec.knobs)) {
      if (!name.startsWith("-") && !template.used.has(name))
        throw new UserError(
          `the knob "${name}" is used nowhere: neither command, env nor files hold {${name}}`,
          {
            hint: "every configuration would be the same server",
          },
        );
    }
    return {
      argv,
      env,
      files,
      base_url: base,
      metrics_url: `${base}/metrics`,
      health_path: null,
      model: spec.model,
      cache_reset: { kind: "try" },
      engine: "command",
      gpus: null,
    };
  },
};

function plainCommand(spec: EngineSpec, template: Template, flags: readonly string[]): string[] {
  const words = typeof spec.command === "string" ? splitWords(spec.command) : (spec.command ?? []);
  const argv: string[] = [];
  for (const word of words) argv.push(...template.argument(word));
  argv.push(...flags, ...spec.args.flatMap((word) => template.argument(word)));
  if (argv[0] === undefined) throw new UserError("engine.command is empty");
  return argv;
}

function shellCommand(spec: EngineSpec, template: Template, flags: readonly string[]): string[] {
  const line =
    typeof spec.command === "string" ? spec.command : (spec.command ?? []).map(shellQuote).join(" ");
  if (line.trim() === "") throw new UserError("engine.command is empty");
  const filled = template.fill(line, (value) => shellQuote(plain(value)));
  return ["/bin/sh", "-c", [filled, ...[...flags, ...spec.args].map(shellQuote)].join(" ")];
}

class Template {
  readonly used = new Set<string>();
  readonly #values: Readonly<Record<string, JsonValue>>;

  constructor(values: Readonly<Record<string, JsonValue>>) {
    this.#values = values;
  }

  /**
   * One word of the template → its arguments. A word that is one placeholder alone takes a list as several arguments,
   * and vanishes for null, false and "" (a flag that is off).
   */
  argument(word: string): string[] {
    const alone = /^\{([A-Za-z_][\w.-]*)\}$/.exec(word);
    if (alone === null) return [this.fill(word, plain)];
    const value = this.#take(alone[1] as string);
    if (value === null || value === false || value === "") return [];
    if (Array.isArray(value)) return value.map(plain);
    return [plain(value)];
  }

  fill(text: string, show: (value: JsonValue) => string): string {
    return text.replace(PLACEHOLDER, (_match, literal: string | undefined, name: string) =>
      literal === undefined ? show(this.#take(name)) : `{${literal}}`,
    );
  }

  /** Strings that are one placeholder alone become the value itself, with its type. */
  fillObject(content: JsonValue): JsonValue {
    if (typeof content === "string") {
      const alone = /^\{([A-Za-z_][\w.-]*)\}$/.exec(content);
      return alone === null ? this.fill(content, plain) : this.#take(alone[1] as string);
    }
    if (Array.isArray(content)) return content.map((item: JsonValue) => this.fillObject(item));
    if (content === null || typeof content !== "object") return content;
    return Object.fromEntries(
      Object.entries(content as JsonObject).map(([key, value]) => [key, this.fillObject(value ?? null)]),
    );
  }

  #take(name: string): JsonValue {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    if (value === undefined) {
      const known = Object.keys(this.#values);
      const near = nearest(name, known);
      throw new UserError(`the command holds {${name}}, which is no knob of this configuration`, {
        hint:
          near === null
            ? `known: ${known.join(", ")}; a literal {name} is written {{name}}`
            : `did you mean {${near}}?`,
      });
    }
    this.used.add(name);
    return value;
  }
}

function plain(value: JsonValue): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
