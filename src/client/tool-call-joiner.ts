/**
 * Joins tool-call fragments by index. A fragment with another id and a name of its own begins another call even under an index
 * already taken: some servers number every call 0. An id alone begins none: some make up a new one for each fragment.
 */
import type { ToolCallRecord } from "../record/observation.ts";
import type { ToolCallDelta } from "./protocol.ts";

interface Joined {
  readonly index: number;
  id: string | null;
  name: string | null;
  readonly parts: string[];
}

export class ToolCallJoiner {
  readonly #calls: Joined[] = [];
  /** The call under way of each index. */
  readonly #current = new Map<number, Joined>();

  add(fragments: readonly ToolCallDelta[]): void {
    for (const { index, id, name, arguments: text } of fragments) {
      let call = this.#current.get(index);
      const isOther =
        call !== undefined && name !== null && id !== null && call.id !== null && id !== call.id;
      if (call === undefined || isOther) {
        call = { index, id: null, name: null, parts: [] };
        this.#current.set(index, call);
        this.#calls.push(call);
      }
      call.id ??= id;
      call.name ??= name;
      if (text !== "") call.parts.push(text);
    }
  }

  get calls(): ToolCallRecord[] {
    return this.#calls
      .toSorted((a, b) => a.index - b.index)
      .map((call) => ({ id: call.id, name: call.name, arguments: call.parts.join("") }));
  }
}
