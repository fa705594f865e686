/**
 * TraceLab's sanitized rounds: JSONL, a row a request to the model. Text is gone, but each row tells how many tokens
 * of its prompt the provider had cached, from which prefix blocks are named anew (inferred sharing).
 */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import { BlockNamer, cutPieces, sumTokens, type Piece } from "../block-namer.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { newRecorded, newRequest } from "../new-request.ts";
import { newTrace } from "../new-trace.ts";
import { scalarText } from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import {
  idField,
  integerField,
  optionalInteger,
  optionalIsoInstant,
  optionalNumber,
  optionalObjects,
  optionalString,
} from "../row-fields.ts";
import { readJsonlRows } from "../row-reader.ts";
import { mostRowsHave } from "../sample.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";
import { TimedChain } from "../turn-chain.ts";

interface Round {
  readonly index: number;
  readonly line: number;
  readonly sent: Ms | null;
  readonly end: Ms | null;
  readonly prompt: number;
  readonly prefix: number;
  readonly output: number | null;
  readonly tools: readonly ToolCall[];
  readonly model: string | null;
  /** Whose first cached tokens may be shared: sessions of one provider and model. */
  readonly family: string;
}

/** What a request waits for: it is sent at the latest of these. */
const INPUTS = new Set(["user_message", "tool_result"]);

export const tracelab: TraceFormat = {
  name: "tracelab",
  title: "TraceLab sanitized rounds (JSONL, a row a request)",
  marks: [
    "session_id",
    "round_index",
    "input_tokens_total",
    "prefix_tokens",
    "newly_append_tokens",
    "output_tokens",
  ],
  detect(sample) {
    return mostRowsHave(sample, "session_id", "round_index", "input_tokens_total", "prefix_tokens") ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const axis = new TimeAxis();
    const sessions = new Map<string, Map<number, Round>>();
    await readJsonlRows(path, account, (row, line) => {
      const id = idField(row, "session_id");
      const round = parseRound(row, line, axis);
      const own = sessions.get(id) ?? new Map<number, Round>();
      const twice = own.get(round.index);
      if (twice !== undefined)
        throw new BadRow(`round ${round.index} of "${id}" occurs twice (first in line ${twice.line})`);
      sessions.set(id, own.set(round.index, round));
    });
    const namer = new BlockNamer();
    const requests: TraceRequest[] = [];
    for (const [id, rounds] of sessions) requests.push(...sessionTurns(id, rounds, namer));
    const placed = fromFirstArrival(requests, axis);
    return newTrace("tracelab", account, {
      ...placed,
      provenance: {
        arrivals: "recorded",
        order: "recorded",
        think_time: "recorded",
        prompt_length: "recorded",
        prefix_sharing: "inferred",
        output_length: "recorded",
      },
      notes: [
        "prefix blocks are named from the recorded cached tokens: what a session's first request found cached is taken to be shared by all sessions of its provider and model",
      ],
    });
  },
};

function parseRound(row: JsonObject, line: number, axis: TimeAxis): Round {
  const prompt = integerField(row, "input_tokens_total", 1);
  const prefix = optionalInteger(row, "prefix_tokens") ?? 0;
  const fresh = optionalInteger(row, "newly_append_tokens");
  if (prefix > prompt || (fresh !== null && prefix + fresh !== prompt))
    throw new BadRow(
      `"input_tokens_total" ${prompt} is not "prefix_tokens" ${prefix} + "newly_append_tokens" ${fresh ?? prompt - prefix}`,
    );
  let [sent, end] = [null as Ms | null, null as Ms | null];
  for (const event of optionalObjects(row, "timing_events") ?? []) {
    const time = axis.at(optionalIsoInstant(event, "timestamp"));
    if (time === null) continue;
    if (INPUTS.has(scalarText(event["event_type"]))) sent = Math.max(sent ?? time, time);
    else end = Math.max(end ?? time, time);
  }
  return {
    index: integerField(row, "round_index"),
    line,
    sent,
    end: sent !== null && end !== null && end < sent ? null : end,
    prompt,
    prefix,
    output: optionalInteger(row, "output_tokens"),
    tools: (optionalObjects(row, "tools") ?? []).flatMap((tool) => {
      const ms = optionalNumber(tool, "tool_wall_latency_ms");
      return ms === null ? [] : [{ name: optionalString(tool, "tool_name") ?? "tool", ms }];
    }),
    model: optionalString(row, "model"),
    family: `${optionalString(row, "provider") ?? ""}/${optionalString(row, "model") ?? ""}`,
  };
}

function sessionTurns(id: string, rounds: ReadonlyMap<number, Round>, namer: BlockNamer): TraceRequest[] {
  const turns: TraceRequest[] = [];
  let before: Round | null = null;
  let held: readonly Piece[] = [];
  const chain = new TimedChain();
  for (const round of [...rounds.values()].sort((a, b) => a.index - b.index)) {
    const shared: readonly Piece[] =
      before === null
        ? [{ text: `start ${round.family}`, tokens: round.prefix }]
        : cutPieces(held, round.prefix);
    const own = round.prompt - sumTokens(shared);
    const pieces = own > 0 ? [...shared, { text: `${id} ${round.index}`, tokens: own }] : shared;
    held = pieces;
    turns.push(
      newRequest({
        ...chain.next(id, round.sent, round.end),
        request_id: `${id}/${round.index}`,
        after: before === null ? [] : [`${id}/${before.index}`],
        tool: before !== null && before.tools.length > 0 ? before.tools : null,
        prompt: namer.prompt(pieces),
        recorded: newRecorded({
          sent_ms: round.sent,
          end_ms: round.end,
          prompt_tokens: round.prompt,
          output_tokens: round.output,
          cached_tokens: round.prefix,
        }),
        metadata: round.model === null ? null : { model: round.model },
      }),
    );
    before = round;
  }
  return turns;
}
