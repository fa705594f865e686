/** What a command of the command line is. One verb a file in commands/, one line in commands/index.ts. */
import type { ExitCode } from "../core/failure.ts";
import type { Clock } from "../core/clock.ts";
import type { Given, OptionTable } from "../run/options/option.ts";

export interface Positional {
  /** `TRACE`, `RUN...` */
  readonly name: string;
  readonly help: string;
  readonly required: boolean;
}

/** The outside world, as a command sees it. */
export interface Io {
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** The result, and nothing else with `--json`. Resolves when the text was handed over (a closed pipe is no error). */
  out(text: string): Promise<void>;
  /** Progress and warnings. */
  err(text: string): void;
  readonly outIsTty: boolean;
  readonly errIsTty: boolean;
  readonly columns: number;
  /** ANSI colours on stdout: a TTY, and NO_COLOR is not set. */
  readonly colour: boolean;
  /** Registers a handler of SIGINT/SIGTERM; the first call of `handler` has `count` 1. Returns how to unregister. */
  onInterrupt(handler: (count: number) => void): () => void;
}

export interface Verb<T extends OptionTable = OptionTable> {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly positionals: readonly Positional[];
  readonly options: T;
  /**
   * Flags that are not ours may be those of an engine in this process: the key of the `KEY=VALUE` option that takes them, `null` where
   * this command line means none.
   */
  engineFlags?(argv: readonly string[]): string | null;
  /** Examples shown under the help. */
  readonly examples: readonly string[];
  run(given: Given<T>, words: readonly string[], io: Io): Promise<ExitCode>;
}

/** Keeps the types of one verb's options while the table of verbs forgets them. */
export function verb<T extends OptionTable>(definition: Verb<T>): Verb {
  return definition as unknown as Verb;
}
