/**
 * AIPerf's trace rows, `single_turn` and `multi_turn`: rows of one `session_id` are turns in the order of the file. From
 * the second on, `input_length` and `hash_ids` are what the turn adds; the prompt is the history, the planned answers in
 * it, and that.
 */
import type { JsonObject } from "../../core/json.ts";
import { BlockNamer, sumTokens, type Piece } from "../block-namer.ts";
import { lengthPrompt, newRequest } from "../new-request.ts";
import { BadRow } from "../row-account.ts";
import {
  integerField,
  objectsField,
  optionalId,
  optionalInteger,
  optionalNumber,
  optionalObject,
  optionalObjects,
  optionalString,
} from "../row-fields.ts";
import type { TracePrompt, TraceRequest } from "../trace-request.ts";
import { blockPrompt } from "./mooncake.ts";

const MEDIA = ["image", "images", "audio", "audios", "video", "videos"] as const;

interface Session {
  turns: number;
  /** The stream of the conversation so far, answers counted in; `null` once a turn had text. */
  pieces: Piece[] | null;
  messages: readonly JsonObject[];
  /** Timestamp of the last turn that had one. */
  arrival_ms: number | null;
  /** Whether the length of an answer in the history is not known. */
  open: boolean;
}

export class AiperfSessions {
  readonly requests: TraceRequest[] = [];
  readonly #sessions = new Map<string, Session>();
  readonly #namer = new BlockNamer();
  readonly #block: number;
  #deltas = 0;
  #withoutAnswers = 0;
  #openAnswers = 0;
  #looseDelays = 0;
  #media = 0;

  constructor(block: number) {
    this.#block = block;
  }

  /** Adds one row: a turn, or (`multi_turn`) a whole session. */
  add(row: JsonObject, line: number): void {
    const id = optionalId(row, "session_id");
    if (row["turns"] == null) {
      if (id === null && row["delay"] != null && row["timestamp"] == null) this.#looseDelays++;
      this.requests.push(this.#turn(row, `r${line}`, id ?? `r${line}`, id !== null));
      return;
    }
    const turns = row["turns"];
    if (!Array.isArray(turns) || turns.length === 0) throw new BadRow('"turns" must be a non-empty array');
    const job = id ?? `r${line}`;
    if (this.#sessions.has(job)) throw new BadRow(`session "${job}" occurred before`);
    const parsed = (turns as unknown[]).map((turn, at) => {
      if (typeof turn === "string") return this.#turn({ text: turn }, `r${line}.${at + 1}`, job, true);
      if (typeof turn !== "object" || turn === null)
        throw new BadRow(`turn ${at + 1} must be an object or a string`);
      return this.#turn(turn as JsonObject, `r${line}.${at + 1}`, job, true);
    });
    this.requests.push(...parsed);
  }

  notes(): string[] {
    return [
      ...(this.#deltas > 0
        ? [
            `${this.#deltas} turns tell only what they add; their prompts are the history, the planned answers and that`,
          ]
        : []),
      ...(this.#withoutAnswers > 0
        ? [
            `${this.#withoutAnswers} turns go on a history whose answers are not in the file; --history live puts them in`,
          ]
        : []),
      ...(this.#openAnswers > 0
        ? [
            `${this.#openAnswers} turns follow an answer of unknown length, which counts as 0 in their prompts`,
          ]
        : []),
      ...(this.#looseDelays > 0
        ? [`${this.#looseDelays} rows have a delay but no session to count it from; it is not used`]
        : []),
      ...(this.#media > 0
        ? [`${this.#media} turns had images, sound or video; only their text is replayed`]
        : []),
    ];
  }

  #turn(row: JsonObject, request_id: string, job_id: string, inSession: boolean): TraceRequest {
    const session: Session = this.#sessions.get(job_id) ?? {
      turns: 0,
      pieces: [],
      messages: [],
      arrival_ms: null,
      open: false,
    };
    const output = optionalInteger(row, "output_length", 1);
    const arrival_ms = optionalNumber(row, "timestamp");
    if (inSession && arrival_ms !== null && session.arrival_ms !== null && arrival_ms < session.arrival_ms)
      throw new BadRow(
        `timestamp ${arrival_ms} is before that of an earlier turn of session "${job_id}", ${session.arrival_ms}`,
      );
    const delay = optionalNumber(row, "delay");
    const extra = optionalObject(row, "extra");
    const model = optionalString(row, "model");
    const { prompt, metadata } = this.#prompt(row, job_id, session, output);
    // Only a row that is good in all its fields becomes part of the session.
    session.turns++;
    session.arrival_ms = arrival_ms ?? session.arrival_ms;
    if (inSession) this.#sessions.set(job_id, session);
    return newRequest({
      request_id,
      job_id,
      turn: inSession ? session.turns : null,
      arrival_ms,
      after: arrival_ms === null && session.turns === 1 ? [] : null,
      think_ms: inSession && session.turns > 1 ? delay : null,
      prompt,
      expected_output_tokens: output,
      max_tokens: optionalInteger(row, "max_tokens", 1),
      params: extra,
      metadata: model === null ? metadata : { ...metadata, model },
    });
  }

  #prompt(
    row: JsonObject,
    job: string,
    session: Session,
    output: number | null,
  ): { prompt: TracePrompt; metadata: JsonObject | null } {
    const first = session.turns === 0;
    if (MEDIA.some((key) => row[key] != null)) this.#media++;
    const fresh = textMessages(row);
    if (fresh !== null) {
      const whole = row["messages"] != null && (row["message_mode"] ?? "history") === "history";
      const messages = whole ? fresh : [...session.messages, ...fresh];
      const tools = optionalObjects(row, "tools");
      if (!first && !whole) this.#withoutAnswers++;
      session.messages = messages;
      session.pieces = null;
      const only =
        messages.length === 1 && first && row["messages"] == null ? messages[0]?.["content"] : null;
      return {
        prompt:
          typeof only === "string" ? { kind: "text", text: only } : { kind: "messages", messages, tools },
        metadata: first || whole ? null : { delta_messages: fresh.length },
      };
    }
    const own = blockPrompt(row, this.#block);
    if (own.kind !== "length") throw new BadRow("a turn needs input_length, text_input, text or messages");
    if (session.pieces === null)
      throw new BadRow("a turn of bare length follows a turn of text in its session");
    const pieces = [...session.pieces, ...piecesOf(own, this.#block, `${job}/${session.turns}`)];
    const answer: Piece[] =
      output === null ? [] : [{ text: `answer ${job}/${session.turns}`, tokens: output }];
    if (!first) {
      this.#deltas++;
      if (session.open) this.#openAnswers++;
    }
    session.open = output === null;
    session.pieces = [...pieces, ...answer];
    if (first) return { prompt: first ? this.#firstPrompt(own, pieces) : own, metadata: null };
    return {
      prompt: this.#namer.prompt(pieces),
      metadata: {
        delta_tokens: own.tokens,
        ...(own.hash_ids === null ? {} : { delta_hash_ids: own.hash_ids, delta_block_tokens: this.#block }),
      },
    };
  }

  /** Renamed like the later turns, so that these share its blocks. A prompt without names stays bare. */
  #firstPrompt(own: TracePrompt & { kind: "length" }, pieces: readonly Piece[]): TracePrompt {
    if (own.hash_ids === null) return lengthPrompt(sumTokens(pieces));
    return this.#namer.prompt(pieces);
  }
}

/** A turn's own text as messages; `null` where it tells only a length. */
function textMessages(row: JsonObject): readonly JsonObject[] | null {
  if (row["messages"] != null) {
    const messages = objectsField(row, "messages");
    if (messages.length === 0) throw new BadRow('"messages" is empty');
    return messages;
  }
  const texts = textParts(row["texts"]);
  const text =
    optionalString(row, "text_input") ??
    (typeof row["text"] === "string" ? row["text"] : null) ??
    (texts === null ? null : texts.join("\n"));
  if (text === null) {
    if (row["input_length"] === undefined)
      throw new BadRow('a turn needs "input_length", "text_input", "text" or "messages"');
    integerField(row, "input_length", 1);
    return null;
  }
  if (text === "") throw new BadRow("the text is empty");
  return [{ role: optionalString(row, "role") ?? "user", content: text }];
}

/** `texts`: strings, or objects whose `contents` are strings. */
function textParts(texts: unknown): readonly string[] | null {
  if (!Array.isArray(texts)) return null;
  const parts = texts.flatMap((part: unknown): unknown[] => {
    const contents = typeof part === "object" && part !== null ? (part as JsonObject)["contents"] : part;
    return Array.isArray(contents) ? contents : [contents];
  });
  return parts.every((part): part is string => typeof part === "string") ? parts : null;
}

/** The pieces of a bare length: its named blocks, or one piece of its own. */
function piecesOf(prompt: TracePrompt & { kind: "length" }, block: number, own: string): Piece[] {
  if (prompt.hash_ids === null) return [{ text: `turn ${own}`, tokens: prompt.tokens }];
  return prompt.hash_ids.map((id, at) => ({
    text: `block ${id}`,
    tokens: Math.min(block, prompt.tokens - at * block),
  }));
}
