/** The steps of an ATIF trajectory as turns, with the trajectories of its sub-agents forked and joined. */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import { arrayAt, handleItem } from "../document-rows.ts";
import { gapAfter, toInstant, type TimeAxis } from "../instant.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import {
  isObject,
  scalarText,
  textOf,
  toolCall,
  toOpenAiMessages,
  toOpenAiTools,
} from "../openai-messages.ts";
import { BadRow, type RowAccount } from "../row-account.ts";
import { optionalInteger, stringField } from "../row-fields.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";

interface Turn {
  readonly id: string;
  readonly end: Ms | null;
  readonly arrival: Ms | null;
}

/** One agent's walk through its steps. */
interface Walk {
  readonly job_id: string;
  readonly prefix: string;
  readonly agent: string | null;
  readonly tools: readonly JsonObject[] | null;
  readonly history: JsonObject[];
  waits: Turn[];
  /** When the last input before the next request was logged; `null` where the tools' ends are not told. */
  sent: Ms | null;
  ran: ToolCall[];
  turns: number;
}

export class TrajectoryReader {
  readonly requests: TraceRequest[] = [];
  readonly #account: RowAccount;
  readonly #axis: TimeAxis;
  readonly #embedded = new Map<string, JsonObject>();
  #merged = 0;
  #elsewhere = 0;

  constructor(account: RowAccount, axis: TimeAxis) {
    this.#account = account;
    this.#axis = axis;
  }

  notes(): string[] {
    return [
      "whether a step's timestamp is its start or its end is not said: it is taken to be the end, unless invocation times are told",
      ...(this.#merged > 0
        ? [
            `${this.#merged} agent steps stand for several model calls each: one request is sent for each step`,
          ]
        : []),
      ...(this.#elsewhere > 0
        ? [`${this.#elsewhere} sub-agents' trajectories are in other files: their requests are not replayed`]
        : []),
    ];
  }

  trajectory(document: JsonObject, name: string): void {
    const job_id = scalarText(document["session_id"]) || scalarText(document["trajectory_id"]) || name;
    this.#collect(document["subagent_trajectories"]);
    this.#walk(document, "steps", { job_id, prefix: "", agent: null }, []);
  }

  #collect(list: unknown): void {
    if (!Array.isArray(list)) return;
    for (const one of list.filter(isObject)) {
      for (const key of ["trajectory_id", "session_id"]) {
        const id = scalarText(one[key]);
        if (id !== "" && !this.#embedded.has(id)) this.#embedded.set(id, one);
      }
      this.#collect(one["subagent_trajectories"]);
    }
  }

  #walk(
    document: JsonObject,
    where: string,
    name: Pick<Walk, "job_id" | "prefix" | "agent">,
    waits: readonly Turn[],
  ): Turn[] {
    const agent = isObject(document["agent"]) ? document["agent"] : {};
    const walk: Walk = {
      ...name,
      tools: toOpenAiTools(agent["tool_definitions"]),
      history: [],
      waits: [...waits],
      sent: null,
      ran: [],
      turns: 0,
    };
    arrayAt(document["steps"], where).forEach((step, at) =>
      handleItem(this.#account, `${where}[${at}]`, step, (row) => this.#step(row, walk, `${where}[${at}]`)),
    );
    return walk.waits;
  }

  #step(row: JsonObject, walk: Walk, where: string): string | undefined {
    const source = stringField(row, "source");
    const time = this.#time(row["timestamp"]);
    if (source === "system" || source === "user") {
      const text = textOf(row["message"]);
      if (text !== "") walk.history.push({ role: source, content: text });
      if (time !== null) walk.sent = Math.max(walk.sent ?? time, time);
      return undefined;
    }
    if (source !== "agent") throw new BadRow(`"source" must be "system", "user" or "agent", not "${source}"`);
    const calls = optionalInteger(row, "llm_call_count");
    if (calls !== null && calls > 1) this.#merged++;
    if (row["is_copied_context"] === true || calls === 0) {
      this.#remember(row, walk, where, null);
      return row["is_copied_context"] === true
        ? "step copied from another trajectory"
        : "agent step without a model call";
    }
    const turn = this.#ask(row, walk, time);
    this.#remember(row, walk, where, turn);
    return undefined;
  }

  #ask(row: JsonObject, walk: Walk, time: Ms | null): Turn {
    const span = this.#invocation(row);
    const metrics = isObject(row["metrics"]) ? row["metrics"] : {};
    const prompt_tokens = optionalInteger(metrics, "prompt_tokens");
    if (walk.history.length === 0 && prompt_tokens === null)
      throw new BadRow("an agent step with neither messages nor prompt tokens before it");
    const end = span?.end ?? time;
    const sent = span?.start ?? walk.sent;
    // Between two answers lie the tools and the next request's own time: nobody knows where it was sent.
    const asked = sent ?? (walk.waits.length === 0 ? end : null);
    const arrival =
      asked === null
        ? null
        : Math.max(asked, ...walk.waits.flatMap((turn) => (turn.arrival === null ? [] : [turn.arrival])));
    const id = `${walk.job_id}/${walk.prefix}${walk.turns++}`;
    this.requests.push(
      newRequest({
        request_id: id,
        job_id: walk.job_id,
        turn: this.requests.length,
        arrival_ms: arrival,
        after: walk.waits.map((turn) => turn.id),
        think_ms:
          sent === null
            ? null
            : gapAfter(
                arrival,
                walk.waits.map((turn) => turn.end),
              ),
        tool: walk.ran.length > 0 ? walk.ran : null,
        prompt:
          walk.history.length > 0
            ? { kind: "messages", messages: walk.history.slice(), tools: walk.tools }
            : lengthPrompt(prompt_tokens ?? 0),
        agent: walk.agent,
        recorded: newRecorded({
          sent_ms: sent,
          end_ms: end,
          prompt_tokens,
          output_tokens: optionalInteger(metrics, "completion_tokens"),
          cached_tokens: optionalInteger(metrics, "cached_tokens"),
        }),
        response_text: textOf(row["message"]) || null,
        metadata: typeof row["model_name"] === "string" ? { model: row["model_name"] } : null,
      }),
    );
    const turn = { id, end, arrival };
    walk.waits = [turn];
    walk.sent = null;
    walk.ran = [];
    return turn;
  }

  /** What the step leaves behind: its answer, its tools' results, its sub-agents. */
  #remember(row: JsonObject, walk: Walk, where: string, turn: Turn | null): void {
    const calls = Array.isArray(row["tool_calls"]) ? row["tool_calls"].filter(isObject) : [];
    walk.history.push(
      ...toOpenAiMessages({
        role: "assistant",
        content: textOf(row["message"]),
        ...(calls.length > 0
          ? { tool_calls: calls.map((call) => toolCall({ ...call, id: call["tool_call_id"] ?? call["id"] })) }
          : {}),
      }),
    );
    const observation = isObject(row["observation"]) ? row["observation"] : {};
    const results = Array.isArray(observation["results"]) ? observation["results"].filter(isObject) : [];
    for (const result of results) {
      const id = scalarText(result["source_call_id"]);
      const content = textOf(result["content"]);
      walk.history.push(id === "" ? { role: "user", content } : { role: "tool", tool_call_id: id, content });
    }
    for (const call of calls) {
      const span = this.#invocation(call);
      if (span === null) continue;
      walk.ran.push({
        name: scalarText(call["function_name"]) || "tool",
        ms: Math.max(0, span.end - span.start),
      });
      walk.sent = Math.max(walk.sent ?? span.end, span.end);
    }
    if (turn !== null) this.#subAgents(results, walk, where, turn);
  }

  /** Sub-agents named by a step's results begin after it and are joined by the agent's next step. */
  #subAgents(results: readonly JsonObject[], walk: Walk, where: string, turn: Turn): void {
    const joined: Turn[] = [];
    for (const result of results) {
      const references: unknown = result["subagent_trajectory_ref"];
      for (const reference of (Array.isArray(references) ? references : [references]).filter(isObject)) {
        const id = scalarText(reference["trajectory_id"]) || scalarText(reference["session_id"]);
        const own = this.#embedded.get(id);
        if (own === undefined) {
          this.#elsewhere++;
          continue;
        }
        // Walked once: a second reference to the same trajectory adds nothing.
        for (const key of ["trajectory_id", "session_id"]) this.#embedded.delete(scalarText(own[key]));
        const agent = isObject(own["agent"]) ? scalarText(own["agent"]["name"]) : "";
        const name = { job_id: walk.job_id, prefix: `${walk.prefix}${id}/`, agent: agent || id };
        const last = this.#walk(own, `${where}.${id}.steps`, name, [turn]);
        joined.push(...last.filter((one) => one !== turn));
      }
    }
    if (joined.length > 0) walk.waits = [turn, ...joined];
  }

  /** NeMo's own times of a step or a tool call, Unix seconds. */
  #invocation(row: JsonObject): { readonly start: Ms; readonly end: Ms } | null {
    const extra = isObject(row["extra"]) ? row["extra"] : {};
    const invocation = isObject(extra["invocation"]) ? extra["invocation"] : {};
    const start = this.#time(invocation["start_timestamp"]);
    const end = this.#time(invocation["end_timestamp"]);
    return start === null || end === null || end < start ? null : { start, end };
  }

  #time(value: unknown): Ms | null {
    if (value == null) return null;
    const instant = toInstant(value);
    if (instant === null) throw new BadRow(`"timestamp" is no instant: ${textOf(value)}`);
    return this.#axis.at(instant);
  }
}
