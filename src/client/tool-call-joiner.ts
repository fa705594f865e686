/** Joins tool-call fragments by index. */
import type { ToolCallRecord } from "../record/observation.ts";
import type { ToolCallDelta } from "./protocol.ts";

interface Joined {
  id: string | null;
  name: string | null;
  readonly parts: string[];
}

export class ToolCallJoiner {
  readonly #calls = new Map<number, Joined>();

  add(fragments: readonly ToolCallDelta[]): void {
    for (const { index, id, name, arguments: text } of fragments) {
      let call = this.#calls.get(index);
      if (call === undefined) {
        call = { id: null, name: null, parts: [] };
        this.#calls.set(index, call);
      }
      call.id ??= id;
      call.name ??= name;
      if (text !== "") call.parts.push(text);
    }
  }

  get calls(): ToolCallRecord[] {
    return [...this.#calls]
      .sort(([a], [b]) => a - b)
      .map(([, call]) => ({ id: call.id, name: call.name, arguments: call.parts.join("") }));
  }
}
