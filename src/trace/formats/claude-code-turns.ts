/** Turns of a Claude Code log: what each answer's prompt held, what it waited for, and the tools that ran before it. */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import { gapAfter } from "../instant.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { answerText, messageText } from "../openai-messages.ts";
import { numberedByTime } from "../turn-numbers.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";
import type { Answer, ClaudeCodeLog, LogRow } from "./claude-code-log.ts";

export interface LogTurns {
  readonly requests: readonly TraceRequest[];
  /** Messages that no request held (what came after the last answer). */
  readonly unused: number;
  readonly side_agents: number;
  /** Answers that tell neither a prompt nor its length: nothing could be sent for them. */
  readonly bare: readonly LogRow[];
}

interface Turn {
  readonly answer: Answer;
  readonly id: string;
  readonly job_id: string;
  readonly sent: Ms | null;
  readonly messages: readonly JsonObject[];
  readonly tools: readonly ToolCall[];
  /** Tool results among its inputs. */
  readonly results: readonly LogRow[];
  readonly parents: Turn[];
}

interface Agent {
  readonly name: string | null;
  readonly rows: readonly LogRow[];
  readonly turns: Turn[];
}

export function turnsOfLog(log: ClaudeCodeLog): LogTurns {
  const uses = new Map(log.answers.flatMap((answer) => answer.uses.map((use) => [use.id, use] as const)));
  const held = new Set<LogRow>();
  const requests: TraceRequest[] = [];
  const bare: LogRow[] = [];
  let side_agents = 0;
  for (const rows of groupBy(log.rows, ({ session }) => session).values()) {
    const agents = agentsOf(rows, log).map((own) => readAgent(own.rows, own.name, log, uses, held, bare));
    const main = agents.find(({ name }) => name === null);
    const sides = agents.filter(({ name }) => name !== null);
    side_agents += sides.length;
    if (main !== undefined) for (const side of sides) attach(side, main);
    const all = agents.flatMap(({ name, turns }) => turns.map((turn) => ({ name, turn })));
    requests.push(...toRequests(all));
  }
  const unused = log.rows.filter((row) => row.answer === null && !held.has(row)).length;
  return { requests, unused, side_agents, bare };
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const own = groups.get(key(item));
    if (own === undefined) groups.set(key(item), [item]);
    else own.push(item);
  }
  return groups;
}

/** The main agent's rows, and each sub-agent's: by its name, else by the first row of its chain. */
function agentsOf(
  rows: readonly LogRow[],
  log: ClaudeCodeLog,
): { readonly name: string | null; readonly rows: readonly LogRow[] }[] {
  const main = rows.filter(({ agent }) => agent === null);
  const sides = groupBy(
    rows.filter(({ agent }) => agent !== null),
    (row) => row.agent || rootOf(row, log),
  );
  return [
    ...(main.length > 0 ? [{ name: null, rows: main }] : []),
    ...[...sides].map(([name, own]) => ({ name, rows: own })),
  ];
}

function rootOf(row: LogRow, log: ClaudeCodeLog): string {
  let root = row;
  const seen = new Set<string>();
  for (let id = row.parent; id !== null && !seen.has(id); id = log.links.get(id) ?? null) {
    seen.add(id);
    const parent = log.byUuid.get(id);
    if (parent !== undefined && parent.agent === null) break;
    if (parent !== undefined) root = parent;
  }
  return root.uuid ?? "sub-agent";
}

function readAgent(
  rows: readonly LogRow[],
  name: string | null,
  log: ClaudeCodeLog,
  uses: ReadonlyMap<string, Answer["uses"][number]>,
  held: Set<LogRow>,
  bare: LogRow[],
): Agent {
  const linked = rows.some(({ parent }) => parent !== null && log.links.has(parent));
  const turns: Turn[] = [];
  const byAnswer = new Map<Answer, Turn>();
  let last = 0;
  for (const row of rows) {
    const { answer } = row;
    if (answer === null || answer.first !== row) continue;
    const before = historyOf(row, rows, linked, log);
    const messages = messagesOf(before);
    if (messages.length === 0 && !answer.prompt_tokens) {
      bare.push(...answer.lines);
      continue;
    }
    const inputs = before.filter((input) => input.answer === null);
    for (const input of inputs) held.add(input);
    const fresh = inputs.filter(({ at }) => at >= last);
    const parent = before.findLast((earlier) => earlier.answer !== null)?.answer ?? turns.at(-1)?.answer;
    // Nothing logged in between: the agent asked again at once.
    const asked = fresh.length > 0 ? latest(fresh) : (parent?.end ?? null);
    const turn: Turn = {
      answer,
      id: answer.id,
      job_id: row.session,
      sent: asked === null || row.time === null ? (asked ?? row.time) : Math.min(asked, row.time),
      messages,
      tools: fresh.flatMap((input) => toolTimes(input, uses)),
      results: fresh.filter((input) => input.answers.length > 0),
      parents: parent === undefined ? [] : [byAnswer.get(parent)].filter((found) => found !== undefined),
    };
    byAnswer.set(answer, turn);
    turns.push(turn);
    last = row.at;
  }
  return { name, rows, turns };
}

/** Rows that the request held: its chain of parents with all their tool results, or (unlinked logs) all before it. */
function historyOf(row: LogRow, rows: readonly LogRow[], linked: boolean, log: ClaudeCodeLog): LogRow[] {
  const before = rows.filter(({ at }) => at < row.at);
  if (!linked) {
    const cut = before.findLastIndex(({ compaction }) => compaction);
    return cut === -1 ? before : before.slice(cut);
  }
  const chain = new Set<string>();
  const answers = new Set<Answer>();
  for (let id = row.parent; id !== null && !chain.has(id); id = log.links.get(id) ?? null) {
    chain.add(id);
    const held = log.byUuid.get(id);
    if (held?.answer != null)
      for (const line of held.answer.lines) if (line.uuid !== null) answers.add(held.answer);
  }
  const lines = new Set([...answers].flatMap(({ lines }) => lines.map(({ uuid }) => uuid ?? "")));
  return before.filter(
    ({ uuid, parent, answer, answers: replies }) =>
      (answer !== null && answers.has(answer)) ||
      (uuid !== null && chain.has(uuid)) ||
      (replies.length > 0 && parent !== null && lines.has(parent)),
  );
}

function messagesOf(rows: readonly LogRow[]): JsonObject[] {
  const placed = new Set<Answer>();
  return rows.flatMap(({ answer, messages }) => {
    if (answer === null) return messages;
    if (placed.has(answer)) return [];
    placed.add(answer);
    return answer.messages;
  });
}

function latest(rows: readonly LogRow[]): Ms | null {
  return rows.reduce<Ms | null>(
    (max, { time }) => (time === null || (max !== null && max >= time) ? max : time),
    null,
  );
}

function toolTimes(row: LogRow, uses: ReadonlyMap<string, Answer["uses"][number]>): ToolCall[] {
  return row.answers.flatMap((id) => {
    const use = uses.get(id);
    return use === undefined || use.time === null || row.time === null || row.time < use.time
      ? []
      : [{ name: use.name, ms: row.time - use.time }];
  });
}

/** Forks a sub-agent from the answer that asked for it, and lets the request that holds its result wait for it. */
function attach(side: Agent, main: Agent): void {
  const first = side.rows[0];
  const start = side.turns[0];
  if (first === undefined || start === undefined) return;
  const prompt = first.messages.map(messageText).join("\n").trim();
  const use = main.turns
    .flatMap((turn) => turn.answer.uses.map((one) => ({ turn, one })))
    .findLast(({ one }) => one.prompt !== "" && one.prompt.trim() === prompt);
  const byTime = main.turns.findLast(({ answer }) =>
    isBefore(answer.first.time, first.time, answer.first.at < first.at),
  );
  const spawner = use?.turn ?? byTime;
  if (spawner !== undefined && start.parents.length === 0) start.parents.push(spawner);
  const end = side.turns.at(-1)?.answer.end ?? null;
  const joiner = main.turns.find((turn) =>
    use === undefined
      ? spawner !== undefined && turn !== spawner && end !== null && turn.sent !== null && turn.sent >= end
      : turn.results.some((row) => waitsFor(row, use.one.id, end)),
  );
  const last = side.turns.at(-1);
  if (joiner !== undefined && last !== undefined) joiner.parents.push(last);
}

/** A result that came before the sub-agent was done only said that it was launched. */
function waitsFor(row: LogRow, use: string, end: Ms | null): boolean {
  if (!row.answers.includes(use) || row.result?.["status"] === "async_launched") return false;
  return row.time === null || end === null || row.time >= end;
}

function isBefore(a: Ms | null, b: Ms | null, otherwise: boolean): boolean {
  return a === null || b === null ? otherwise : a <= b;
}

function toRequests(all: readonly { readonly name: string | null; readonly turn: Turn }[]): TraceRequest[] {
  const sent = new Map<Turn, Ms | null>();
  const arrivalOf = (turn: Turn): Ms | null => {
    const known = sent.get(turn);
    if (known !== undefined) return known;
    sent.set(turn, turn.sent);
    const floor = turn.parents.reduce<Ms | null>((max, parent) => {
      const own = arrivalOf(parent);
      return own === null || (max !== null && max >= own) ? max : own;
    }, null);
    const arrival = turn.sent === null ? null : Math.max(turn.sent, floor ?? turn.sent);
    sent.set(turn, arrival);
    return arrival;
  };
  return numberedByTime(all.map(({ name, turn }) => toRequest(name, turn, arrivalOf(turn))));
}

function toRequest(name: string | null, turn: Turn, arrival: Ms | null): TraceRequest {
  const { answer, parents } = turn;
  return newRequest({
    request_id: turn.id,
    job_id: turn.job_id,
    arrival_ms: arrival,
    after: [...new Set(parents)].map(({ id }) => id),
    think_ms: gapAfter(
      arrival,
      parents.map((parent) => parent.answer.end),
    ),
    tool: turn.tools.length > 0 ? turn.tools : null,
    prompt:
      turn.messages.length > 0
        ? { kind: "messages", messages: turn.messages, tools: null }
        : lengthPrompt(answer.prompt_tokens ?? 0),
    agent: name,
    recorded: newRecorded({
      sent_ms: turn.sent,
      end_ms: answer.end,
      prompt_tokens: answer.prompt_tokens,
      output_tokens: answer.output_tokens,
      cached_tokens: answer.cached_tokens,
    }),
    response_text: answerText(answer.messages),
    metadata: answer.model === null ? null : { model: answer.model },
  });
}
