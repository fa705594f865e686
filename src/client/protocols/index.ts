/** All protocols, by the words that users of other tools know them by. Adding one: its file, and one line here. */
import { nearest } from "../../core/nearest.ts";
import { UserError } from "../../core/failure.ts";
import type { Protocol } from "../protocol.ts";
import { openaiChat } from "./openai-chat.ts";
import { openai } from "./openai.ts";

/** A protocol and the other names for it. */
export const PROTOCOLS: readonly { readonly protocol: Protocol; readonly aliases: readonly string[] }[] = [
  {
    protocol: openai,
    aliases: [
      "openai-completions",
      "vllm",
      "fastdeploy",
      "lmdeploy",
      "scalellm",
      "llama.cpp",
      "sglang-oai",
      "trtllm-serve",
    ],
  },
  {
    protocol: openaiChat,
    aliases: [
      "chat",
      "vllm-chat",
      "fastdeploy-chat",
      "lmdeploy-chat",
      "llama.cpp-chat",
      "sglang-oai-chat",
      "trtllm-serve-chat",
    ],
  },
];

/** Every name that {@link findProtocol} knows. */
export function protocolNames(): string[] {
  return PROTOCOLS.flatMap(({ protocol, aliases }) => [protocol.name, ...aliases]);
}

/** The protocol of that name (or alias, ignoring case); an unknown one is a `UserError` that names the nearest. */
export function findProtocol(name: string): Protocol {
  const wanted = name.trim().toLowerCase();
  const found = PROTOCOLS.find(
    ({ protocol, aliases }) => protocol.name === wanted || aliases.includes(wanted),
  );
  if (found !== undefined) return found.protocol;
  const near = nearest(wanted, protocolNames());
  throw new UserError(`unknown backend "${name}"`, {
    hint:
      near === null
        ? `known: ${PROTOCOLS.map(({ protocol }) => protocol.name).join(", ")}`
        : `did you mean ${near}?`,
  });
}
