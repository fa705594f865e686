/**
 * The requests of a trace as columns: 70 to 120 bytes each, where an object with its parts takes 400. Rows that columns
 * cannot hold (messages, tool calls, parameters, ...) are kept as they are. Absent = NaN.
 */
import { IndexColumn, NumberColumn } from "../core/column.ts";
import { type List, MadeList } from "../core/list.ts";
import type { Ms } from "../core/units.ts";
import { ListPool } from "./list-pool.ts";
import type { Member } from "./parents.ts";
import { TextPool } from "./text-pool.ts";
import { NumberedTexts } from "./numbered-texts.ts";
import type { Recorded, ToolCall, TracePrompt, TraceRequest } from "./trace-request.ts";

/** The columns of numbers, and where {@link RowDraft} has them. */
export const FIELD = {
  turn: 0,
  arrival_ms: 1,
  think_ms: 2,
  max_tokens: 3,
  expected_output_tokens: 4,
  temperature: 5,
  budget_ms: 6,
  sent_ms: 7,
  first_token_ms: 8,
  end_ms: 9,
  recorded_prompt_tokens: 10,
  output_tokens: 11,
  cached_tokens: 12,
  /** Of a prompt of which only the length is known. */
  prompt_tokens: 13,
  block_tokens: 14,
  /** Numbers of texts. */
  agent: 15,
  hash_scope: 16,
} as const;
const FIELDS = 17;

export type Field = (typeof FIELD)[keyof typeof FIELD];

/** One row on its way into the table. */
export class RowDraft {
  readonly numbers = new Float64Array(FIELDS);
  /** The first `block_count` are the row's; −1 = it names none. */
  blocks: Int32Array = new Int32Array(256);
  block_count = -1;
  /** Rows that it waits for; −1 = it does not say. */
  parents: Int32Array = new Int32Array(16);
  parent_count = -1;
  /** Tool calls: number of each name, and its time; −1 = it does not say. */
  tools: Int32Array = new Int32Array(16);
  tool_ms: Float64Array = new Float64Array(16);
  tool_count = -1;
  /** The prompt's text (see {@link TextPool}) is text[text_from, text_to); `null` = there is none. */
  text: Uint8Array | null = null;
  text_from = 0;
  text_to = 0;

  clear(): void {
    this.numbers.fill(NaN);
    this.block_count = -1;
    this.parent_count = -1;
    this.tool_count = -1;
    this.text = null;
  }

  addParent(row: number): void {
    if (this.parent_count === this.parents.length) this.parents = larger(this.parents);
    this.parents[this.parent_count++] = row;
  }

  addTool(name: number, ms: Ms): void {
    if (this.tool_count === this.tools.length) {
      this.tools = larger(this.tools);
      this.tool_ms = larger(this.tool_ms);
    }
    this.tools[this.tool_count] = name;
    this.tool_ms[this.tool_count++] = ms;
  }
}

export class TraceTable extends MadeList<TraceRequest> {
  /** Text i is the id of row i. */
  readonly ids = new NumberedTexts();
  readonly jobs = new NumberedTexts();
  /** Names of agents, scopes and tools. */
  readonly names = new NumberedTexts();
  readonly #job = new IndexColumn();
  readonly #numbers = Array.from({ length: FIELDS }, () => new NumberColumn());
  /** Rows that columns cannot hold; `null` for the others. */
  readonly #whole: (TraceRequest | null)[] = [];
  /** Lists of blocks, and of parents' rows; the columns tell their places. */
  readonly #blocks = new ListPool();
  readonly #blockList = new NumberColumn();
  /** By job: the list of its last row. */
  readonly #lastBlocks = new NumberColumn();
  readonly #parents = new ListPool();
  readonly #parentList = new NumberColumn();
  readonly #tools = new ListPool();
  readonly #toolList = new NumberColumn();
  /** Times of all tool calls, and where a row's begin. */
  readonly #toolMs = new NumberColumn();
  readonly #toolMsFrom = new NumberColumn();
  /** Text prompts. */
  readonly texts = new TextPool();
  readonly #text = new NumberColumn();

  /** A table of these requests: the list itself where it is one. */
  static of(requests: List<TraceRequest>): TraceTable {
    if (requests instanceof TraceTable) return requests;
    const table = new TraceTable();
    for (const request of requests) {
      table.ids.appendText(request.request_id);
      table.addWhole(request);
    }
    return table;
  }

  get length(): number {
    return this.#whole.length;
  }

  /** Adds the row whose id was added to `ids` before. */
  add(draft: RowDraft, job: number): void {
    const row = this.#whole.length;
    this.#whole.push(null);
    this.#job.push(job);
    const { numbers } = draft;
    for (let field = 0; field < FIELDS; field++) {
      const value = numbers[field] as number;
      if (value === value) (this.#numbers[field] as NumberColumn).set(row, value);
    }
    if (draft.block_count >= 0) this.#addBlocks(draft, row, job);
    if (draft.parent_count >= 0)
      this.#parentList.set(row, this.#parents.add(draft.parents, draft.parent_count));
    if (draft.tool_count >= 0) {
      this.#toolList.set(row, this.#tools.add(draft.tools, draft.tool_count));
      this.#toolMsFrom.set(row, this.#toolMs.length);
      for (let i = 0; i < draft.tool_count; i++) this.#toolMs.push(draft.tool_ms[i]);
    }
    if (draft.text !== null) this.#text.set(row, this.texts.add(draft.text, draft.text_from, draft.text_to));
  }

  /** A prompt mostly continues that of the row it waits for, or of the row before it in its job. */
  #addBlocks({ blocks, block_count, parents, parent_count }: RowDraft, row: number, job: number): void {
    const parent = parent_count > 0 ? this.#blockList.at(parents[0] as number) : NaN;
    const base = Number.isNaN(parent) ? this.#lastBlocks.at(job) : parent;
    const place = this.#blocks.add(blocks, block_count, base);
    this.#blockList.set(row, place);
    this.#lastBlocks.set(job, place);
  }

  /** Adds a row as it is; its id was added before. */
  addWhole(request: TraceRequest): void {
    const row = this.#whole.length;
    this.#whole.push(request);
    this.#job.push(this.jobs.internText(request.job_id));
    const set = (field: Field, value: number | null | undefined): void => {
      if (value != null) (this.#numbers[field] as NumberColumn).set(row, value);
    };
    const { prompt, recorded } = request;
    set(FIELD.turn, request.turn);
    set(FIELD.arrival_ms, request.arrival_ms);
    set(FIELD.think_ms, request.think_ms);
    set(FIELD.max_tokens, request.max_tokens);
    set(FIELD.expected_output_tokens, request.expected_output_tokens);
    set(FIELD.temperature, request.temperature);
    set(FIELD.budget_ms, request.budget_ms);
    set(FIELD.sent_ms, recorded?.sent_ms);
    set(FIELD.end_ms, recorded?.end_ms);
    set(FIELD.recorded_prompt_tokens, recorded?.prompt_tokens);
    set(FIELD.output_tokens, recorded?.output_tokens);
    if (prompt.kind === "length") set(FIELD.prompt_tokens, prompt.tokens);
    if (prompt.kind === "ids") set(FIELD.prompt_tokens, prompt.ids.length);
  }

  /** The field of a row; NaN where it is absent. Rows kept whole have here only what {@link addWhole} sets. */
  number(field: Field, row: number): number {
    return (this.#numbers[field] as NumberColumn).at(row);
  }

  /** Arrivals of these rows; NaN where one is absent. */
  arrivals(rows: Int32Array): Float64Array {
    const arrivals = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i++) arrivals[i] = this.number(FIELD.arrival_ms, rows[i] as number);
    return arrivals;
  }

  /** The job's number in {@link jobs}. */
  jobOf(row: number): number {
    return this.#job.at(row);
  }

  /** Numbers of the jobs, row by row: a view. */
  jobColumn(): Int32Array {
    return this.#job.values();
  }

  /** The row as it was given, where columns could not hold it. */
  whole(row: number): TraceRequest | null {
    return this.#whole[row] as TraceRequest | null;
  }

  /** Whether the row names the requests that it waits for. */
  namesParents(row: number): boolean {
    const whole = this.whole(row);
    return whole === null ? !Number.isNaN(this.#parentList.at(row)) : whole.after !== null;
  }

  tools(row: number): readonly ToolCall[] | null {
    const whole = this.whole(row);
    if (whole !== null) return whole.tool;
    const list = this.#toolList.at(row);
    if (Number.isNaN(list)) return null;
    const from = this.#toolMsFrom.at(row);
    return Array.from(this.#tools.list(list), (name, i) => ({
      name: this.names.text(name),
      ms: this.#toolMs.at(from + i),
    }));
  }

  /** How many requests it names; 0 where it names none. */
  parentCount(row: number): number {
    const whole = this.whole(row);
    if (whole !== null) return whole.after?.length ?? 0;
    const list = this.#parentList.at(row);
    return Number.isNaN(list) ? 0 : this.#parents.length(list);
  }

  /** Whole prompt as recorded; NaN where nothing tells. */
  recordedPromptTokens(row: number): number {
    const recorded = this.number(FIELD.recorded_prompt_tokens, row);
    return Number.isNaN(recorded) ? this.number(FIELD.prompt_tokens, row) : recorded;
  }

  /** Output length that a faithful replay forces: recorded, else expected; NaN = free up to `max_tokens`. */
  plannedOutputTokens(row: number): number {
    const recorded = this.number(FIELD.output_tokens, row);
    return Number.isNaN(recorded) ? this.number(FIELD.expected_output_tokens, row) : recorded;
  }

  agent(row: number): string | null {
    const whole = this.whole(row);
    return whole === null ? this.#name(FIELD.agent, row) : whole.agent;
  }

  promptKind(row: number): TracePrompt["kind"] {
    const whole = this.whole(row);
    if (whole !== null) return whole.prompt.kind;
    return Number.isNaN(this.#text.at(row)) ? "length" : "text";
  }

  /** Whether a prompt of this kind is among them. */
  holdsPrompt(kind: TracePrompt["kind"]): boolean {
    for (let row = 0; row < this.length; row++) if (this.promptKind(row) === kind) return true;
    return false;
  }

  /** Whether the prompt is known by the names of its blocks. */
  namesBlocks(row: number): boolean {
    const prompt = this.whole(row)?.prompt;
    if (prompt !== undefined) return prompt.kind === "length" && prompt.hash_ids !== null;
    return !Number.isNaN(this.#blockList.at(row));
  }

  /** Names of a row's blocks, each ≥ 0, good until the next row's are asked for; `null` where it has none, or they are in {@link prompt} only. */
  blocks(row: number): Int32Array | null {
    const list = this.#blockList.at(row);
    return Number.isNaN(list) ? null : this.#blocks.list(list);
  }

  /** Place of a text prompt in {@link texts}; NaN where it is none, or it is in {@link prompt} only. */
  textPlace(row: number): number {
    return this.#text.at(row);
  }

  prompt(row: number): TracePrompt {
    const whole = this.whole(row);
    if (whole !== null) return whole.prompt;
    const place = this.#text.at(row);
    if (!Number.isNaN(place)) return { kind: "text", text: this.texts.text(place) };
    const blocks = this.blocks(row);
    return {
      kind: "length",
      tokens: this.number(FIELD.prompt_tokens, row),
      hash_ids: blocks === null ? null : Array.from(blocks),
      block_tokens: blocks === null ? null : this.#value(FIELD.block_tokens, row),
      hash_scope: blocks === null ? null : this.#name(FIELD.hash_scope, row),
    };
  }

  /** Rows that a row of columns waits for: a view; `null` where it names none. */
  parentRows(row: number): Int32Array | null {
    const list = this.#parentList.at(row);
    return Number.isNaN(list) ? null : this.#parents.list(list);
  }

  /** The row's place in its job, without the rest of it. */
  member(row: number): Member {
    const whole = this.whole(row);
    if (whole !== null) return whole;
    return {
      request_id: this.ids.text(row),
      turn: this.#value(FIELD.turn, row),
      arrival_ms: this.#value(FIELD.arrival_ms, row),
      after: this.#after(row),
    };
  }

  #after(row: number): readonly string[] | null {
    const parents = this.parentRows(row);
    return parents === null ? null : Array.from(parents, (parent) => this.ids.text(parent));
  }

  protected make(row: number): TraceRequest {
    const whole = this.whole(row);
    if (whole !== null) return whole;
    return {
      request_id: this.ids.text(row),
      job_id: this.jobs.text(this.jobOf(row)),
      turn: this.#value(FIELD.turn, row),
      arrival_ms: this.#value(FIELD.arrival_ms, row),
      after: this.#after(row),
      think_ms: this.#value(FIELD.think_ms, row),
      tool: this.tools(row),
      prompt: this.prompt(row),
      max_tokens: this.#value(FIELD.max_tokens, row),
      expected_output_tokens: this.#value(FIELD.expected_output_tokens, row),
      temperature: this.#value(FIELD.temperature, row),
      params: null,
      budget_ms: this.#value(FIELD.budget_ms, row),
      agent: this.agent(row),
      recorded: this.#recorded(row),
      response_text: null,
      metadata: null,
    };
  }

  #recorded(row: number): Recorded | null {
    let told = false;
    for (let field: number = FIELD.sent_ms; field <= FIELD.cached_tokens; field++)
      told ||= !Number.isNaN(this.number(field as Field, row));
    if (!told) return null;
    return {
      sent_ms: this.#value(FIELD.sent_ms, row),
      first_token_ms: this.#value(FIELD.first_token_ms, row),
      end_ms: this.#value(FIELD.end_ms, row),
      prompt_tokens: this.#value(FIELD.recorded_prompt_tokens, row),
      output_tokens: this.#value(FIELD.output_tokens, row),
      cached_tokens: this.#value(FIELD.cached_tokens, row),
    };
  }

  #value(field: Field, row: number): number | null {
    const value = this.number(field, row);
    return Number.isNaN(value) ? null : value;
  }

  #name(field: Field, row: number): string | null {
    const name = this.number(field, row);
    return Number.isNaN(name) ? null : this.names.text(name);
  }
}

function larger<A extends Float64Array | Int32Array>(old: A): A {
  const next = new (old.constructor as new (length: number) => A)(old.length * 2);
  next.set(old);
  return next;
}
