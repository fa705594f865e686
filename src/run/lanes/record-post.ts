/**
 * Records on their way out of a lane. Those that end in one turn of the loop leave together, at its end; while the main
 * thread is behind they gather here, so that batches grow and get cheaper instead of filling its queue.
 */
import { recordLine } from "../../record/record-line.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { type EndedRequest, endedRequest } from "../ended-request.ts";
import { type FromLane, HELD_BACK, type LaneShared, OVER, POSTED, TAKEN } from "./lane-messages.ts";

/** Records that may be under way to the main thread. */
const WINDOW = 2048;

export class RecordPost {
  readonly #shared: LaneShared;
  readonly #post: (message: FromLane) => void;
  readonly #soon: (run: () => void) => void;
  #lines = "";
  #ended: EndedRequest[] = [];
  #indices: number[] = [];
  #scheduled = false;

  /** `soon` runs something after this turn of the loop. */
  constructor(shared: LaneShared, post: (message: FromLane) => void, soon: (run: () => void) => void) {
    this.#shared = shared;
    this.#post = post;
    this.#soon = soon;
  }

  add(record: RequestRecord, index: number): void {
    this.#lines += recordLine(record);
    this.#ended.push(endedRequest(record));
    this.#indices.push(index);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#soon(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  /** Posts what has gathered, unless too much is under way; `force`: in any case. */
  flush(force = false): void {
    if (this.#ended.length === 0) return;
    const { window, state } = this.#shared;
    const underWay = Atomics.load(window, POSTED) - Atomics.load(window, TAKEN);
    if (!force && underWay >= WINDOW) {
      Atomics.store(window, HELD_BACK, 1);
      // The main thread may have caught up between the two.
      if (Atomics.load(window, POSTED) !== Atomics.load(window, TAKEN)) return;
      Atomics.store(window, HELD_BACK, 0);
    }
    Atomics.add(window, POSTED, this.#ended.length);
    this.#post({ type: "records", lines: this.#lines, ended: this.#ended });
    for (const index of this.#indices) state[index] = OVER;
    this.#lines = "";
    this.#ended = [];
    this.#indices = [];
  }
}
