/** A client whose answers take a time the test says: whole runs on it and a virtual clock are exact to the millisecond. */
import type { Client, InFlight, ModelRequest, PreparedRequest } from "../../src/client/client.ts";
import type { Clock, Timer } from "../../src/core/clock.ts";
import type { Failure } from "../../src/core/failure.ts";
import type { Ms } from "../../src/core/units.ts";
import { emptyObservation, type Observation } from "../../src/record/observation.ts";

export interface FixedAnswer {
  readonly service_ms: Ms;
  /** Fails after `service_ms` with this HTTP status. */
  readonly status?: number;
  /** Never answers a cancel. */
  readonly deaf?: boolean;
  readonly text?: string;
}

export class FixedServiceClient implements Client {
  readonly name = "fixed service";
  /** Request ids in the order they were sent, with the instant. */
  readonly sends: { id: string; at: Ms }[] = [];
  inFlight = 0;
  peak = 0;
  readonly #clock: Clock;
  readonly #answer: (id: string) => FixedAnswer;

  constructor(clock: Clock, answer: (id: string) => FixedAnswer) {
    this.#clock = clock;
    this.#answer = answer;
  }

  prepare(request: Pick<ModelRequest, "request_id">): PreparedRequest {
    return { request_id: request.request_id, body_bytes: 0 };
  }

  send(prepared: PreparedRequest, done: (seen: Observation) => void): InFlight {
    const { service_ms, status, deaf, text } = this.#answer(prepared.request_id);
    const sent = this.#clock.now();
    this.sends.push({ id: prepared.request_id, at: sent });
    this.peak = Math.max(this.peak, ++this.inFlight);
    let over = false;
    const finish = (failure: Failure | null): void => {
      if (over) return;
      over = true;
      this.inFlight--;
      this.#clock.cancel(timer);
      done(observation(sent, this.#clock.now(), failure, text ?? null));
    };
    const failure: Failure | null =
      status === undefined ? null : { code: "http_5xx", message: `status ${status}`, http_status: status };
    const timer: Timer = this.#clock.at(sent + service_ms, () => finish(failure));
    return {
      cancel: (code, message) => {
        if (deaf !== true) finish({ code, message, http_status: null });
      },
    };
  }

  async close(): Promise<void> {}
}

function observation(sent: Ms, end: Ms, failure: Failure | null, text: string | null): Observation {
  return {
    ...emptyObservation(sent),
    end_ms: end,
    finish_reason: failure === null ? "stop" : null,
    text,
    failure,
    http_status: failure?.http_status ?? 200,
  };
}
