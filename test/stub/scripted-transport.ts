/**
 * Plays bytes into a client at exact virtual instants: the real parser, splitter, observer and exchange, no socket. So
 * the expected times of a case are numbers, not ranges.
 */
import type { Clock } from "../../src/core/clock.ts";
import type { FailureCode } from "../../src/core/failure.ts";
import type { Ms } from "../../src/core/units.ts";
import { ResponseParser } from "../../src/client/http/response-parser.ts";
import type {
  Exchange,
  ExchangeHandler,
  RequestParts,
  Transport,
  WireRequest,
} from "../../src/client/http/transport.ts";

/** One write of the server, or the end of the connection, `at` ms after the request came. */
export interface Step {
  readonly at: Ms;
  readonly bytes?: Buffer | string;
  /** FIN, or a failure of the connection. */
  readonly end?: "fin" | { readonly code: FailureCode; readonly message: string };
}

interface ScriptedRequest extends WireRequest {
  readonly parts: RequestParts;
}

export class ScriptedTransport implements Transport {
  readonly requests: RequestParts[] = [];
  readonly #clock: Clock;
  readonly #script: (index: number) => readonly Step[];
  readonly #connectMs: Ms;

  constructor(
    clock: Clock,
    script: readonly Step[] | ((index: number) => readonly Step[]),
    connectMs: Ms = 0,
  ) {
    this.#clock = clock;
    this.#script = typeof script === "function" ? script : () => script;
    this.#connectMs = connectMs;
  }

  prepare(parts: RequestParts): ScriptedRequest {
    return { bodyBytes: parts.body?.length ?? 0, parts };
  }

  start(request: WireRequest, handler: ExchangeHandler): Exchange {
    const index = this.requests.length;
    this.requests.push((request as ScriptedRequest).parts);
    let live = true;
    let readAt = 0;
    const parser = new ResponseParser({
      head: (status, headers) => live && handler.head(status, headers, readAt),
      body: (bytes, start, end) => live && handler.body(bytes, start, end, readAt),
    });
    const finish = (act: (now: Ms) => void): void => {
      if (!live) return;
      live = false;
      act(readAt);
    };
    const start = this.#clock.now() + this.#connectMs;
    const play = (step: Step): void => {
      if (!live) return;
      readAt = this.#clock.now();
      if (step.bytes !== undefined) {
        // Into a larger buffer full of line ends, as the shared read buffer is full of older bytes.
        const bytes = Buffer.from(step.bytes as string);
        const shared = Buffer.alloc(bytes.length + 64, "\r\n");
        bytes.copy(shared, 7);
        parser.push(shared, 7, 7 + bytes.length);
        shared.fill(0x58);
        const { error } = parser;
        if (error !== null) finish((now) => handler.fail("protocol", error, now));
        else if (parser.complete) finish((now) => handler.end(now));
        else if (live) handler.readDone(readAt);
      }
      const { end } = step;
      if (end === "fin") {
        finish((now) => {
          if (parser.started && parser.close()) handler.end(now);
          else handler.fail(parser.started ? "truncated" : "reset", "the server closed the connection", now);
        });
      } else if (end !== undefined) finish((now) => handler.fail(end.code, end.message, now));
    };
    this.#clock.at(start, () => {
      if (!live) return;
      handler.sent(start, this.#connectMs);
      for (const step of this.#script(index)) this.#clock.at(start + step.at, () => play(step));
    });
    return {
      abort: () => {
        live = false;
      },
      finish: () => {
        live = false;
      },
    };
  }

  async close(): Promise<void> {}
}
