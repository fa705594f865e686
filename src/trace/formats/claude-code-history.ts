/**
 * What a request of a Claude Code log held: the chain of its parents (a forked sub-agent's and a resumed session's run on into another
 * file), each answer with all its tool results, of which the chain passes only one.
 */
import type { JsonObject } from "../../core/json.ts";
import type { Answer, ClaudeCodeLog, LogRow } from "./claude-code-log.ts";

export interface History {
  readonly messages: readonly JsonObject[];
  /** Rows that came in after `answer`. */
  readonly inputs: readonly LogRow[];
  /** The last answer in it. */
  readonly answer: Answer | null;
}

export class Histories {
  readonly #log: ClaudeCodeLog;
  /** Messages before an answer: the next history begins with them. */
  readonly #known = new Map<Answer, readonly JsonObject[]>();

  constructor(log: ClaudeCodeLog) {
    this.#log = log;
  }

  before(row: LogRow): History {
    const own = this.#tail(row);
    // Answers on the way whose history was not asked for yet, the latest first.
    const open: { readonly answer: Answer; readonly tail: Tail }[] = [];
    const passed = new Set<Answer>();
    let reached = own.answer;
    while (reached !== null && !this.#known.has(reached) && !passed.has(reached)) {
      passed.add(reached);
      const tail = this.#tail(reached.first);
      open.push({ answer: reached, tail });
      reached = tail.answer;
    }
    for (const { answer, tail } of open.reverse()) this.#known.set(answer, this.#messages(tail));
    const messages = this.#messages(own);
    if (row.answer !== null) this.#known.set(row.answer, messages);
    return { messages, inputs: own.inputs, answer: own.answer };
  }

  #messages({ answer, inputs }: Tail): readonly JsonObject[] {
    const told = inputs.flatMap(({ messages }) => messages);
    return answer === null ? told : (this.#known.get(answer) ?? []).concat(answer.messages, told);
  }

  /** Back along the chain to the answer before. */
  #tail(row: LogRow): Tail {
    const chain: LogRow[] = [];
    const seen = new Set<string>();
    let answer: Answer | null = null;
    for (let id = row.parent; id !== null && !seen.has(id); id = this.#log.links.get(id) ?? null) {
      seen.add(id);
      const held = this.#log.byUuid.get(id);
      // Rows of other kinds lie between, and earlier lines of the answer itself.
      if (held === undefined || (held.answer !== null && held.answer === row.answer)) continue;
      if (held.answer !== null) {
        answer = held.answer;
        break;
      }
      chain.push(held);
    }
    const results = (answer?.lines ?? [])
      .flatMap(({ uuid }) => (uuid === null ? [] : (this.#log.results.get(uuid) ?? [])))
      .filter((result) => isKnown(result, row))
      .sort((a, b) => a.at - b.at);
    return { answer, inputs: [...new Set([...results, ...chain.reverse()])] };
  }
}

interface Tail {
  readonly answer: Answer | null;
  readonly inputs: readonly LogRow[];
}

/** Whether a row was there when `row` was written: by place in one file, by time between files. */
function isKnown(earlier: LogRow, row: LogRow): boolean {
  if (earlier.place.account === row.place.account || earlier.time === null || row.time === null)
    return earlier.at < row.at;
  return earlier.time <= row.time;
}
