/**
 * The three kinds of things that go wrong. A request's failure is data ({@link Failure}) and never stops a run; a
 * user's mistake is a {@link UserError}, one line and a hint, no stack; anything else is a bug and crashes loudly.
 */

/** Why a request failed. The list is closed: scripts rely on it (METRICS). */
export const FAILURE_CODES = [
  "connect",
  "tls",
  "dns",
  "timeout",
  "reset",
  "truncated",
  "protocol",
  "http_3xx",
  "http_4xx",
  "http_429",
  "http_5xx",
  "server_error",
  "bad_payload",
  "client_resource",
  "aborted",
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

/** A request's failure, as it stands in its record. `message` is hostile text: escape it wherever it is shown. */
export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
  readonly http_status: number | null;
}

/** Exit codes of the command line (DESIGN, section 2). */
export const EXIT = {
  good: 0,
  missed: 1,
  usage: 2,
  unreachable: 3,
  clientLimited: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface UserErrorOptions {
  /** What to do about it: one line. */
  readonly hint?: string;
  /** 2 (usage, the default) or 3 (target not reachable or not ready). */
  readonly exitCode?: ExitCode;
  readonly cause?: unknown;
}

/** A mistake of the person (or script) that runs Reprise: shown as one line and a hint, never with a stack. */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly hint: string | null;
  readonly exitCode: ExitCode;

  constructor(message: string, options: UserErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint ?? null;
    this.exitCode = options.exitCode ?? EXIT.usage;
  }
}

/** The HTTP failure code of a status outside 2xx. */
export function httpFailureCode(status: number): FailureCode {
  if (status === 429) return "http_429";
  if (status >= 500) return "http_5xx";
  if (status >= 400) return "http_4xx";
  if (status >= 300) return "http_3xx";
  return "protocol";
}
