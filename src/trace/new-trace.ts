/** Builds a {@link Trace} from what a format read and the account of its rows. */
import { newProvenance } from "./new-request.ts";
import type { RowAccount } from "./row-account.ts";
import type { Origin, Property, Provenance, Trace } from "./trace.ts";
import { plannedOutputTokens, recordedPromptTokens, type TraceRequest } from "./trace-request.ts";

export interface ReadRequests extends Pick<Trace, "requests"> {
  readonly header?: Trace["header"];
  /** What is not named is `missing`. */
  readonly provenance: Partial<Record<Property, Origin>>;
  readonly notes?: Trace["notes"];
}

/** `format` is the format's name, as in its `TraceFormat`. */
export function newTrace(format: string, account: RowAccount, told: ReadRequests): Trace {
  return {
    format,
    path: account.path,
    header: told.header ?? null,
    requests: told.requests,
    rows: account.counts(),
    faults: account.faults,
    provenance: newProvenance(told.provenance),
    notes: told.notes ?? [],
  };
}

/** What the requests tell: a property is `recorded` where any of them has it. */
export function toldBy(requests: Trace["requests"]): Provenance {
  const any = (has: (request: TraceRequest) => boolean): Origin =>
    requests.some(has) ? "recorded" : "missing";
  return {
    arrivals: any(({ arrival_ms }) => arrival_ms !== null),
    order: any(({ turn, after }) => turn !== null || after !== null),
    think_time: any(({ think_ms }) => think_ms !== null),
    prompt_text: any(({ prompt }) => prompt.kind !== "length"),
    prompt_length: any((request) => recordedPromptTokens(request) !== null),
    prefix_sharing: any(({ prompt }) => prompt.kind !== "length" || prompt.hash_ids !== null),
    output_length: any((request) => plannedOutputTokens(request) !== null),
    sampling: any(({ temperature }) => temperature !== null),
  };
}
