/**
 * A server that refuses our credentials or knows neither the path nor the model will refuse every request: nothing is sent
 * after that is known. Told from the first answers only; once one request was ok, a refusal is just a failure.
 */
import type { EndedRequest } from "./ended-request.ts";

const HINTS: Readonly<Record<number, string>> = {
  401: "set OPENAI_API_KEY, or name the variable with --api-key-env or a file with --api-key-file",
  403: "the key is not allowed to use this model or path",
  404: "check --base-url, --endpoint, --backend and --model",
  405: "check --endpoint and --backend",
};

export interface EarlyStop {
  readonly message: string;
  readonly hint: string;
}

/** Looks at records in the order of their ends; says once that going on is pointless. */
export function createEarlyStop(): (record: EndedRequest) => EarlyStop | null {
  let settled = false;
  return (record) => {
    if (settled || record.status === "skipped" || record.status === "cancelled") return null;
    const status = record.failure?.http_status ?? null;
    const hint = status === null ? undefined : HINTS[status];
    if (record.status === "ok" || hint === undefined) {
      // Anything but a refusal of this kind shows that the server takes such requests.
      if (record.status === "ok") settled = true;
      return null;
    }
    settled = true;
    return {
      message: `the server refused the first request (${status}): ${record.failure?.message ?? ""}`,
      hint,
    };
  };
}
