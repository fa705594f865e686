/**
 * Output tokens where the server tells none: the target's own tokenizer counts the answer's text. The built-in tokenizer
 * is never used for output; without the target's own, payload chunks are what is left.
 */
import type { Client } from "../client/client.ts";
import type { SyncTokenizer, Tokenizer } from "../prompt/tokenizer.ts";
import { isSyncTokenizer } from "../prompt/tokenizer.ts";
import type { Observation } from "../record/observation.ts";

export interface OutputCounter {
  /** The text must be kept: it may have to be counted. False once the server has shown that it counts itself. */
  needsText(): boolean;
  /** Fills in the count, in place. */
  count(seen: Observation): void;
}

export function createOutputCounter(tokenizer: Tokenizer | null): OutputCounter {
  const own: SyncTokenizer | null =
    tokenizer !== null && tokenizer.source === "local" && isSyncTokenizer(tokenizer) ? tokenizer : null;
  let serverCounts = false;
  return {
    needsText: () => own !== null && !serverCounts,
    count(seen) {
      if (seen.output_tokens_source === "server") serverCounts = true;
      if (own === null || seen.output_tokens_source !== "chunks" || seen.text === null) return;
      // Reasoning and tool calls are no part of the text: counting the rest alone would be wrong.
      if (seen.first_output_ms !== seen.first_token_ms || seen.tool_calls !== null) return;
      seen.output_tokens = own.count(seen.text);
      seen.output_tokens_source = "tokenizer";
    },
  };
}

/** A client whose observations pass through the counter. */
export function countingClient(client: Client, counter: OutputCounter): Client {
  return {
    name: client.name,
    prepare: (request) => client.prepare(request),
    send: (prepared, done, listener) =>
      client.send(
        prepared,
        (seen) => {
          counter.count(seen);
          done(seen);
        },
        listener,
      ),
    close: () => client.close(),
  };
}
