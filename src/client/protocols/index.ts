/** All protocols, by the words that users of other tools know them by. Adding one: its file, and one line here. */
import { nearest } from "../../core/nearest.ts";
import { UserError } from "../../core/failure.ts";
import type { Protocol } from "../protocol.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { llamaServer } from "./llama-server.ts";
import { ollama } from "./ollama.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiEmbeddings } from "./openai-embeddings.ts";
import { openaiResponses } from "./openai-responses.ts";
import { openai } from "./openai.ts";
import { rerank } from "./rerank.ts";
import { sglang } from "./sglang.ts";
import { tensorrtLlm } from "./tensorrt-llm.ts";
import { tgi } from "./tgi.ts";

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
  { protocol: sglang, aliases: ["sglang-native"] },
  { protocol: tgi, aliases: [] },
  { protocol: tensorrtLlm, aliases: ["trt", "trtllm", "triton"] },
  { protocol: llamaServer, aliases: ["llama.cpp-completion", "llama.cpp-native"] },
  { protocol: ollama, aliases: [] },
  { protocol: openaiEmbeddings, aliases: ["embeddings", "vllm-embeddings", "sglang-embedding"] },
  { protocol: rerank, aliases: ["vllm-rerank"] },
  { protocol: openaiResponses, aliases: ["responses"] },
  { protocol: anthropicMessages, aliases: ["anthropic", "messages"] },
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
