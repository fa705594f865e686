/**
 * How long a socket may have been idle and still be trusted with a request. A server that closes an idle socket just as we
 * write to it costs a request (nothing is ever sent twice), so a socket is used again only well inside what is known:
 *
 * - the server's `Keep-Alive: timeout`, or the shortest idle time after which it was seen to close, less 500 ms;
 * - as long as neither is known: less than the longest idle time that a socket was seen to survive, less 500 ms, and
 *   always up to 500 ms. Sockets beyond that are kept for a while, unused, to learn from;
 * - as long as the server has not been seen to keep one after such a response: not at all. Some close after every streamed
 *   response, and their FIN is still on the way when the next request is due. Their word is no proof: llama.cpp does so after
 *   `Keep-Alive: timeout=5, max=100`, and keeps those whose response had a length. Nor is the time alone: a loop that stood still
 *   has not read the FIN that came meanwhile.
 */
import type { Ms } from "../../core/units.ts";

const MARGIN_MS = 500;
/** A socket that is open for so long after a response, all reads done, was not closed with it. */
export const SETTLED_MS = 25;
/** Unused sockets are given up after this. */
const KEEP_MS = 120_000;

export class IdleLimit {
  #told: Ms | null = null;
  #closedAfter: Ms | null = null;
  #survived: Ms = 0;
  readonly #keeps = { streamed: false, whole: false };

  /** A `Keep-Alive` response header; its timeout is in seconds. */
  keepAliveHeader(value: string): void {
    const match = /(?:^|[,;\s])timeout\s*=\s*"?(\d+)/i.exec(value);
    if (match === null) return;
    const ms = Number(match[1]) * 1000;
    this.#told = this.#told === null ? ms : Math.min(this.#told, ms);
  }

  /** The server closed a socket that had been idle for `ms`. */
  closed(ms: Ms): void {
    this.#closedAfter = this.#closedAfter === null ? ms : Math.min(this.#closedAfter, ms);
  }

  /** A socket has been idle for `ms` and is still open. */
  survived(ms: Ms): void {
    if (ms > this.#survived) this.#survived = ms;
  }

  /** A socket was open {@link SETTLED_MS} after its response, when all that had come by then had been read. */
  kept(streamed: boolean): void {
    this.#keeps[streamed ? "streamed" : "whole"] = true;
  }

  /** Whether a socket was seen to be kept after a response of this kind. */
  keeps(streamed: boolean): boolean {
    return this.#keeps[streamed ? "streamed" : "whole"];
  }

  /** `streamed`: its last response was. */
  mayReuse(idle: Ms, streamed: boolean): boolean {
    return this.keeps(streamed) && this.#withinLimit(idle);
  }

  #withinLimit(idle: Ms): boolean {
    const known = this.#known();
    if (known !== null) return idle <= known - MARGIN_MS;
    return idle <= Math.max(MARGIN_MS, this.#survived - MARGIN_MS);
  }

  /** Nothing more is to be had from a socket that has been idle for `ms`, not even knowledge. */
  mayDrop(idle: Ms): boolean {
    return idle > KEEP_MS || (this.#known() !== null && !this.#withinLimit(idle));
  }

  #known(): Ms | null {
    if (this.#told === null) return this.#closedAfter;
    return this.#closedAfter === null ? this.#told : Math.min(this.#told, this.#closedAfter);
  }
}
