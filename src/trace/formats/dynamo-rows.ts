/**
 * Dynamo's agentic Mooncake rows. A row starts `delay + tool_wait_ms` after the last of its `wait_for`; without
 * `wait_for`, after the row before it in its session. Sessions that wait for each other are one job. The file does not
 * tell the block size: it is the one whose ceil fits every row.
 */
import type { JsonObject } from "../../core/json.ts";
import { lengthPrompt, newRecorded, newRequest } from "../new-request.ts";
import { BadRow, type RowAccount } from "../row-account.ts";
import {
  idField,
  integerField,
  objectsField,
  optionalBlockIds,
  optionalId,
  optionalNumber,
  optionalString,
} from "../row-fields.ts";
import type { BlockId, ToolCall, TraceRequest } from "../trace-request.ts";

interface Row {
  readonly line: number;
  readonly request: TraceRequest;
  readonly session: string;
  readonly tokens: number;
  readonly hash_ids: readonly BlockId[] | null;
  readonly wait_for: readonly string[];
}

const BLOCK_SIZES = [512, 256, 128, 64, 32, 16, 1024, 2048, 8, 4, 2, 1] as const;

export class DynamoRows {
  readonly #rows = new Map<string, Row>();
  readonly #last = new Map<string, string>();
  readonly #told: number | null;
  #block: number | null = null;

  constructor(block: number | null) {
    this.#told = block;
  }

  get count(): number {
    return this.#rows.size;
  }

  add(row: JsonObject, line: number): void {
    const request_id = idField(row, "request_id");
    if (this.#rows.has(request_id)) throw new BadRow(`request_id "${request_id}" occurred before`);
    const session = optionalId(row, "session_id") ?? request_id;
    const previous = this.#last.get(session);
    const wait_for =
      row["wait_for"] == null ? (previous === undefined ? [] : [previous]) : idList(row["wait_for"]);
    const delay = optionalNumber(row, "delay");
    const wait = optionalNumber(row, "tool_wait_ms");
    const tokens = integerField(row, "input_length", 1);
    const model = optionalString(row, "model");
    const request = newRequest({
      request_id,
      job_id: session,
      arrival_ms: optionalNumber(row, "timestamp"),
      after: wait_for,
      think_ms:
        wait_for.length === 0 || (delay === null && wait === null) ? null : (delay ?? 0) + (wait ?? 0),
      tool: toolsOf(row, wait),
      prompt: lengthPrompt(tokens),
      recorded: newRecorded({ output_tokens: integerField(row, "output_length", 1) }),
      agent: session,
      metadata: {
        ...(row["prefix_reset"] === true ? { prefix_reset: true } : {}),
        ...(model === null ? {} : { model }),
      },
    });
    this.#rows.set(request_id, {
      line,
      request,
      session,
      tokens,
      hash_ids: optionalBlockIds(row, "hash_ids"),
      wait_for,
    });
    this.#last.set(session, request_id);
  }

  notes(): string[] {
    return this.#block !== null && this.#told === null
      ? [`prefix blocks of ${this.#block} tokens (found from the lengths)`]
      : [];
  }

  /** All requests; a row whose `wait_for` names none, or whose blocks do not fit the file's size, is bad. */
  requests(account: RowAccount): TraceRequest[] {
    const refuse = (row: Row, reason: string): void => {
      account.revoke(row.line, reason);
      this.#rows.delete(row.request.request_id);
    };
    this.#block = this.#told ?? this.#findBlock();
    for (const row of this.#rows.values()) {
      if (row.hash_ids === null || this.#block === null) continue;
      const wanted = Math.ceil(row.tokens / this.#block);
      if (row.hash_ids.length !== wanted)
        refuse(
          row,
          `${row.hash_ids.length} hash_ids for ${row.tokens} tokens; blocks of ${this.#block} need ${wanted}`,
        );
    }
    for (let again = true; again;) {
      again = false;
      for (const row of this.#rows.values()) {
        const unknown = row.wait_for.find((id) => !this.#rows.has(id));
        if (unknown === undefined) continue;
        refuse(row, `"wait_for" names "${unknown}", which is not in the file`);
        again = true;
      }
    }
    const jobs = this.#jobs();
    return [...this.#rows.values()].map(({ request, session, tokens, hash_ids }) => {
      const job_id = jobs.get(session) ?? session;
      return {
        ...request,
        job_id,
        agent: session === job_id ? null : session,
        prompt:
          hash_ids === null || this.#block === null
            ? lengthPrompt(tokens)
            : { kind: "length", tokens, hash_ids, block_tokens: this.#block, hash_scope: null },
      };
    });
  }

  /** The size that fits most rows (all, in a good file); the usual ones first. */
  #findBlock(): number | null {
    const rows = [...this.#rows.values()].filter(({ hash_ids }) => hash_ids !== null);
    if (rows.length === 0) return null;
    let best: number = BLOCK_SIZES[0];
    let most = -1;
    for (const size of BLOCK_SIZES) {
      const fits = rows.filter(
        ({ tokens, hash_ids }) => hash_ids?.length === Math.ceil(tokens / size),
      ).length;
      if (fits > most) [best, most] = [size, fits];
    }
    return best;
  }

  /** Session → job: sessions joined by `wait_for` go under the one that comes first in the file. */
  #jobs(): Map<string, string> {
    const up = new Map<string, string>();
    const order = new Map<string, number>();
    const root = (session: string): string => {
      let at = session;
      for (let next = up.get(at); next !== undefined && next !== at; next = up.get(at)) at = next;
      up.set(session, at);
      return at;
    };
    for (const { session } of this.#rows.values()) if (!order.has(session)) order.set(session, order.size);
    for (const { session, wait_for } of this.#rows.values()) {
      for (const id of wait_for) {
        const [a, b] = [root(session), root(this.#rows.get(id)?.session ?? session)];
        if (a === b) continue;
        if ((order.get(a) as number) < (order.get(b) as number)) up.set(b, a);
        else up.set(a, b);
      }
    }
    return new Map([...order.keys()].map((session) => [session, root(session)]));
  }
}

function idList(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((id) => typeof id === "string" || Number.isSafeInteger(id)))
    return value.map(String);
  throw new BadRow('"wait_for" must be an array of request ids');
}

function toolsOf(row: JsonObject, wait: number | null): readonly ToolCall[] | null {
  const events = row["tool_events"] == null ? [] : objectsField(row, "tool_events");
  const tools = events.map((event): ToolCall => ({
    name:
      optionalString(event, "tool_class") ??
      optionalString(event, "tool_name") ??
      optionalString(event, "name") ??
      "tool",
    ms: optionalNumber(event, "duration_ms") ?? 0,
  }));
  if (tools.length > 0) return tools;
  return wait === null || wait === 0 ? null : [{ name: "tool", ms: wait }];
}
