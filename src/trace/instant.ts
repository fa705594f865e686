/**
 * Instants as logs write them (ISO 8601, Unix s / ms / µs / ns), kept exact: whole milliseconds and the fraction apart,
 * since a double that counts milliseconds from 1970 holds microseconds only roughly.
 */
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import type { TraceRequest } from "./trace-request.ts";

export interface Instant {
  /** Whole milliseconds since 1970-01-01T00:00Z. */
  readonly epoch_ms: number;
  /** The rest, 0 ≤ fraction < 1, in milliseconds. */
  readonly fraction: number;
}

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

/** An ISO 8601 instant with any number of fraction digits; without a zone it is read as UTC. `null` = not one. */
export function parseIsoInstant(text: string): Instant | null {
  const match = ISO.exec(text.trim());
  if (match === null) return null;
  const [, year, month, day, hour, minute, second = "0", digits = "", zone = "Z"] = match;
  const fields = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (fields[1] < 1 || fields[1] > 12 || fields[2] < 1 || fields[2] > daysIn(fields[0], fields[1]))
    return null;
  if (fields[3] > 24 || fields[4] > 59 || fields[5] > 60) return null;
  const whole = Date.UTC(fields[0], fields[1] - 1, fields[2], fields[3], fields[4], fields[5]);
  const padded = digits.padEnd(3, "0");
  return {
    epoch_ms: whole + Number(padded.slice(0, 3)) - zoneMs(zone),
    fraction: padded.length > 3 ? Number(`0.${padded.slice(3)}`) : 0,
  };
}

/** A day that a month does not have would be read as one of the next. */
function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function zoneMs(zone: string): number {
  if (/^z$/i.test(zone)) return 0;
  const sign = zone.startsWith("-") ? -1 : 1;
  const digits = zone.slice(1).replace(":", "");
  return sign * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || "0")) * 60_000;
}

/**
 * An instant in any of the forms logs use: ISO text, or a Unix number (or its digits) whose magnitude tells the unit:
 * below 10^11 seconds, below 10^14 ms, below 10^17 µs, else ns. `null` = none of these.
 */
export function toInstant(value: unknown): Instant | null {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? fromUnixNumber(value) : null;
  if (typeof value !== "string") return null;
  if (!/^\d+(\.\d+)?$/.test(value)) return parseIsoInstant(value);
  if (/^\d{17,}$/.test(value)) return fromUnixNanos(BigInt(value));
  return fromUnixNumber(Number(value));
}

function fromUnixNanos(nanos: bigint): Instant {
  return { epoch_ms: Number(nanos / 1_000_000n), fraction: Number(nanos % 1_000_000n) / 1e6 };
}

function fromUnixNumber(value: number): Instant {
  if (value >= 1e17) return fromUnixNanos(BigInt(Math.round(value)));
  const ms = value < 1e11 ? value * 1000 : value < 1e14 ? value : value / 1000;
  const epoch_ms = Math.floor(ms);
  return { epoch_ms, fraction: ms - epoch_ms };
}

/** Turns instants into milliseconds on a trace's axis, which begins at the first instant it is given. */
export class TimeAxis {
  #origin: number | null = null;

  /** Milliseconds from the axis' origin; `null` stays `null`. */
  at(instant: Instant | null): Ms | null {
    if (instant === null) return null;
    this.#origin ??= instant.epoch_ms;
    return instant.epoch_ms - this.#origin + instant.fraction;
  }

  /** The origin, in ms since 1970; `null` before the first instant. */
  get origin_ms(): number | null {
    return this.#origin;
  }
}

/** The gap from the last of `ends` to `start`, at least 0. `null` where a time is unknown or there is no end. */
export function gapAfter(start: Ms | null, ends: readonly (Ms | null)[]): Ms | null {
  if (start === null || ends.length === 0) return null;
  let last = -Infinity;
  for (const end of ends) {
    if (end === null) return null;
    if (end > last) last = end;
  }
  return Math.max(0, start - last);
}

/** The same request, later (or earlier) by `shift` ms. */
export function shifted(request: TraceRequest, shift: Ms): TraceRequest {
  const move = (time: Ms | null): Ms | null => (time === null ? null : time + shift);
  const { recorded } = request;
  return {
    ...request,
    arrival_ms: move(request.arrival_ms),
    recorded:
      recorded === null
        ? null
        : {
            ...recorded,
            sent_ms: move(recorded.sent_ms),
            first_token_ms: move(recorded.first_token_ms),
            end_ms: move(recorded.end_ms),
          },
  };
}

/** Moves the axis' 0 to the first arrival; the header tells when that was (`null` without any time). */
export function fromFirstArrival(
  requests: readonly TraceRequest[],
  axis: TimeAxis,
): { readonly requests: readonly TraceRequest[]; readonly header: JsonObject | null } {
  let first = Infinity;
  for (const { arrival_ms } of requests) if (arrival_ms !== null && arrival_ms < first) first = arrival_ms;
  if (axis.origin_ms === null || first === Infinity) return { requests, header: null };
  return {
    requests: first === 0 ? requests : requests.map((request) => shifted(request, -first)),
    header: { epoch_ms: axis.origin_ms + first },
  };
}
