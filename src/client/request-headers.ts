/** The headers of a request: ours, then the protocol's, then the user's, of which a later one replaces an earlier one. */
import { UserError } from "../core/failure.ts";
import { secrets } from "../core/secret.ts";
import { VERSION } from "../core/version.ts";

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Framing is the transport's business. */
const OURS = new Set(["content-length", "transfer-encoding", "upgrade", "expect", "te", "trailer"]);
const SECRET_NAME = /auth|key|token|secret|cookie|passw|credential|signature/i;

/** The headers that every request carries unless the user says otherwise. */
export const BASE_HEADERS: Readonly<Record<string, string>> = {
  "User-Agent": `reprise/${VERSION}`,
  Accept: "*/*",
  "Accept-Encoding": "identity",
};

/** Merges by name, ignoring case; later lists win, the first one's order stays. */
export function mergeHeaders(
  ...lists: readonly (Readonly<Record<string, string>> | null | undefined)[]
): HeaderList {
  const merged = new Map<string, readonly [string, string]>();
  for (const list of lists) {
    for (const [name, value] of Object.entries(list ?? {})) merged.set(name.toLowerCase(), [name, value]);
  }
  return [...merged.values()];
}

/** Refuses what cannot be sent, and registers what looks like a secret. */
export function checkUserHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name))
      throw new UserError(`"${name}" is not the name of a header`);
    if (OURS.has(name.toLowerCase()))
      throw new UserError(`the header ${name} cannot be set: the client writes it itself`);
    // eslint-disable-next-line no-control-regex
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw new UserError(`the value of header ${name} holds characters that a header cannot carry`);
    if (SECRET_NAME.test(name) || /^(?:bearer|basic)\s/i.test(value) || value.startsWith("sk-")) {
      secrets.add(value);
      secrets.add(/^\S+\s+(\S+)$/.exec(value)?.[1]);
    }
  }
}
