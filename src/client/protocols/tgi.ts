/** Text Generation Inference: `POST /generate_stream` (and `/generate` without streaming). One token an event. */
import { UserError } from "../../core/failure.ts";
import type { ModelRequest } from "../client.ts";
import type { Delta, HttpRequest, Protocol, ResponseReader } from "../protocol.ts";
import { asCount, asFields, asText, type Fields, JsonReader } from "./json-event.ts";

const PATH = "/generate_stream";

class TgiReader extends JsonReader {
  protected override take(object: Fields, delta: Delta, streamed: boolean): boolean {
    const token = asFields(object["token"]);
    const whole = asText(object["generated_text"]);
    const details = asFields(object["details"]);
    if (token === null && whole === null && details === null) return false;
    if (token !== null) {
      delta.chunk_tokens = 1;
      // The end-of-text token has a text that is no part of the answer.
      if (token["special"] !== true) delta.text = asText(token["text"]);
    } else if (!streamed) delta.text = whole;
    if (details !== null) {
      delta.output_tokens = asCount(details["generated_tokens"]);
      delta.prompt_tokens = asCount(details["input_length"]);
      const prefill = details["prefill"];
      if (Array.isArray(prefill) && prefill.length > 0) delta.prompt_tokens ??= prefill.length;
    }
    if (whole !== null) {
      delta.finish_reason = asText(details?.["finish_reason"]) ?? "stop";
      delta.done = true;
    }
    return true;
  }

  protected override takeOther(value: unknown, delta: Delta, streamed: boolean): boolean {
    // Without streaming some versions answer with a list of one.
    const first = Array.isArray(value) ? asFields(value[0]) : null;
    return first !== null && this.take(first, delta, streamed);
  }
}

export const tgi: Protocol = {
  name: "tgi",
  title: "Text Generation Inference",
  defaultPath: PATH,
  framing: "sse",
  prompts: ["text"],
  request(request: ModelRequest): HttpRequest {
    const { prompt, max_tokens, temperature, force_length, stream } = request;
    if (prompt.kind !== "text")
      throw new UserError("TGI's generate takes text only", { hint: "its chat is --backend openai-chat" });
    return {
      method: "POST",
      path: stream ? PATH : "/generate",
      body: {
        inputs: prompt.text,
        parameters: {
          details: true,
          ...(max_tokens === null ? {} : { max_new_tokens: max_tokens }),
          // A temperature of 0 is refused; greedy is said by not sampling.
          ...(temperature === null || temperature === 0
            ? { do_sample: false }
            : { do_sample: true, temperature }),
          ...(force_length && max_tokens !== null ? { ignore_eos_token: true } : {}),
        },
      },
    };
  },
  reader: (): ResponseReader => new TgiReader(),
};
