/**
 * From the words of a command line to the options given. commander knows the flags, writes the help and suggests the
 * nearest; this file turns the option tables into its terms and lets command lines of the other tools in as they are:
 * `--max_concurrency`, `--flag=value`, lists (`--goodput ttft:200 tpot:50`), negative numbers, second names.
 */
import { Command, CommanderError, Option as CommanderOption } from "commander";
import { UserError } from "../core/failure.ts";
import { nearestHint } from "../core/nearest.ts";
import { flagOf, type Option, type OptionTable } from "../run/options/option.ts";
import type { Verb } from "./verb.ts";

export interface ParsedArguments {
  readonly given: Record<string, unknown>;
  readonly words: readonly string[];
  /** Flags that were read and have no effect, with the reason. */
  readonly ignored: readonly string[];
}

export type HelpOr<T> =
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "parsed"; readonly value: T };

/** Parses what follows the verb. A mistake is a {@link UserError}. */
export function parseArguments(
  verb: Verb,
  argv: readonly string[],
  columns: number,
): HelpOr<ParsedArguments> {
  const raw = new Map<string, string[]>();
  const command = commandOf(verb, raw, columns);
  const passTo = verb.engineFlags?.(argv) ?? null;
  let help = "";
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
    writeErr: () => undefined,
  });
  try {
    command.parse(canonicalWords(verb.options, argv, passTo), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed") return { kind: "help", text: help };
    throw mistake(error, verb);
  }
  const given: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [key, option] of Object.entries(verb.options)) {
    const words = raw.get(key);
    if (words === undefined) continue;
    if (option.kind.arity === "switch") given[key] = words.at(-1) === "true";
    else given[key] = option.kind.parse(option.kind.arity === "one" ? words.slice(-1) : words, flagOf(key));
    // Where the engine takes it, it has its effect there.
    if (option.harmless !== undefined && passTo === null)
      ignored.push(`${flagOf(key)} has no effect: ${option.harmless}`);
  }
  return { kind: "parsed", value: { given, words: command.args, ignored } };
}

function commandOf(verb: Verb, raw: Map<string, string[]>, columns: number): Command {
  const command = new Command(`reprise ${verb.name}`)
    .description(`${verb.summary.charAt(0).toUpperCase()}${verb.summary.slice(1)}.`)
    .exitOverride()
    .showSuggestionAfterError(false)
    .helpOption("-h, --help", "show this help")
    .configureHelp({ helpWidth: Math.min(columns, 110), sortOptions: false });
  for (const { name, help, required } of verb.positionals)
    command.argument(
      required ? `<${name.replace("...", "")}${name.endsWith("...") ? "..." : ""}>` : `[${name}]`,
      help,
    );
  for (const [key, option] of Object.entries(verb.options)) addOption(command, key, option, raw);
  if (verb.examples.length > 0)
    command.addHelpText("after", `\nExamples:\n${verb.examples.map((example) => `  ${example}`).join("\n")}`);
  return command.action(() => undefined);
}

function addOption(command: Command, key: string, option: Option, raw: Map<string, string[]>): void {
  const isSwitch = option.kind.arity === "switch";
  const long = flagOf(key);
  const flags = `${option.short === undefined ? "" : `${option.short}, `}${long}${isSwitch ? "" : ` ${option.kind.placeholder.replace("...", "")}`}`;
  const notes = [
    ...(option.defaultText === undefined ? [] : [`default: ${option.defaultText}`]),
    ...(option.aliases === undefined ? [] : [`also ${option.aliases.join(", ")}`]),
    ...(option.kind.arity === "list" ? ["repeatable"] : []),
  ];
  const help = `${option.help}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`;
  const add = (value: string): void => {
    raw.set(key, [...(raw.get(key) ?? []), value]);
  };
  const made = new CommanderOption(flags, help).helpGroup(`${option.group}:`);
  command.addOption(made);
  command.on(`option:${made.name()}`, (value: string | null) => add(isSwitch ? "true" : (value ?? "")));
  if (option.negatable === true) {
    const negated = new CommanderOption(`--no-${long.slice(2)}`, `the opposite of ${long}`).helpGroup(
      `${option.group}:`,
    );
    command.addOption(negated);
    command.on(`option:no-${long.slice(2)}`, () => add("false"));
  }
}

/**
 * Second names and underscores become the option's own flag; a list's words each get the flag before them. Flags of nobody here
 * become `KEY=VALUE` words of the option `passTo`, if there is one.
 */
function canonicalWords(table: OptionTable, argv: readonly string[], passTo: string | null): string[] {
  const byFlag = new Map<string, { flag: string; option: Option }>();
  for (const [key, option] of Object.entries(table)) {
    const entry = { flag: flagOf(key), option };
    for (const name of [
      entry.flag,
      ...(option.aliases ?? []),
      ...(option.short === undefined ? [] : [option.short]),
    ])
      byFlag.set(name, entry);
  }
  const words: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string;
    if (word === "--") {
      words.push(...argv.slice(at));
      break;
    }
    const equals = word.indexOf("=");
    const name = word.startsWith("--")
      ? (equals === -1 ? word : word.slice(0, equals)).replaceAll("_", "-")
      : word;
    const inline = word.startsWith("--") && equals !== -1 ? word.slice(equals + 1) : null;
    const found = byFlag.get(name);
    if (found === undefined && passTo !== null && name !== "--help" && ENGINE_FLAG.test(name)) {
      const next = argv[at + 1];
      const takes = inline === null && next !== undefined && !/^-[^\d.]/.test(next);
      const setting = engineSetting(name, inline ?? (takes ? next : null));
      words.push(`${flagOf(passTo)}=${setting}`);
      if (takes) at++;
      continue;
    }
    if (found === undefined) {
      words.push(inline === null ? name : `${name}=${inline}`);
      continue;
    }
    const { flag, option } = found;
    if (option.kind.arity === "switch") {
      if (inline !== null)
        throw new UserError(`${flag} takes no value`, { hint: `write ${flag} alone, or leave it out` });
      words.push(flag);
      continue;
    }
    const first = inline ?? argv[++at];
    if (first === undefined)
      throw new UserError(`${flag}: a value is missing`, {
        hint: `write ${flag} ${option.kind.placeholder}`,
      });
    if (inline === null && byFlag.has(first.replaceAll("_", "-")))
      throw new UserError(`${flag}: a value is missing before ${first}`, {
        hint: `write ${flag} ${option.kind.placeholder}`,
      });
    words.push(`${flag}=${first}`);
    if (option.kind.arity !== "list") continue;
    for (let next = argv[at + 1]; next !== undefined && isListItem(next, option); next = argv[at + 1]) {
      words.push(`${flag}=${next}`);
      at++;
    }
  }
  return words;
}

/** `--max-num-seqs`, and the short `-tp` of vLLM. */
const ENGINE_FLAG = /^(--[a-z]|-(tp|pp|dp)$)/;
const SHORT: Readonly<Record<string, string>> = {
  "-tp": "tensor-parallel-size",
  "-pp": "pipeline-parallel-size",
  "-dp": "data-parallel-size",
};

/** A flag without a value is a switch; `--no-x` switches off. */
function engineSetting(flag: string, value: string | null): string {
  const key = SHORT[flag] ?? flag.slice(2);
  if (value !== null) return `${key}=${value}`;
  return key.startsWith("no-") ? `${key.slice(3)}=false` : `${key}=true`;
}

function isListItem(word: string, option: Option): boolean {
  if (word.startsWith("-") && !/^-[\d.]/.test(word)) return false;
  return option.kind.accepts?.(word) ?? true;
}

function mistake(error: CommanderError, verb: Verb): UserError {
  const help = `reprise ${verb.name} --help lists the options`;
  const quoted = /'([^']*)'/.exec(error.message)?.[1] ?? "";
  if (error.code === "commander.unknownOption") {
    const flag = quoted.split("=")[0] as string;
    return new UserError(`unknown option ${flag}`, {
      hint: nearestHint(flag, Object.keys(verb.options).map(flagOf)) ?? help,
    });
  }
  if (error.code === "commander.missingArgument")
    return new UserError(`${quoted} is missing`, { hint: help });
  if (error.code === "commander.excessArguments") return new UserError(`too many arguments`, { hint: help });
  return new UserError(error.message.replace(/^error: /, "").replaceAll("\n", " "), { hint: help });
}
