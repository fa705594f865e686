/** What a server answers when it fails a request stands in the records; the first of each kind is told while the run lasts. */
import { plainText } from "../core/terminal-text.ts";
import type { EndedRequest } from "../run/ended-request.ts";

const MAX_MESSAGE = 300;

/** `say` gets one line for the first failed request of each failure code. */
export function firstFailures(say: (line: string) => void): (record: EndedRequest) => void {
  const told = new Set<string>();
  return ({ failure, status, request_id }) => {
    if (failure === null || status !== "failed" || told.has(failure.code)) return;
    told.add(failure.code);
    const { code, message } = failure;
    const text = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}...` : message;
    say(plainText(`failed: ${request_id} (${code}): ${text}; more of this kind are only counted`));
  };
}
