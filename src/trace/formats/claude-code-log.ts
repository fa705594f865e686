/**
 * The rows of a Claude Code session log, gathered: one API response spans several lines that repeat its `message.id` and
 * usage; tool results are user rows; rows of sub-agents are marked `isSidechain`.
 */
import type { JsonObject } from "../../core/json.ts";
import type { Ms, Tokens } from "../../core/units.ts";
import type { TimeAxis } from "../instant.ts";
import { isObject, scalarText, textOf, toOpenAiMessages } from "../openai-messages.ts";
import type { RowAccount } from "../row-account.ts";
import { optionalIsoInstant, wrong } from "../row-fields.ts";
import type { AgentFile } from "./claude-code-files.ts";

/** Where a row stands. */
export interface Place {
  readonly line: number;
  /** The file's name without its ending: the session of rows that tell none. */
  readonly session: string;
  /** The sub-agent whose file it is. */
  readonly agent: AgentFile | null;
  readonly account: RowAccount;
}

/** A tool call in an answer. */
export interface Use {
  readonly id: string;
  readonly name: string;
  readonly time: Ms | null;
  readonly prompt: string;
  /** The agent or task that it speaks to (a message, a wait for its output). */
  readonly to: string;
}

export interface LogRow {
  /** Position among the conversation's rows of the whole file. */
  readonly at: number;
  readonly place: Place;
  readonly session: string;
  readonly uuid: string | null;
  readonly parent: string | null;
  /** `null` = the main agent; else the sub-agent's name, or "" where it is told by its chain only. */
  readonly agent: string | null;
  readonly time: Ms | null;
  readonly messages: readonly JsonObject[];
  /** Ids of tool calls that this row answers. */
  readonly answers: readonly string[];
  /** What the tool told beside its result. */
  readonly result: JsonObject | null;
  readonly compaction: boolean;
  readonly answer: Answer | null;
}

/** One response of the API, over all its lines. */
export interface Answer {
  readonly id: string;
  readonly first: LogRow;
  readonly lines: LogRow[];
  readonly uses: Use[];
  messages: readonly JsonObject[];
  model: string | null;
  prompt_tokens: Tokens | null;
  cached_tokens: Tokens | null;
  output_tokens: Tokens | null;
  end: Ms | null;
}

export class ClaudeCodeLog {
  readonly rows: LogRow[] = [];
  readonly answers: Answer[] = [];
  /** Every uuid of the file, with its parent: chains run through rows of other kinds too. */
  readonly links = new Map<string, string | null>();
  readonly byUuid = new Map<string, LogRow>();
  /** Tool results by the line that they hang on. */
  readonly results = new Map<string, LogRow[]>();
  /** Forked sub-agents, each with the last row of its parent that it begins with. */
  readonly #forks = new Map<string, string>();
  readonly #byId = new Map<string, Answer>();
  readonly #seen = new Set<string>();
  readonly #axis: TimeAxis;
  #compacted = false;

  constructor(axis: TimeAxis) {
    this.#axis = axis;
  }

  /** Takes one row; a kind where it is no part of a conversation. */
  take(raw: JsonObject, place: Place): string | undefined {
    const type = scalarText(raw["type"]);
    const uuid = scalarText(raw["uuid"]) || null;
    const agent =
      raw["isSidechain"] === true || place.agent !== null
        ? scalarText(raw["agentId"]) || (place.agent?.id ?? "")
        : null;
    if (type === "fork-context-ref") this.#forks.set(agent ?? "", scalarText(raw["parentLastUuid"]));
    const told = scalarText(raw["parentUuid"]) || null;
    const parent = told ?? (agent === null ? null : (this.#forks.get(agent) ?? null));
    if (uuid !== null && !this.links.has(uuid)) this.links.set(uuid, parent);
    if (type === "system" && raw["subtype"] === "compact_boundary") this.#compacted = true;
    if (type !== "user" && type !== "assistant") return type === "" ? "row without a type" : type;
    const message = raw["message"];
    if (!isObject(message) || message["content"] === undefined) return `${type} row without content`;
    const time = this.#axis.at(optionalIsoInstant(raw, "timestamp"));
    if (type === "assistant") {
      if (message["model"] === "<synthetic>" || raw["isApiErrorMessage"] === true)
        return "message that the client made itself";
    } else {
      const text = JSON.stringify(message["content"]);
      const key = `${uuid ?? ""} ${text}`;
      if (uuid !== null && this.#seen.has(key)) return "message logged again";
      this.#seen.add(key);
    }
    const base = {
      at: this.rows.length,
      place,
      session: scalarText(raw["sessionId"]) || place.session,
      uuid,
      parent,
      agent,
      time,
      compaction: raw["isCompactSummary"] === true || this.#compacted,
    };
    this.#compacted = false;
    if (type === "user") {
      this.#push({
        ...base,
        messages: toOpenAiMessages({ ...message, role: "user" }),
        answers: resultIds(message["content"]),
        result: isObject(raw["toolUseResult"]) ? raw["toolUseResult"] : null,
        answer: null,
      });
      return undefined;
    }
    return this.#takeAnswer(raw, message, base);
  }

  #takeAnswer(
    raw: JsonObject,
    message: JsonObject,
    base: Pick<LogRow, "at" | "place" | "session" | "uuid" | "parent" | "agent" | "time" | "compaction">,
  ): string | undefined {
    const id = scalarText(message["id"]) || scalarText(raw["requestId"]) || base.uuid || `line ${base.at}`;
    const known = this.#byId.get(id);
    // A resumed session repeats what came before it under its own id, a forked sub-agent the answer that asked for it.
    if (
      known !== undefined &&
      (known.first.session !== base.session ||
        known.first.agent !== base.agent ||
        known.lines.some(({ uuid }) => uuid !== null && uuid === base.uuid))
    ) {
      if (base.uuid !== null && !this.byUuid.has(base.uuid)) {
        // Chains that run through the copy run on through what it is a copy of.
        this.byUuid.set(base.uuid, known.first);
        this.links.set(base.uuid, known.lines.at(-1)?.uuid ?? base.parent);
      }
      return "answer logged again";
    }
    const row: { -readonly [K in keyof LogRow]: LogRow[K] } = {
      ...base,
      messages: [],
      answers: [],
      result: null,
      answer: null,
    };
    const answer: Answer = known ?? {
      id,
      first: row,
      lines: [],
      uses: [],
      messages: [],
      model: null,
      prompt_tokens: null,
      cached_tokens: null,
      output_tokens: null,
      end: null,
    };
    row.answer = answer;
    if (known === undefined) {
      this.#byId.set(id, answer);
      this.answers.push(answer);
    }
    answer.lines.push(row);
    answer.messages = toOpenAiMessages([...answer.messages, { ...message, role: "assistant" }]);
    answer.model ??= scalarText(message["model"]) || null;
    if (base.time !== null) answer.end = Math.max(answer.end ?? base.time, base.time);
    addUsage(answer, message["usage"]);
    addUses(answer, message["content"], base.time);
    this.#push(row);
    return undefined;
  }

  #push(row: LogRow): void {
    this.rows.push(row);
    if (row.answers.length > 0 && row.parent !== null) {
      const known = this.results.get(row.parent);
      if (known === undefined) this.results.set(row.parent, [row]);
      else known.push(row);
    }
    if (row.uuid !== null && !this.byUuid.has(row.uuid)) this.byUuid.set(row.uuid, row);
  }
}

/** Lines repeat the usage; early ones may tell less output than the last. */
function addUsage(answer: Answer, usage: unknown): void {
  if (!isObject(usage)) return;
  const count = (key: string): number | null => {
    const value = usage[key];
    if (value == null) return null;
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
      throw wrong(key, value, "an integer ≥ 0");
    return value;
  };
  const fresh = count("input_tokens");
  const created = count("cache_creation_input_tokens");
  const read = count("cache_read_input_tokens");
  const output = count("output_tokens");
  if (fresh !== null || created !== null || read !== null)
    answer.prompt_tokens = Math.max(answer.prompt_tokens ?? 0, (fresh ?? 0) + (created ?? 0) + (read ?? 0));
  if (read !== null) answer.cached_tokens = Math.max(answer.cached_tokens ?? 0, read);
  if (output !== null) answer.output_tokens = Math.max(answer.output_tokens ?? 0, output);
}

function addUses(answer: Answer, content: unknown, time: Ms | null): void {
  if (!Array.isArray(content)) return;
  for (const part of content.filter(isObject)) {
    if (part["type"] !== "tool_use") continue;
    const input = isObject(part["input"]) ? part["input"] : {};
    answer.uses.push({
      id: scalarText(part["id"]),
      name: scalarText(part["name"]) || "tool",
      time,
      prompt: textOf(input["prompt"]),
      to: scalarText(input["to"] ?? input["resume"] ?? input["task_id"] ?? input["agentId"]),
    });
  }
}

function resultIds(content: unknown): string[] {
  if (!Array.isArray(content)) return [];
  return content
    .filter(isObject)
    .flatMap((part) => (part["type"] === "tool_result" ? [scalarText(part["tool_use_id"])] : []));
}
