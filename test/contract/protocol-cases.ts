/** What each protocol beside OpenAI's two asks and answers. */
import type { ModelRequest } from "../../src/client/client.ts";
import type { Observation } from "../../src/record/observation.ts";
import { event } from "../stub/events.ts";

export const IDS = { kind: "ids", ids: [5, 6] } as const;
export const MESSAGES = {
  kind: "messages",
  messages: [
    { role: "system", content: "be brief" },
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "ls", arguments: '{"p":"/"}' } }],
    },
    { role: "tool", tool_call_id: "c1", content: "bin" },
  ],
  tools: [
    { type: "function", function: { name: "ls", description: "lists", parameters: { type: "object" } } },
  ],
} as const;

export interface Case {
  readonly name: string;
  readonly request: Partial<ModelRequest>;
  readonly path: string;
  readonly body: object;
  /** Pieces of the stream at 100, 120, ... */
  readonly stream: readonly string[];
  readonly seen: Partial<Observation>;
  readonly error: string;
  readonly plain: {
    readonly path: string;
    readonly body: object;
    readonly seen: Partial<Observation>;
  } | null;
}

const named = (value: { type: string }): string => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
export const meta = (n: number, reason: unknown): object => ({
  prompt_tokens: 7,
  completion_tokens: n,
  cached_tokens: 4,
  finish_reason: reason,
});
export const line = (value: object): string => `${JSON.stringify(value)}\n`;

export const CASES: readonly Case[] = [
  {
    name: "sglang",
    request: { prompt: IDS, max_tokens: 3, force_length: true, temperature: 0 },
    path: "/generate",
    body: {
      input_ids: [5, 6],
      sampling_params: { temperature: 0, max_new_tokens: 3, min_new_tokens: 3, ignore_eos: true },
      stream: true,
    },
    stream: [
      event({ text: "你", meta_info: meta(1, null) }),
      event({ text: "你 b", meta_info: meta(2, null) }),
      event({ text: "你 b c", meta_info: meta(3, { type: "length", length: 3 }) }),
      "data: [DONE]\n\n",
    ],
    seen: {
      text: "你 b c",
      chunks: 3,
      chunk_tokens: [1, 1, 1],
      output_tokens: 3,
      prompt_tokens: 7,
      cached_tokens: 4,
      finish_reason: "length",
    },
    error: event({ error: { message: "boom" } }),
    plain: {
      path: "/generate",
      body: { text: "abc", meta_info: meta(3, { type: "stop" }) },
      seen: { text: "abc", output_tokens: 3, finish_reason: "stop" },
    },
  },
  {
    name: "tgi",
    request: { max_tokens: 2, force_length: true, temperature: 0.5 },
    path: "/generate_stream",
    body: {
      inputs: "hi",
      parameters: {
        details: true,
        max_new_tokens: 2,
        do_sample: true,
        temperature: 0.5,
        ignore_eos_token: true,
      },
    },
    stream: [
      event({ index: 1, token: { id: 1, text: "a", special: false }, generated_text: null, details: null }),
      event({ index: 2, token: { id: 2, text: " b", special: false }, generated_text: null, details: null }),
      event({
        index: 3,
        token: { id: 0, text: "</s>", special: true },
        generated_text: "a b",
        details: { finish_reason: "eos_token", generated_tokens: 3, input_length: 7 },
      }),
    ],
    seen: {
      text: "a b",
      chunks: 2,
      chunk_tokens: [1, 1],
      output_tokens: 3,
      prompt_tokens: 7,
      finish_reason: "eos_token",
    },
    error: event({ error: "boom", error_type: "generation" }),
    plain: {
      path: "/generate",
      body: { generated_text: "a b", details: { finish_reason: "length", generated_tokens: 2 } },
      seen: { text: "a b", output_tokens: 2 },
    },
  },
  {
    name: "tensorrt-llm",
    request: { max_tokens: 2, force_length: true, temperature: 0 },
    path: "/v2/models/ensemble/generate_stream",
    body: {
      text_input: "hi",
      max_tokens: 2,
      min_length: 2,
      temperature: 0,
      accumulate_tokens: false,
      stream: true,
    },
    stream: [
      event({ model_name: "ensemble", text_output: "a" }),
      event({ model_name: "ensemble", text_output: " b" }),
    ],
    seen: { text: "a b", chunks: 2, output_tokens: 2, output_tokens_source: "chunks", finish_reason: null },
    error: event({ error: "boom" }),
    plain: {
      path: "/v2/models/ensemble/generate",
      body: { text_output: "a b" },
      seen: { text: "a b", output_tokens: null },
    },
  },
  {
    name: "llama-server",
    request: { prompt: IDS, max_tokens: 2, force_length: true },
    path: "/completion",
    body: {
      prompt: [5, 6],
      n_predict: 2,
      ignore_eos: true,
      cache_prompt: true,
      return_tokens: true,
      stream: true,
    },
    stream: [
      event({ index: 0, content: "a", tokens: [11], stop: false, tokens_predicted: 1, tokens_evaluated: 7 }),
      event({
        index: 0,
        content: " b",
        tokens: [12, 13],
        stop: false,
        tokens_predicted: 3,
        tokens_evaluated: 7,
      }),
      event({
        content: "",
        tokens: [],
        stop: true,
        stop_type: "limit",
        tokens_predicted: 3,
        tokens_evaluated: 7,
        timings: { cache_n: 4, prompt_n: 3, prompt_ms: 12.5, predicted_n: 3, predicted_ms: 40 },
      }),
    ],
    seen: {
      text: "a b",
      chunks: 2,
      chunk_tokens: [1, 2],
      output_tokens: 3,
      prompt_tokens: 7,
      cached_tokens: 4,
      finish_reason: "length",
      engine: {
        queue_ms: null,
        prefill_ms: 12.5,
        decode_ms: 40,
        cached_tokens: 4,
        source: "llama.cpp timings",
      },
    },
    error: event({ error: { code: 400, message: "boom" } }),
    plain: {
      path: "/completion",
      body: { content: "a b", stop: true, stop_type: "eos", tokens_predicted: 3, tokens_evaluated: 7 },
      seen: { text: "a b", output_tokens: 3, finish_reason: "stop" },
    },
  },
  {
    name: "ollama",
    request: { prompt: MESSAGES, max_tokens: 2, temperature: 0 },
    path: "/api/chat",
    body: {
      model: "m",
      messages: MESSAGES.messages,
      tools: MESSAGES.tools,
      stream: true,
      options: { num_predict: 2, temperature: 0 },
    },
    stream: [
      line({ message: { role: "assistant", content: "", thinking: "hm" }, done: false }),
      line({ message: { role: "assistant", content: "é" }, done: false }),
      line({
        message: {
          role: "assistant",
          content: "",
          tool_calls: [{ function: { name: "ls", arguments: { p: "/" } } }],
        },
        done: false,
      }),
      line({
        message: { content: "" },
        done: true,
        done_reason: "stop",
        prompt_eval_count: 7,
        prompt_eval_duration: 5e6,
        eval_count: 3,
        eval_duration: 4e7,
      }),
    ],
    seen: {
      text: "é",
      chunks: 3,
      output_tokens: 3,
      prompt_tokens: 7,
      finish_reason: "stop",
      tool_calls: [{ id: null, name: "ls", arguments: '{"p":"/"}' }],
      engine: {
        queue_ms: null,
        prefill_ms: 5,
        decode_ms: 40,
        cached_tokens: null,
        source: "ollama durations",
      },
    },
    error: line({ error: "boom" }),
    plain: {
      path: "/api/chat",
      body: {
        message: { role: "assistant", content: "a b" },
        done: true,
        done_reason: "stop",
        prompt_eval_count: 7,
        eval_count: 3,
      },
      seen: { text: "a b", output_tokens: 3, prompt_tokens: 7, chunks: 0, finish_reason: "stop" },
    },
  },
  {
    name: "openai-responses",
    request: { prompt: MESSAGES, max_tokens: 5 },
    path: "/v1/responses",
    body: {
      model: "m",
      input: [
        { role: "system", content: "be brief" },
        { role: "user", content: "hi" },
        { type: "function_call", call_id: "c1", name: "ls", arguments: '{"p":"/"}' },
        { type: "function_call_output", call_id: "c1", output: "bin" },
      ],
      tools: [{ type: "function", name: "ls", description: "lists", parameters: { type: "object" } }],
      max_output_tokens: 5,
      store: false,
      stream: true,
    },
    stream: [
      named({ type: "response.created", response: { status: "in_progress", error: null } } as {
        type: string;
      }) + named({ type: "response.reasoning_text.delta", delta: "hm" } as { type: string }),
      named({ type: "response.output_text.delta", delta: "é" } as { type: string }),
      named({
        type: "response.output_item.added",
        output_index: 1,
        item: { type: "function_call", call_id: "c2", name: "ls", arguments: "" },
      } as { type: string }) +
        named({ type: "response.function_call_arguments.delta", output_index: 1, delta: "{}" } as {
          type: string;
        }),
      named({
        type: "response.completed",
        response: {
          status: "completed",
          error: null,
          usage: {
            input_tokens: 7,
            input_tokens_details: { cached_tokens: 4 },
            output_tokens: 3,
            output_tokens_details: { reasoning_tokens: 1 },
          },
        },
      } as { type: string }),
    ],
    seen: {
      text: "é",
      chunks: 4,
      output_tokens: 3,
      prompt_tokens: 7,
      cached_tokens: 4,
      reasoning_tokens: 1,
      finish_reason: "stop",
      tool_calls: [{ id: "c2", name: "ls", arguments: "{}" }],
    },
    error: named({
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error", message: "boom" } },
    } as { type: string }),
    plain: {
      path: "/v1/responses",
      body: {
        object: "response",
        status: "incomplete",
        error: null,
        incomplete_details: { reason: "max_output_tokens" },
        output: [{ type: "message", content: [{ type: "output_text", text: "é" }] }],
        usage: { input_tokens: 7, output_tokens: 5 },
      },
      seen: { text: "é", output_tokens: 5, finish_reason: "length" },
    },
  },
  {
    name: "anthropic-messages",
    request: { prompt: MESSAGES, max_tokens: null },
    path: "/v1/messages",
    body: {
      model: "m",
      system: "be brief",
      max_tokens: 4096,
      stream: true,
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "ls", input: { p: "/" } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "bin" }] },
      ],
      tools: [{ name: "ls", description: "lists", input_schema: { type: "object" } }],
    },
    stream: [
      named({
        type: "message_start",
        message: { usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 1 } },
      } as { type: string }) +
        named({
          type: "content_block_start",
          index: 0,
          content_block: { type: "thinking", thinking: "" },
        } as { type: string }) +
        named({ type: "ping" }) +
        named({
          type: "content_block_delta",
          index: 0,
          delta: { type: "thinking_delta", thinking: "hm" },
        } as { type: string }),
      named({ type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "é" } } as {
        type: string;
      }),
      named({
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: "c2", name: "ls", input: {} },
      } as { type: string }) +
        named({
          type: "content_block_delta",
          index: 2,
          delta: { type: "input_json_delta", partial_json: "{}" },
        } as { type: string }),
      named({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } } as {
        type: string;
      }) + named({ type: "message_stop" }),
    ],
    seen: {
      text: "é",
      chunks: 4,
      output_tokens: 9,
      prompt_tokens: 7,
      cached_tokens: 4,
      finish_reason: "tool_use",
      tool_calls: [{ id: "c2", name: "ls", arguments: "{}" }],
    },
    error: named({ type: "error", error: { type: "overloaded_error", message: "boom" } } as { type: string }),
    plain: {
      path: "/v1/messages",
      body: {
        content: [{ type: "text", text: "é" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 7, output_tokens: 2 },
      },
      seen: { text: "é", output_tokens: 2, prompt_tokens: 7, finish_reason: "end_turn" },
    },
  },
];
