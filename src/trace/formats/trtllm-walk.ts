/** The branches of a scaffolding trace as it is walked: what each waits for, and the pieces its conversations hold. */
import type { JsonObject } from "../../core/json.ts";
import type { Ms } from "../../core/units.ts";
import { BlockNamer, sumTokens, type Piece } from "../block-namer.ts";
import { newRecorded, newRequest } from "../new-request.ts";
import { BadRow } from "../row-account.ts";
import {
  integerField,
  optionalId,
  optionalInteger,
  optionalNumber,
  optionalString,
  wrong,
} from "../row-fields.ts";
import type { ToolCall, TraceRequest } from "../trace-request.ts";

interface Branch {
  readonly path: string;
  /** Requests that must have ended before the branch's next one. */
  waits: readonly string[];
  /** Tool time since the last of them. */
  pause: Ms;
  tools: ToolCall[];
  /** Whether the branch has made a request of its own. */
  asked: boolean;
  /** Segments of each conversation; a child branch tells its conversations anew. */
  readonly conversations: Map<string, Piece[]>;
}

export class ScaffoldingWalk {
  readonly requests: TraceRequest[] = [];
  readonly #job: string;
  readonly #namer = new BlockNamer();
  readonly #branches = new Map<string, Branch>();
  readonly #forks: { readonly parent: string; readonly children: readonly string[] }[] = [];
  #texts = 0;

  constructor(job_id: string) {
    this.#job = job_id;
    this.#open("", null);
  }

  openBranches(): number {
    return this.#forks.length;
  }

  message(row: JsonObject): void {
    const branch = this.#branch(row);
    const role = row["role"];
    const conversation = optionalId(row, "conversation_id") ?? "0";
    const segments = branch.conversations.get(conversation) ?? [];
    branch.conversations.set(conversation, segments);
    // An answer that tells a length but no generation is context, not a request.
    const isContext = row["completion_tokens"] == null && row["tokens"] != null;
    if (role === "assistant" && !isContext) this.#ask(row, branch, conversation, segments);
    else if (role === "system") {
      const template = optionalId(row, "system_prompt_id");
      const text = template === null ? `system of conversation ${conversation}` : `system prompt ${template}`;
      store(row, segments, { text, tokens: segmentTokens(row) });
    } else if (role === "user" || role === "tool" || role === "assistant")
      store(row, segments, this.#newText(segmentTokens(row)));
    else throw wrong("role", role, '"system", "user", "assistant" or "tool"');
  }

  #ask(row: JsonObject, branch: Branch, conversation: string, segments: Piece[]): void {
    const output = integerField(row, "completion_tokens");
    const reasoning = optionalInteger(row, "reasoning_tokens") ?? 0;
    if (reasoning > output)
      throw new BadRow(`"reasoning_tokens" ${reasoning} exceed "completion_tokens" ${output}`);
    const held = sumTokens(segments);
    const told = optionalInteger(row, "prompt_tokens", 1);
    if (held === 0 && told === null) throw new BadRow("a request whose prompt has no tokens");
    const prompt = this.#namer.prompt(held > 0 ? segments : [this.#newText(told ?? 0)]);
    const id = `${this.#job}/${this.requests.length}`;
    this.requests.push(
      newRequest({
        request_id: id,
        job_id: this.#job,
        turn: this.requests.length,
        after: branch.waits,
        think_ms: branch.waits.length === 0 && branch.pause === 0 ? null : branch.pause,
        tool: branch.tools.length > 0 ? branch.tools : null,
        prompt,
        agent: branch.path === "" ? null : `branch ${branch.path}`,
        recorded: newRecorded({ prompt_tokens: told ?? held, output_tokens: output }),
        metadata: { conversation_id: conversation, reasoning_tokens: reasoning },
      }),
    );
    branch.waits = [id];
    branch.pause = 0;
    branch.tools = [];
    branch.asked = true;
    // Reasoning does not come back in the history.
    store(row, segments, this.#newText(output - reasoning));
  }

  toolCall(row: JsonObject): void {
    const branch = this.#branch(row);
    const ms = optionalNumber(row, "duration_ms") ?? 0;
    branch.tools.push({ name: optionalString(row, "tool_name") ?? "tool", ms });
    branch.pause += ms;
  }

  /** Opens the branches `[...path, 0]` to `[...path, n − 1]`; `inline` walks children that the event itself holds. */
  fork(row: JsonObject, inline: (children: readonly unknown[]) => void): void {
    const parent = this.#branch(row);
    const held: unknown = row["children"];
    const count = optionalInteger(row, "num_branches") ?? (Array.isArray(held) ? held.length : 0);
    const children = Array.from({ length: count }, (_, at) =>
      parent.path === "" ? `${at}` : `${parent.path}.${at}`,
    );
    for (const child of children) this.#open(child, parent);
    if (!Array.isArray(held) || held.length === 0) {
      this.#forks.push({ parent: parent.path, children });
      return;
    }
    inline(held);
    this.#close(parent, children);
  }

  join(row: JsonObject): void {
    const fork = this.#forks.pop();
    if (fork === undefined) throw new BadRow("parallel_end without parallel_start");
    const named = Array.isArray(row["branch_path"]) ? row["branch_path"].join(".") : fork.parent;
    if (named !== fork.parent)
      throw new BadRow(
        `parallel_end of branch [${named}], but the open parallel_start is of [${fork.parent}]`,
      );
    this.#close(this.#branches.get(fork.parent) as Branch, fork.children);
  }

  /**
   * The parent goes on after all children. One pause stands for all of them: the longest a child spent in tools after its
   * last request (of the children with requests, if there are any).
   */
  #close(parent: Branch, names: readonly string[]): void {
    const children = names.map((name) => this.#branches.get(name) as Branch);
    for (const name of names) this.#branches.delete(name);
    const asked = children.filter((child) => child.asked);
    const counted = asked.length > 0 ? asked : children;
    const slowest = counted.reduce<Branch | null>((a, b) => (a === null || b.pause > a.pause ? b : a), null);
    if (asked.length > 0) parent.waits = [...new Set(asked.flatMap((child) => child.waits))];
    if (slowest === null) return;
    // Children begin with what their parent had waited already, unless a request of theirs has ended since.
    parent.pause = slowest.pause;
    parent.tools = slowest.tools;
  }

  drop(row: JsonObject): void {
    const branch = this.#branch(row);
    const last = branch.waits.at(-1);
    const at = this.requests.findIndex(({ request_id }) => request_id === last);
    const request = this.requests[at];
    if (request !== undefined)
      this.requests[at] = { ...request, metadata: { ...request.metadata, drop_kv_cache_after: true } };
  }

  #branch(row: JsonObject): Branch {
    const path: unknown = row["branch_path"] ?? [];
    if (!Array.isArray(path) || !path.every((step) => Number.isSafeInteger(step)))
      throw wrong("branch_path", row["branch_path"], "an array of integers");
    const branch = this.#branches.get(path.join("."));
    if (branch === undefined)
      throw new BadRow(`branch [${path.join(", ")}] is not open: no parallel_start made it`);
    return branch;
  }

  #open(path: string, parent: Branch | null): void {
    this.#branches.set(path, {
      path,
      waits: parent?.waits ?? [],
      pause: parent?.pause ?? 0,
      tools: [...(parent?.tools ?? [])],
      asked: false,
      conversations: new Map(),
    });
  }

  #newText(tokens: number): Piece {
    return { text: `text ${this.#texts++}`, tokens };
  }
}

function segmentTokens(row: JsonObject): number {
  return (
    optionalInteger(row, "tokens") ??
    optionalInteger(row, "tokenize_count") ??
    optionalInteger(row, "prompt_tokens") ??
    0
  );
}

/** `message_index` inside the conversation replaces that segment (compaction); otherwise the segment is added. */
function store(row: JsonObject, segments: Piece[], piece: Piece): void {
  const at = optionalInteger(row, "message_index");
  if (at !== null && at < segments.length) segments[at] = piece;
  else segments.push(piece);
}
