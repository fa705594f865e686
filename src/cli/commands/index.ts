/** The table of commands. Each is loaded only when it is called, so that `reprise --help` stays quick. */
import type { Verb } from "../verb.ts";

export interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Verb>;
}

export const VERBS: readonly VerbEntry[] = [
  {
    name: "replay",
    summary: "replays a trace against a server",
    load: async () => (await import("./replay.ts")).replay,
  },
];
