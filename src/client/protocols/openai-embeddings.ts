/** OpenAI embeddings: `POST /v1/embeddings`. No stream, no tokens out: latency only. */
import { UserError } from "../../core/failure.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader } from "../protocol.ts";
import { bareError, type Fields, JsonReader } from "./json-event.ts";
import { readUsage } from "./openai-usage.ts";

const PATH = "/v1/embeddings";

class EmbeddingsReader extends JsonReader {
  protected override take(object: Fields, delta: Delta): boolean {
    if (!Array.isArray(object["data"])) {
      delta.error = bareError(object);
      return delta.error !== null;
    }
    readUsage(object["usage"], delta);
    // Some servers count 0 completion tokens; an embedding has no output.
    delta.output_tokens = null;
    return true;
  }
}

export const openaiEmbeddings: Protocol = {
  name: "openai-embeddings",
  title: "OpenAI embeddings",
  defaultPath: PATH,
  framing: "sse",
  prompts: ["text", "ids"],
  request(request: ModelRequest): HttpRequest {
    const { prompt, model } = request;
    if (prompt.kind === "messages")
      throw new UserError("the embeddings protocol takes text or token ids, not chat messages");
    return {
      method: "POST",
      path: PATH,
      body: { model, input: prompt.kind === "text" ? prompt.text : prompt.ids },
    };
  },
  reader: (): ResponseReader => new EmbeddingsReader(),
};
