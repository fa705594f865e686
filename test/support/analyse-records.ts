/** Numbers of hand-made records, for tests of metrics. */
import type { Calibration } from "../../src/metric/calibration.ts";
import { analyzeRun, type RunAnalysis, summarizeRun } from "../../src/metric/summarize.ts";
import { parseSummaryOptions, type SummaryFlags } from "../../src/metric/summary-options.ts";
import type { Summary } from "../../src/metric/summary.ts";
import type { PlannedJobRecord } from "../../src/record/manifest.ts";
import type { RequestRecord } from "../../src/record/request-record.ts";
import { manifest, type ManifestParts, record } from "./run-samples.ts";

export function analyse(
  records: RequestRecord[],
  jobs: PlannedJobRecord[] = [],
  flags: SummaryFlags = {},
  parts: ManifestParts = {},
  calibration: Calibration | null = null,
): Promise<RunAnalysis> {
  return analyzeRun({ manifest: manifest(parts), jobs, records, calibration }, parseSummaryOptions(flags));
}

/** The summary of a run that planned just these requests. */
export function summarize(
  records: RequestRecord[],
  parts: ManifestParts = {},
  flags: SummaryFlags = {},
): Promise<Summary> {
  const whole = manifest({ ...parts, plan: { requests: records.length, ...parts.plan } });
  return summarizeRun({ manifest: whole, jobs: [], records }, parseSummaryOptions(flags));
}

/** A turn of job `j`: due, sent, first token, last token, end. */
export function turn(id: string, times: number[], more: Partial<RequestRecord> = {}): RequestRecord {
  const [intended_ms, sent_ms, first, last, end_ms] = times as [number, number, number, number, number];
  return record({
    request_id: id,
    job_id: "j",
    intended_ms,
    sent_ms,
    first_token_ms: first,
    last_token_ms: last,
    end_ms,
    ...more,
  });
}

/** What the engine said of its own time. */
export const server = (
  prefill_ms: number | null,
  queue_ms: number | null = null,
): Partial<RequestRecord> => ({
  engine: { queue_ms, prefill_ms, decode_ms: null, cached_tokens: null, source: "sim" },
});
