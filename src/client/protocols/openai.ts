/** OpenAI completions: `POST /v1/completions`. Takes text and token ids. */
import { UserError } from "../../core/failure.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader } from "../protocol.ts";
import { asFields, asText, type Fields } from "./json-event.ts";
import { ChoicesReader } from "./openai-choices.ts";
import { openaiFields } from "./openai-request.ts";

const PATH = "/v1/completions";

class CompletionsReader extends ChoicesReader {
  protected override takeChoice(choice: Fields, delta: Delta): boolean {
    if (isChat(choice)) return false;
    delta.text = asText(choice["text"]);
    delta.reasoning = asText(choice["reasoning_content"]) || asText(choice["reasoning"]);
    return true;
  }

  protected override hasPayload(choice: Fields): boolean | null {
    if (isChat(choice)) return null;
    return ["text", "reasoning_content", "reasoning"].some((key) => (asText(choice[key]) ?? "") !== "");
  }
}

/** A chat chunk with something in it: this server's path speaks the other protocol. */
function isChat(choice: Fields): boolean {
  if (choice["text"] !== undefined) return false;
  const message = asFields(choice["delta"]) ?? asFields(choice["message"]);
  return (
    message !== null &&
    ["content", "reasoning_content", "reasoning", "tool_calls"].some((key) => !isEmpty(message[key]))
  );
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)
  );
}

export const openai: Protocol = {
  name: "openai",
  title: "OpenAI completions",
  defaultPath: PATH,
  framing: "sse",
  independentEvents: true,
  prompts: ["text", "ids"],
  request(request: ModelRequest): HttpRequest {
    const { prompt } = request;
    if (prompt.kind === "messages") {
      throw new UserError("the completions protocol takes text or token ids, not chat messages", {
        hint: "use --backend openai-chat for traces with messages",
      });
    }
    return {
      method: "POST",
      path: PATH,
      body: {
        model: request.model,
        prompt: prompt.kind === "text" ? prompt.text : prompt.ids,
        ...openaiFields(request),
      },
    };
  },
  reader: (): ResponseReader => new CompletionsReader(),
};
