import type { Manifest } from "../../record/manifest.ts";
import { CANCELLED, FAILED, OK, type RequestTable, SKIPPED } from "../request-table.ts";
import type { Counts } from "../summary.ts";

/** Requests by what became of them. `planned = sent + skipped + not_sent`, `sent = ok + failed + cancelled`. */
export function counts(table: RequestTable, manifest: Manifest): Counts {
  const by = [0, 0, 0, 0];
  for (const state of table.status) by[state] = (by[state] as number) + 1;
  const [ok, failed, cancelled, skipped] = [OK, FAILED, CANCELLED, SKIPPED].map((i) => by[i] as number) as [
    number,
    number,
    number,
    number,
  ];
  const sent = ok + failed + cancelled;
  // A plan without a known end (load until a duration is over) is as long as what became of it.
  const planned = Math.max(manifest.plan.requests, sent + skipped);
  return {
    planned,
    sent,
    ok,
    failed,
    cancelled,
    skipped,
    not_sent: planned - sent - skipped,
    overdue: manifest.end?.overdue ?? null,
  };
}
