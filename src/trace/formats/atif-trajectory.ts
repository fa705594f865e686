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
  /** How messages call its file. */
  readonly file: string;
}

type Name = Pick<Walk, "job_id" | "prefix" | "agent" | "file"> & { readonly turns?: number };

/** A trajectory of another file. */
export interface OtherFile {
  readonly document: JsonObject;
  readonly file: string;
}

export class TrajectoryReader {
  readonly requests: TraceRequest[] = [];
  readonly #account: RowAccount;
  readonly #axis: TimeAxis;
  readonly #embedded = new Map<string, JsonObject>();
  /** What references to other files (objects, or a continuation's document) stand for. */
  readonly #files: ReadonlyMap<JsonObject, OtherFile>;
  readonly #walked = new Set<JsonObject>();
  #merged = 0;
  #elsewhere = 0;

  constructor(account: RowAccount, axis: TimeAxis, files: ReadonlyMap<JsonObject, OtherFile>) {
    this.#account = account;
    this.#axis = axis;
    this.#files = files;
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
        ? [
            `${this.#elsewhere} trajectories of sub-agents or continuations are in files that are not there: their requests are not replayed`,
          ]
        : []),
    ];
  }

  trajectory(document: JsonObject, name: string, file: string): void {
    const job_id = scalarText(document["session_id"]) || scalarText(document["trajectory_id"]) || name;
    let walk = this.#walk(document, "steps", { job_id, prefix: "", agent: null, file }, []);
    // An agent that filled its context goes on in another file.
    for (let part = document; walk !== null && part["continued_trajectory_ref"] != null;) {
      const next = this.#files.get(part);
      if (next === undefined || this.#walked.has(next.document)) {
        if (next === undefined) this.#elsewhere++;
        break;
      }
      const where = { job_id, prefix: "", agent: null, file: next.file, turns: walk.turns };
      walk = this.#walk(next.document, "steps", where, walk.waits);
      part = next.document;
    }
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

  #walk(document: JsonObject, where: string, name: Name, waits: readonly Turn[]): Walk {
    this.#walked.add(document);
    this.#collect(document["subagent_trajectories"]);
    const agent = isObject(document["agent"]) ? document["agent"] : {};
    const walk: Walk = {
      ...name,
      tools: toOpenAiTools(agent["tool_definitions"]),
      history: [],
      waits: [...waits],
      sent: null,
      ran: [],
      turns: name.turns ?? 0,
    };
    arrayAt(document["steps"], where).forEach((step, at) =>
      handleItem(
        this.#account,
        `${where}[${at}]`,
        step,
        (row) => this.#step(row, walk, `${where}[${at}]`),
        name.file,
      ),
    );
    return walk;
  }

  #step(row: JsonObject, walk: Walk, where: string): string | undefined {
    const source = stringField(row, "source");
    const time = this.#time(row["timestamp"]);
    if (source === "system" || source === "user") {
      const text = textOf(row["message"]);
      if (text !== "") walk.history.push({ role: source, content: text });
      // What was copied was said before.
      if (time !== null && row["is_copied_context"] !== true) walk.sent = Math.max(walk.sent ?? time, time);
      this.#observe(resultsOf(row), walk, where);
      return undefined;
    }
    if (source !== "agent") throw new BadRow(`"source" must be "system", "user" or "agent", not "${source}"`);
    const calls = optionalInteger(row, "llm_call_count");
    if (calls !== null && calls > 1) this.#merged++;
    if (row["is_copied_context"] === true || calls === 0) {
      this.#remember(row, walk, where);
      return row["is_copied_context"] === true
        ? "step copied from another trajectory"
        : "agent step without a model call";
    }
    this.#ask(row, walk, time);
    this.#remember(row, walk, where);
    return undefined;
  }

  #ask(row: JsonObject, walk: Walk, time: Ms | null): void {
    const span = this.#invocation(row);
    const metrics = isObject(row["metrics"]) ? row["metrics"] : {};
    const prompt_tokens = optionalInteger(metrics, "prompt_tokens") ?? idsOf(metrics["prompt_token_ids"]);
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
          output_tokens:
            optionalInteger(metrics, "completion_tokens") ?? idsOf(metrics["completion_token_ids"]),
          cached_tokens: optionalInteger(metrics, "cached_tokens"),
        }),
        response_text: textOf(row["message"]) || null,
        metadata: typeof row["model_name"] === "string" ? { model: row["model_name"] } : null,
      }),
    );
    walk.waits = [{ id, end, arrival }];
    walk.sent = null;
    walk.ran = [];
  }

  /** What the step leaves behind: its answer, its tools' results, its sub-agents. */
  #remember(row: JsonObject, walk: Walk, where: string): void {
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
    const results = resultsOf(row);
    const isCopy = row["is_copied_context"] === true;
    this.#observe(isCopy ? results.map(withoutReference) : results, walk, where);
    for (const call of calls) {
      const span = this.#invocation(call);
      if (span === null) continue;
      walk.ran.push({
        name: scalarText(call["function_name"]) || "tool",
        ms: Math.max(0, span.end - span.start),
      });
      walk.sent = Math.max(walk.sent ?? span.end, span.end);
    }
  }

  /** A step's results enter the history; sub-agents that they name begin after it and are joined by the agent's next step. */
  #observe(results: readonly JsonObject[], walk: Walk, where: string): void {
    const before = walk.waits;
    const joined: Turn[] = [];
    for (const result of results) {
      const id = scalarText(result["source_call_id"]);
      const content = textOf(result["content"]);
      if (id !== "") walk.history.push({ role: "tool", tool_call_id: id, content });
      else if (content !== "") walk.history.push({ role: "user", content });
    }
    for (const result of results) {
      const references: unknown = result["subagent_trajectory_ref"];
      for (const reference of (Array.isArray(references) ? references : [references]).filter(isObject)) {
        const id = scalarText(reference["trajectory_id"]) || scalarText(reference["session_id"]);
        const other = this.#files.get(reference);
        const own = this.#embedded.get(id) ?? other?.document;
        if (own === undefined) {
          this.#elsewhere++;
          continue;
        }
        // Walked once: a second reference to the same trajectory adds nothing.
        if (this.#walked.has(own)) continue;
        const agent = isObject(own["agent"]) ? scalarText(own["agent"]["name"]) : "";
        const called = id || `sub-agent ${this.#walked.size}`;
        const name = {
          job_id: walk.job_id,
          prefix: `${walk.prefix}${called}/`,
          agent: agent || called,
          file: other?.file ?? walk.file,
        };
        const place = other === undefined ? `${where}.${called}.steps` : "steps";
        const last = this.#walk(own, place, name, before).waits;
        joined.push(...last.filter((one) => !before.includes(one)));
      }
    }
    if (joined.length > 0) walk.waits = [...before, ...joined];
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

/** How many tokens a list of ids holds; agents that train models write the ids alone. */
function idsOf(ids: unknown): number | null {
  return Array.isArray(ids) && ids.length > 0 ? ids.length : null;
}

function resultsOf(row: JsonObject): JsonObject[] {
  const observation = isObject(row["observation"]) ? row["observation"] : {};
  return Array.isArray(observation["results"]) ? observation["results"].filter(isObject) : [];
}

/** A copied step's sub-agents ran when the step did. */
function withoutReference({ subagent_trajectory_ref: _reference, ...rest }: JsonObject): JsonObject {
  return rest;
}
