/** Builds a {@link Trace} from what a format read and the account of its rows. */
import { newProvenance } from "./new-request.ts";
import type { RowAccount } from "./row-account.ts";
import type { Origin, Property, Trace } from "./trace.ts";

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
