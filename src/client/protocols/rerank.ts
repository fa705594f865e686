/**
 * Rerank, as vLLM, SGLang, TEI gateways and Jina serve it: `POST /v1/rerank`. The first line of the prompt is the query, the other lines are
 * the documents, unless the request's parameters bring `documents` of their own. Latency only.
 */
import { UserError } from "../../core/failure.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader } from "../protocol.ts";
import { asCount, asFields, bareError, type Fields, JsonReader } from "./json-event.ts";

const PATH = "/v1/rerank";

class RerankReader extends JsonReader {
  protected override take(object: Fields, delta: Delta): boolean {
    if (!Array.isArray(object["results"]) && !Array.isArray(object["data"])) {
      delta.error = bareError(object);
      return delta.error !== null;
    }
    const usage = asFields(object["usage"]);
    delta.prompt_tokens = asCount(usage?.["prompt_tokens"]) ?? asCount(usage?.["total_tokens"]);
    return true;
  }

  /** A bare list of scores. */
  protected override takeOther(value: unknown): boolean {
    return Array.isArray(value) && value.every((item) => asFields(item) !== null);
  }
}

export const rerank: Protocol = {
  name: "rerank",
  title: "Rerank",
  defaultPath: PATH,
  framing: "sse",
  prompts: ["text"],
  request(request: ModelRequest): HttpRequest {
    const { prompt, model, params } = request;
    if (prompt.kind !== "text") throw new UserError("the rerank protocol takes text only");
    if (params?.["documents"] !== undefined)
      return { method: "POST", path: PATH, body: { model, query: prompt.text } };
    const [query = "", ...documents] = prompt.text.split("\n").filter((line) => line.trim() !== "");
    return {
      method: "POST",
      path: PATH,
      body: { model, query, documents: documents.length > 0 ? documents : [query] },
    };
  },
  reader: (): ResponseReader => new RerankReader(),
};
