/** What the vLLM child says, checked where it comes in. */
import { z } from "zod";
import type { EngineRequest } from "../engine.ts";

const count = z.int().min(0);
const ms = z.number().nullish();

const ready = z.object({
  e: z.literal("ready"),
  version: z.string().nullable(),
  model: z.string(),
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});
const end = z.object({
  e: z.literal("end"),
  i: count,
  at: z.number(),
  reason: z.string(),
  prompt: count,
  output: count,
  cached: count.nullish(),
  queue: ms,
  prefill: ms,
  decode: ms,
  preemptions: count.nullish(),
  text: z.string().optional(),
  ignored: z.array(z.string()).optional(),
});
const fail = z.object({
  e: z.literal("fail"),
  i: count,
  kind: z.enum(["refused", "engine"]),
  message: z.string(),
  at: z.number(),
});
const reply = z.looseObject({ e: z.literal("reply"), call: count, error: z.string().optional() });
const dead = z.object({ e: z.literal("dead"), message: z.string() });
const seldom = z.discriminatedUnion("e", [ready, end, fail, reply, dead]);

/** Output tokens came: by far the most frequent, and checked by hand. */
export interface TokenMessage {
  readonly e: "tok";
  readonly i: number;
  readonly n: number;
  readonly at: number;
}

export type ReadyMessage = z.infer<typeof ready>;
export type EndMessage = z.infer<typeof end>;
export type ReplyMessage = z.infer<typeof reply>;
export type ChildMessage = TokenMessage | z.infer<typeof seldom>;

/** `null` for what is not of the protocol. */
export function parseChildMessage(line: string): ChildMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (isToken(value)) return value;
  const parsed = seldom.safeParse(value);
  return parsed.success ? parsed.data : null;
}

function isToken(value: unknown): value is TokenMessage {
  const message = value as Partial<TokenMessage> | null;
  return (
    typeof message === "object" &&
    message !== null &&
    message.e === "tok" &&
    Number.isSafeInteger(message.i) &&
    typeof message.n === "number" &&
    message.n >= 1 &&
    typeof message.at === "number"
  );
}

/** A request as a line without its beginning, `{"id":N,`: it is made before the number is known. */
export function submitText(request: EngineRequest): string {
  const message = {
    op: "submit",
    prompt: request.prompt,
    max_tokens: request.max_tokens,
    force: request.force_length,
    stream: request.stream,
    text: request.keep_text,
    fields: request.fields,
  };
  return JSON.stringify(message).slice(1);
}
