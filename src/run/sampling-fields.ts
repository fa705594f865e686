/** Sampling options as body fields, by protocol. What a protocol cannot carry is refused before anything is sent. */
import { UserError } from "../core/failure.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { findProtocol, protocolNames } from "../client/protocols/index.ts";
import type { Given } from "./options/option.ts";
import { flagOf } from "./options/option.ts";
import type { samplingOptions } from "./options/sampling-options.ts";

type SamplingGiven = Given<typeof samplingOptions>;

const PLAIN = [
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
] as const;

/** Nothing in these requests keeps a model from ending early, or nothing is generated. */
const ENDS_BY_ITSELF = ["ollama", "anthropic-messages", "openai-embeddings", "rerank"];

/** An engine in this process: it takes the sampling fields that it knows. */
const IN_PROCESS = "an engine in this process";

/** The name of the protocol behind HTTP; `null` for an engine in this process (or a name that the target will refuse). */
export function protocolNameOf(backend: string): string | null {
  const known = protocolNames().includes(backend.trim().toLowerCase());
  return known ? findProtocol(backend).name : null;
}

/** Fields that belong to a measured request and make no sense in a ready check or a warm-up of another length. */
const OF_LENGTH = new Set([
  "max_tokens",
  "max_completion_tokens",
  "min_tokens",
  "ignore_eos",
  "n",
  "best_of",
  "use_beam_search",
  "logprobs",
  "top_logprobs",
  "stream",
  "stream_options",
]);

/** Only what was given; empty for none. A {@link UserError} names the first option that `backend` cannot carry. */
export function samplingFields(given: SamplingGiven, backend: string): JsonObject {
  const protocol = protocolNameOf(backend) ?? IN_PROCESS;
  const fields: Record<string, JsonValue> = {};
  const put = (key: keyof SamplingGiven, by: readonly string[], value: JsonObject): void => {
    if (!by.includes(protocol))
      throw new UserError(`${flagOf(key)}: backend ${backend} cannot carry it`, {
        hint: `it works with ${by.filter((name) => name !== IN_PROCESS).join(" and ")}; --extra-body sends a field of your own`,
      });
    Object.assign(fields, value);
  };
  for (const key of PLAIN) {
    const value = given[key];
    if (value !== undefined) put(key, ["openai", "openai-chat", IN_PROCESS], { [key]: value });
  }
  const { logprobs, best_of: bestOf } = given;
  if (logprobs !== undefined)
    put(
      "logprobs",
      ["openai", "openai-chat"],
      protocol === "openai-chat" ? { logprobs: true, top_logprobs: logprobs } : { logprobs },
    );
  if (given.ignore_eos === true && ENDS_BY_ITSELF.includes(protocol))
    throw new UserError(`--ignore-eos: backend ${backend} cannot carry it`, {
      hint: "leave it out: answers end where the model ends, at the latest at the planned length",
    });
  const ignores =
    backend === "llama-cpp" || (protocol.startsWith("openai") && protocol !== "openai-embeddings");
  if (given.ignore_eos === true && ignores) fields["ignore_eos"] = true;
  if (bestOf !== undefined && (bestOf > 1 || protocol === "openai"))
    put("best_of", ["openai"], { best_of: bestOf });
  if (given.use_beam_search === true)
    put("use_beam_search", ["openai", "openai-chat"], { use_beam_search: true });
  return fields;
}

/** The fields that ready checks and warm-ups carry too: all but those that change what is generated how long. */
export function sideFields(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !OF_LENGTH.has(key)));
}
