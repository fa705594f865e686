/**
 * Takes the text out of a trace and keeps what a replay needs: lengths, times, order, and which prompts share which
 * beginnings. Blocks of tokens become keyed hashes (HMAC-SHA256, each over the block and the hash before it), so that
 * equal beginnings keep equal names and nothing can be looked up without the key, which is never written.
 */
import { createHmac, type Hmac } from "node:crypto";
import type { JsonObject } from "../core/json.ts";
import type { List } from "../core/list.ts";
import type { Ms, Tokens } from "../core/units.ts";
import { newRecorded } from "./new-request.ts";
import type { Provenance, Trace } from "./trace.ts";
import {
  plannedOutputTokens,
  type BlockId,
  type LengthPrompt,
  type Recorded,
  type TraceRequest,
} from "./trace-request.ts";

export interface AnonymizeOptions {
  /** Secret. The same key names equal blocks of two traces equally. */
  readonly key: string | Uint8Array;
  /** The tokens of a text, by whatever tokenizer is at hand. */
  readonly encode: (text: string) => readonly number[];
  /** Tokens a block; default 64. */
  readonly blockTokens?: Tokens;
}

/** Sampling parameters that say nothing about the content; all others are dropped. */
const KEPT_PARAMS = new Set([
  "top_p",
  "top_k",
  "min_p",
  "n",
  "presence_penalty",
  "frequency_penalty",
  "repetition_penalty",
  "logprobs",
  "top_logprobs",
]);

/** A trace without text, names, ids, metadata or calendar times. Requests stay in their order. */
export function anonymizeTrace(trace: Trace, options: AnonymizeOptions): Trace {
  const names = new KeyedNames(options.key);
  const blocks = new PromptBlocks(names, options.encode, options.blockTokens ?? 64);
  const first = firstTime(trace.requests);
  const requests = trace.requests.map((request) => anonymizeRequest(request, names, blocks, first));
  return {
    format: trace.format,
    path: "anonymized",
    header: {
      reprise_trace: 1,
      source: { format: trace.format },
      anonymized: { method: "hmac-sha256", block_tokens: blocks.size },
    },
    requests,
    rows: trace.rows,
    faults: [],
    provenance: counted(trace.provenance, requests),
    notes: [
      "text, ids, names, metadata and calendar times were taken out; blocks have keyed names",
      ...(trace.requests.some(({ prompt }) => prompt.kind !== "length")
        ? [
            `of text, prompts share whole blocks of ${blocks.size} tokens; --anonymize-block-tokens sets their size`,
          ]
        : []),
    ],
  };
}

/** Lengths that only the text told were counted in it. */
function counted(provenance: Provenance, requests: readonly TraceRequest[]): Provenance {
  const hasOutputs = requests.every((request) => plannedOutputTokens(request) !== null);
  const { prompt_length, output_length } = provenance;
  return {
    ...provenance,
    prompt_text: "missing",
    prompt_length: prompt_length === "missing" ? "inferred" : prompt_length,
    output_length: output_length === "missing" && hasOutputs ? "inferred" : output_length,
  };
}

function anonymizeRequest(
  request: TraceRequest,
  names: KeyedNames,
  blocks: PromptBlocks,
  first: Ms,
): TraceRequest {
  return {
    request_id: names.of("request", request.request_id),
    job_id: names.of("job", request.job_id),
    turn: request.turn,
    arrival_ms: since(request.arrival_ms, first),
    after: request.after?.map((id) => names.of("request", id)) ?? null,
    think_ms: request.think_ms,
    tool: request.tool?.map(({ name, ms }) => ({ name: `tool-${names.of("tool", name)}`, ms })) ?? null,
    prompt: blocks.prompt(request),
    max_tokens: request.max_tokens,
    expected_output_tokens: request.expected_output_tokens,
    temperature: request.temperature,
    params: keptParams(request.params),
    budget_ms: request.budget_ms,
    agent: request.agent === null ? null : `agent-${names.of("agent", request.agent)}`,
    recorded: recordedOf(request, blocks, first),
    response_text: null,
    metadata: null,
  };
}

/** An output length that only the text tells is counted before the text goes. */
function recordedOf(request: TraceRequest, blocks: PromptBlocks, first: Ms): Recorded | null {
  const { recorded } = request;
  const text = request.response_text ?? "";
  const told = recorded?.output_tokens ?? request.expected_output_tokens;
  const output_tokens = told === null && text !== "" ? blocks.count(text) : (recorded?.output_tokens ?? null);
  if (recorded === null) return output_tokens === null ? null : newRecorded({ output_tokens });
  return {
    ...recorded,
    sent_ms: since(recorded.sent_ms, first),
    first_token_ms: since(recorded.first_token_ms, first),
    end_ms: since(recorded.end_ms, first),
    output_tokens,
  };
}

function keptParams(params: JsonObject | null): JsonObject | null {
  const kept = Object.entries(params ?? {}).filter(
    ([key, value]) => KEPT_PARAMS.has(key) && (typeof value === "number" || typeof value === "boolean"),
  );
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function firstTime(requests: List<TraceRequest>): Ms {
  let first = Infinity;
  for (const { arrival_ms, recorded } of requests) {
    for (const time of [arrival_ms, recorded?.sent_ms, recorded?.first_token_ms, recorded?.end_ms]) {
      if (time != null && time < first) first = time;
    }
  }
  return first === Infinity ? 0 : first;
}

function since(time: Ms | null, first: Ms): Ms | null {
  return time === null ? null : time - first;
}

/** 64 bits of a keyed hash, as hex. */
class KeyedNames {
  readonly #key: string | Uint8Array;

  constructor(key: string | Uint8Array) {
    if (key.length === 0) throw new Error("an empty key hides nothing");
    this.#key = key;
  }

  /** The name of `text` among things of one kind. */
  of(kind: string, text: string): string {
    return finish(this.#hmac().update(`${kind}\u0000${text}`));
  }

  /** The name of a block of tokens after the block named `previous`. */
  block(previous: string, tokens: readonly number[]): string {
    const bytes = Buffer.alloc(tokens.length * 4);
    tokens.forEach((token, at) => bytes.writeUInt32LE(token >>> 0, at * 4));
    return finish(this.#hmac().update(`block\u0000${previous}\u0000`).update(bytes));
  }

  #hmac(): Hmac {
    return createHmac("sha256", this.#key);
  }
}

function finish(hmac: Hmac): string {
  return hmac.digest("hex").slice(0, 16);
}

class PromptBlocks {
  readonly size: Tokens;
  readonly #names: KeyedNames;
  readonly #encode: (text: string) => readonly number[];
  /** Messages repeat from turn to turn; readers often share the objects. */
  readonly #messages = new WeakMap<JsonObject, readonly number[]>();

  constructor(names: KeyedNames, encode: (text: string) => readonly number[], size: Tokens) {
    if (!Number.isSafeInteger(size) || size < 1) throw new Error(`block size ${size}`);
    this.size = size;
    this.#names = names;
    this.#encode = encode;
  }

  count(text: string): Tokens {
    return this.#encode(text).length;
  }

  prompt({ prompt }: TraceRequest): LengthPrompt {
    switch (prompt.kind) {
      case "text":
        return this.#named([this.#encode(prompt.text)]);
      case "ids":
        return this.#named([prompt.ids]);
      case "messages":
        return this.#named([...(prompt.tools ?? []), ...prompt.messages].map((part) => this.#message(part)));
      case "length":
        if (prompt.hash_ids === null) return prompt;
        // Names of others may be plain hashes of the content: they are keyed too, and scopes go into them.
        return {
          ...prompt,
          hash_ids: prompt.hash_ids.map((id) => this.#rename(prompt.hash_scope, id)),
          hash_scope: null,
        };
    }
  }

  #rename(scope: string | null, id: BlockId): string {
    return this.#names.of(
      "name",
      `${scope === null ? "" : `${scope.length}:${scope}`}\u0000${typeof id}\u0000${id}`,
    );
  }

  #message(message: JsonObject): readonly number[] {
    let tokens = this.#messages.get(message);
    if (tokens === undefined) {
      const { role, content, ...rest } = message;
      const parts = [
        typeof role === "string" ? role : "",
        typeof content === "string" ? content : content == null ? "" : JSON.stringify(content),
        Object.keys(rest).length > 0 ? JSON.stringify(rest) : "",
      ];
      tokens = this.#encode(parts.filter((part) => part !== "").join("\n"));
      this.#messages.set(message, tokens);
    }
    return tokens;
  }

  /** Whole blocks get names (floor); the rest is length only. */
  #named(parts: readonly (readonly number[])[]): LengthPrompt {
    const hash_ids: string[] = [];
    let block: number[] = [];
    let previous = "";
    let tokens = 0;
    for (const part of parts) {
      tokens += part.length;
      for (const token of part) {
        block.push(token);
        if (block.length < this.size) continue;
        previous = this.#names.block(previous, block);
        hash_ids.push(previous);
        block = [];
      }
    }
    return {
      kind: "length",
      tokens: Math.max(1, tokens),
      hash_ids,
      block_tokens: this.size,
      hash_scope: null,
    };
  }
}
