/** Turns of a Claude Code log: what each answer's prompt held, what it waited for, and the tools that ran before it. */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import { gapAfter } from "../instant.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { answerText, scalarText } from "../openai-messages.ts";
import { numberedByTime } from "../turn-numbers.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";
import { linkSubAgents, type Agent, type Turn } from "./claude-code-agents.ts";
import { Histories, type History } from "./claude-code-history.ts";
import type { Answer, ClaudeCodeLog, LogRow, Use } from "./claude-code-log.ts";

export interface LogTurns {
  readonly requests: readonly TraceRequest[];
  /** Messages that no request held (what came after the last answer). */
  readonly unused: number;
  readonly side_agents: number;
  /** Sub-agents of which nothing tells who called them. */
  readonly guessed: number;
  /** Answers that tell neither a prompt nor its length: nothing could be sent for them. */
  readonly bare: readonly LogRow[];
}

export function turnsOfLog(log: ClaudeCodeLog): LogTurns {
  const uses = new Map(log.answers.flatMap((answer) => answer.uses.map((use) => [use.id, use] as const)));
  const held = new Set<LogRow>();
  const histories = new Histories(log);
  const requests: TraceRequest[] = [];
  const bare: LogRow[] = [];
  let [side_agents, guessed] = [0, 0];
  const mains = new Set(log.rows.flatMap(({ agent, session }) => (agent === null ? [session] : [])));
  const sessionOf = ({ agent, session, place }: LogRow): string => {
    // A sub-agent belongs to the session in whose folder it stands, whatever id its rows carry.
    const folder = agent === null ? null : (place.agent?.session ?? null);
    return folder !== null && !mains.has(session) && mains.has(folder) ? folder : session;
  };
  for (const [session, rows] of groupBy(log.rows, sessionOf)) {
    const agents = agentsOf(rows, log).map((own) =>
      readAgent(own, session, log, uses, held, bare, histories),
    );
    side_agents += agents.filter(({ name, turns }) => name !== null && turns.length > 0).length;
    guessed += linkSubAgents(agents, log);
    requests.push(...toRequests(agents.flatMap(({ name, turns }) => turns.map((turn) => ({ name, turn })))));
  }
  const unused = log.rows.filter((row) => row.answer === null && !held.has(row)).length;
  return { requests, unused, side_agents, guessed, bare };
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
function agentsOf(rows: readonly LogRow[], log: ClaudeCodeLog): Omit<Agent, "turns">[] {
  const main = rows.filter(({ agent }) => agent === null);
  const sides = groupBy(
    rows.filter(({ agent }) => agent !== null),
    (row) => row.agent || rootOf(row, log),
  );
  return [
    ...(main.length > 0 ? [{ name: null, isNamed: false, rows: main }] : []),
    ...[...sides].map(([name, own]) => ({ name, isNamed: own[0]?.agent === name, rows: own })),
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
  agent: Omit<Agent, "turns">,
  job_id: string,
  log: ClaudeCodeLog,
  uses: ReadonlyMap<string, Use>,
  held: Set<LogRow>,
  bare: LogRow[],
  histories: Histories,
): Agent {
  const { rows } = agent;
  const linked = rows.some(({ parent }) => parent !== null && log.links.has(parent));
  const own = new Set(rows);
  const turns: Turn[] = [];
  const byAnswer = new Map<Answer, Turn>();
  let last = 0;
  for (const row of rows) {
    const { answer } = row;
    if (answer === null || answer.first !== row) continue;
    const before = linked ? histories.before(row) : allBefore(row, rows);
    if (before.messages.length === 0 && !answer.prompt_tokens) {
      bare.push(...answer.lines);
      continue;
    }
    const inputs = before.inputs.filter((input) => own.has(input));
    for (const input of inputs) held.add(input);
    const fresh = inputs.filter(({ at }) => at >= last);
    const parent = before.answer ?? turns.at(-1)?.answer;
    // Nothing logged in between: the agent asked again at once.
    const asked = fresh.length > 0 ? latest(fresh) : (parent?.end ?? null);
    const turn: Turn = {
      answer,
      id: answer.id,
      job_id,
      sent: asked === null || row.time === null ? (asked ?? row.time) : Math.min(asked, row.time),
      messages: before.messages,
      tools: fresh.flatMap((input) => toolTimes(input, uses)),
      inputs: fresh,
      isPrompted: fresh.some((input) => input.answers.length === 0),
      parents: parent === undefined ? [] : [byAnswer.get(parent)].filter((found) => found !== undefined),
    };
    byAnswer.set(answer, turn);
    turns.push(turn);
    last = row.at;
  }
  return { ...agent, turns };
}

/** In a log without links: all rows before, from the last compaction on. */
function allBefore(row: LogRow, rows: readonly LogRow[]): History {
  const before = rows.filter(({ at }) => at < row.at);
  const cut = before.findLastIndex(({ compaction }) => compaction);
  const kept = cut === -1 ? before : before.slice(cut);
  const placed = new Set<Answer>();
  const messages = kept.flatMap((one) => {
    if (one.answer === null) return one.messages;
    if (placed.has(one.answer)) return [];
    placed.add(one.answer);
    return one.answer.messages;
  });
  return {
    messages,
    inputs: kept.filter(({ answer }) => answer === null),
    answer: kept.findLast(({ answer }) => answer !== null)?.answer ?? null,
  };
}

function latest(rows: readonly LogRow[]): Ms | null {
  return rows.reduce<Ms | null>(
    (max, { time }) => (time === null || (max !== null && max >= time) ? max : time),
    null,
  );
}

function toolTimes(row: LogRow, uses: ReadonlyMap<string, Use>): ToolCall[] {
  return row.answers.flatMap((id) => {
    const use = uses.get(id);
    return use === undefined || use.time === null || row.time === null || row.time < use.time
      ? []
      : [{ name: use.name, ms: row.time - use.time }];
  });
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
    metadata: metadataOf(answer),
  });
}

function metadataOf({ model, first }: Answer): JsonObject | null {
  const kind = scalarText(first.place.agent?.meta["agentType"]);
  if (model === null && kind === "") return null;
  return { ...(model === null ? {} : { model }), ...(kind === "" ? {} : { agent_type: kind }) };
}
