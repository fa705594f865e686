/**
 * TensorRT-LLM behind Triton: `POST /v2/models/ensemble/generate_stream`. It has no end event: the body's end is the end. (`trtllm-serve`
 * speaks the OpenAI protocols.)
 */
import { UserError } from "../../core/failure.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader } from "../protocol.ts";
import { asCount, asText, type Fields, JsonReader } from "./json-event.ts";

const PATH = "/v2/models/ensemble/generate_stream";

class TritonReader extends JsonReader {
  protected override take(object: Fields, delta: Delta): boolean {
    const text = asText(object["text_output"]);
    if (text === null) return false;
    delta.text = text;
    delta.output_tokens = asCount(object["output_token_count"]);
    delta.finish_reason = asText(object["finish_reason"]);
    return true;
  }
}

export const tensorrtLlm: Protocol = {
  name: "tensorrt-llm",
  title: "TensorRT-LLM generate_stream (Triton)",
  defaultPath: PATH,
  framing: "sse",
  prompts: ["text"],
  endsWithBody: true,
  request(request: ModelRequest): HttpRequest {
    const { prompt, max_tokens, temperature, force_length, stream } = request;
    if (prompt.kind !== "text") {
      throw new UserError("Triton's generate takes text only", {
        hint: "trtllm-serve takes --backend openai or openai-chat",
      });
    }
    return {
      method: "POST",
      path: stream ? PATH : "/v2/models/ensemble/generate",
      body: {
        text_input: prompt.text,
        ...(max_tokens === null ? {} : { max_tokens }),
        ...(force_length && max_tokens !== null ? { min_length: max_tokens } : {}),
        ...(temperature === null ? {} : { temperature }),
        accumulate_tokens: false,
        stream,
      },
    };
  },
  reader: (): ResponseReader => new TritonReader(),
};
