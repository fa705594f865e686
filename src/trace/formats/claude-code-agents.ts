/**
 * Where the sub-agents of a Claude Code session were called from, and which request waited for them. The log tells it in the sidecar
 * (`toolUseId`), in the tool's result (`agentId`), in a notification (`<task-id>`); older ones only by the call's prompt.
 */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import { messageText, scalarText } from "../openai-messages.ts";
import type { ToolCall } from "../trace-request.ts";
import type { Answer, ClaudeCodeLog, LogRow, Use } from "./claude-code-log.ts";

/** One request, as the log tells it. */
export interface Turn {
  readonly answer: Answer;
  readonly id: string;
  readonly job_id: string;
  readonly sent: Ms | null;
  readonly messages: readonly JsonObject[];
  readonly tools: readonly ToolCall[];
  /** What came in since the turn before. */
  readonly inputs: readonly LogRow[];
  /** Whether a prompt came in, not only tool results. */
  readonly isPrompted: boolean;
  readonly parents: Turn[];
}

/** `name` is `null` for the main agent; an unnamed sub-agent goes by its first row. */
export interface Agent {
  readonly name: string | null;
  readonly isNamed: boolean;
  readonly rows: readonly LogRow[];
  readonly turns: Turn[];
}

/** A call that starts a sub-agent or wakes it again. */
interface Launch {
  readonly turn: Turn;
  readonly use: Use;
  /** Names that results and notifications give it. */
  readonly names: ReadonlySet<string>;
}

/** Tools that wait for what runs in the background. */
const WAITS = /^(TaskOutput|AgentOutputTool|BashOutput)$/;

/** Links all sub-agents; returns how many were placed by time only. */
export function linkSubAgents(agents: readonly Agent[], log: ClaudeCodeLog): number {
  const results = new Map<string, LogRow>();
  for (const row of log.rows) for (const id of row.answers) if (!results.has(id)) results.set(id, row);
  const taken = new Set<string>();
  let guessed = 0;
  for (const side of agents) {
    if (side.name === null || side.turns.length === 0) continue;
    const others = agents.filter((agent) => agent !== side);
    const launches = launchesOf(side, others, results, taken);
    if (launches.length === 0) {
      guessed++;
      byTime(side, others);
    } else link(side, others, launches);
  }
  linkSteps(agents);
  return guessed;
}

/** One step of a workflow waits for those that ended before it began and that no other step had followed by then. */
function linkSteps(agents: readonly Agent[]): void {
  const runs = new Map<
    string,
    { readonly start: Ms; readonly end: Ms; readonly first: Turn; readonly last: Turn }[]
  >();
  for (const { rows, turns } of agents) {
    const [file, start] = [rows[0]?.place.agent ?? null, rows[0]?.time ?? null];
    const [first, last] = [turns[0], turns.at(-1)];
    const end = last?.answer.end ?? null;
    if (file?.run == null || first === undefined || last === undefined || start === null || end === null)
      continue;
    const key = `${file.session}/${file.run}`;
    const steps = runs.get(key) ?? [];
    runs.set(key, [...steps, { start, end, first, last }]);
  }
  for (const steps of runs.values()) {
    const followed = steps.map(({ end }) =>
      steps.reduce((next, { start }) => (start >= end && start < next ? start : next), Infinity),
    );
    for (const step of steps) {
      const latest = steps.reduce((max, { end }) => (end <= step.start && end > max ? end : max), -Infinity);
      steps.forEach((one, at) => {
        if (one !== step && one.end <= step.start && (followed[at] as Ms) >= latest)
          addParent(step.first, one.last);
      });
    }
  }
}

function launchesOf(
  side: Agent,
  others: readonly Agent[],
  results: ReadonlyMap<string, LogRow>,
  taken: Set<string>,
): Launch[] {
  const file = side.rows[0]?.place.agent ?? null;
  const [id, alias] = [side.name ?? "", scalarText(file?.meta["name"])];
  const spawn = scalarText(file?.meta["toolUseId"]);
  const all = others.flatMap(({ turns }) =>
    turns.flatMap((turn) => turn.answer.uses.map((use) => ({ turn, use }))),
  );
  const told = all.filter(({ use }) => {
    const result = results.get(use.id)?.result ?? {};
    if (use.id === spawn) return true;
    if (WAITS.test(use.name)) return false;
    if ((use.to === id || (alias !== "" && use.to === alias)) && id !== "") return true;
    if (id !== "" && [result["agentId"], result["resumedAgentId"]].includes(id)) return true;
    return file?.run != null && result["runId"] === file.run;
  });
  const prompt = (side.rows[0]?.messages ?? []).map(messageText).join("\n").trim();
  const byPrompt = all.filter(({ use }) => use.prompt.trim() !== "" && use.prompt.trim() === prompt);
  // Several calls may ask the same: each is one sub-agent's.
  const asked = byPrompt.findLast(({ use }) => !taken.has(use.id)) ?? byPrompt.at(-1);
  const launches = told.length > 0 ? told : asked === undefined ? [] : [asked];
  for (const { use } of launches) taken.add(use.id);
  return launches
    .map(({ turn, use }) => {
      const result = results.get(use.id)?.result ?? {};
      const names = [id, use.id, scalarText(result["taskId"])].filter((name) => name !== "");
      return { turn, use, names: new Set(names) };
    })
    .sort((a, b) => (a.use.time ?? 0) - (b.use.time ?? 0));
}

/**
 * A sub-agent works in stretches, each begun by a prompt: the first call's, then that of a message. Each stretch forks from the
 * latest call before it and is joined by the first request that holds word of its end.
 */
function link(side: Agent, others: readonly Agent[], launches: readonly Launch[]): void {
  const starts = side.turns.flatMap((turn, at) => (at === 0 || turn.isPrompted ? [at] : []));
  const names = new Set(launches.flatMap((launch) => [...launch.names]));
  const uses = new Set(launches.map(({ use }) => use.id));
  const waits = new Set(
    others.flatMap(({ turns }) =>
      turns.flatMap(({ answer }) =>
        answer.uses.filter((use) => WAITS.test(use.name) && names.has(use.to)).map((use) => use.id),
      ),
    ),
  );
  const left = [...launches];
  starts.forEach((from, at) => {
    const start = side.turns[from] as Turn;
    const next = starts[at + 1];
    const last = side.turns[(next ?? side.turns.length) - 1] as Turn;
    const latest = next === undefined ? null : (side.turns[next]?.sent ?? null);
    const launch =
      at === 0
        ? left[0]
        : left.findLast(({ use }) => use.time !== null && start.sent !== null && use.time <= start.sent);
    if (launch !== undefined) {
      left.splice(left.indexOf(launch), 1);
      addParent(start, launch.turn);
    }
    const joiner = others
      .flatMap(({ turns }) => turns)
      .filter((turn) =>
        turn.inputs.some((row) => {
          const isTold = row.answers.some((id) => uses.has(id) || waits.has(id)) || isNotice(row, names);
          return isTold && isEnd(row, last.answer.end, latest);
        }),
      )
      .sort((a, b) => (a.sent ?? 0) - (b.sent ?? 0))[0];
    if (joiner !== undefined) addParent(joiner, last);
  });
}

/** A result that came before the sub-agent was done only said that it was launched. */
function isEnd(row: LogRow, end: Ms | null, latest: Ms | null): boolean {
  if (row.result?.["status"] === "async_launched") return false;
  if (row.time === null || end === null) return true;
  return row.time >= end && (latest === null || row.time <= latest);
}

function isNotice(row: LogRow, names: ReadonlySet<string>): boolean {
  if (row.answers.length > 0) return false;
  return row.messages.some((message) => {
    const text = messageText(message);
    if (!text.includes("<task-notification>")) return false;
    return [...text.matchAll(/<(?:task-id|tool-use-id)>([^<]+)<\//g)].some(([, id]) =>
      names.has((id ?? "").trim()),
    );
  });
}

/** Nobody tells who called: the last request before it did; only an unnamed sub-agent, of old inline logs, is waited for. */
function byTime(side: Agent, others: readonly Agent[]): void {
  const first = side.rows[0] as LogRow;
  const start = side.turns[0] as Turn;
  const main = others.find(({ name }) => name === null)?.turns ?? [];
  const spawner = main.findLast(({ answer }) =>
    answer.first.time === null || first.time === null
      ? answer.first.at < first.at
      : answer.first.time <= first.time,
  );
  if (spawner === undefined) return;
  if (start.parents.length === 0) addParent(start, spawner);
  const last = side.turns.at(-1) as Turn;
  const end = last.answer.end;
  const joiner = main.find(
    (turn) => turn !== spawner && end !== null && turn.sent !== null && turn.sent >= end,
  );
  if (joiner !== undefined && first.place.agent === null && !side.isNamed) addParent(joiner, last);
}

/** Clocks and damaged logs may tell a circle: such a link is left out. */
function addParent(turn: Turn, parent: Turn): void {
  if (turn.parents.includes(parent)) return;
  const seen = new Set<Turn>();
  const open = [parent];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === turn) return;
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...next.parents);
  }
  turn.parents.push(parent);
}
