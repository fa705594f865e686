/**
 * Whether the server was measured, or the load generator. `client-limited`: sends were late, or the generator's loop
 * stood still while streams were open. `degraded`: the run was cut, or a part of it was lost.
 */
import { describeSamples } from "../../core/quantile.ts";
import type { Ms } from "../../core/units.ts";
import type { Manifest } from "../../record/manifest.ts";
import { type RequestTable, SKIPPED } from "../request-table.ts";
import { failures } from "./failures.ts";
import type { Counts, Validity } from "../summary.ts";

export const DEFAULT_MAX_LATENESS_MS: Ms = 5;
/** A stall as long as this, with streams open, shifts chunk times by as much. */
export const MAX_STREAMING_STALL_MS: Ms = 200;
/** Timers spin before a deadline, so a busy loop alone proves nothing; with stalls of this size it does. */
const SUSPECT_UTILISATION = 0.9;

/** Share of time waiting for a core from which on it explains lateness. */
const TELLING_WAIT = 0.02;

export function validity(table: RequestTable, manifest: Manifest, counts: Counts, maxLateness: Ms): Validity {
  const samples: number[] = [];
  let late = 0;
  for (let row = 0; row < table.n; row++) {
    const value = table.metrics.lateness[row] as number;
    if (table.status[row] === SKIPPED || Number.isNaN(value)) continue;
    samples.push(value);
    if (value > maxLateness) late++;
  }
  const lateness = describeSamples(samples, [50, 99]);
  const health = manifest.end?.generator ?? null;
  const limits: string[] = [];
  const p99 = lateness["p99"] ?? null;
  if (p99 !== null && p99 > maxLateness)
    limits.push(`sends were late: p99 ${ms(p99)}, limit ${ms(maxLateness)}`);
  const stall = health?.loop_stall_streaming_max_ms ?? null;
  if (stall !== null && stall >= MAX_STREAMING_STALL_MS)
    limits.push(`the load generator stood still for ${ms(stall)} while streams were open`);
  const loop = health?.loop_stall_p99_ms ?? null;
  const used = health?.loop_utilisation ?? null;
  if (loop !== null && used !== null && loop > maxLateness && used > SUSPECT_UTILISATION)
    limits.push(
      `the load generator's loop was busy (${(used * 100).toFixed(0)} %), with stalls of ${ms(loop)} at p99`,
    );
  const wait = health?.core_wait_share ?? null;
  // Not a fault by itself, but it says where the others come from.
  if (limits.length > 0 && wait !== null && wait >= TELLING_WAIT)
    limits.push(
      `other processes held the core for ${(wait * 100).toFixed(0)} % of the time in which the load generator was ready to run`,
    );
  const starved = failures(table)["client_resource"] ?? 0;
  if (starved > 0)
    limits.push(
      `${starved} ${starved === 1 ? "request" : "requests"} found no descriptors, ports or memory on the load generator's machine`,
    );
  const degraded: string[] = [];
  if (manifest.end === null) degraded.push("the run has no end: it was killed, or is still under way");
  else if (manifest.end.interrupted) degraded.push("the run was interrupted");
  degraded.push(...(manifest.end?.degraded ?? []));
  const missing = counts.not_sent - (manifest.end?.not_sent ?? counts.not_sent);
  if (missing > 0) degraded.push(`${missing} records are missing from the log`);
  return {
    verdict: degraded.length > 0 ? "degraded" : limits.length > 0 ? "client-limited" : "valid",
    reasons: [...degraded, ...limits],
    client_limited: limits.length > 0,
    max_lateness_ms: maxLateness,
    lateness: { ...lateness, share_late: samples.length === 0 ? null : late / samples.length },
    loop_stall: { p99: loop, max: health?.loop_stall_max_ms ?? null, streaming_max: stall },
    cpu_share: health?.cpu_share ?? null,
    loop_utilisation: used,
  };
}

function ms(value: Ms): string {
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;
}
