/** From an analysed run to what a comparison needs. */
import type { JsonObject } from "../core/json.ts";
import type { RunAnalysis } from "../metric/index.ts";
import type { JobTable } from "../metric/job/job-table.ts";
import type { JobSample, MetricColumn, RunSamples } from "./run-samples.ts";

/** `label` wins over the run's own; without either, the run's id names it. */
export function samplesOf(
  analysis: RunAnalysis,
  folder: string | null,
  label: string | null = null,
): RunSamples {
  const { manifest, summary, requests, jobs } = analysis;
  const { plan, target } = manifest;
  const everyJob = Int32Array.from({ length: jobs.n }, (_unused, job) => job);
  return {
    identity: {
      label: label ?? manifest.label ?? manifest.id,
      id: manifest.id,
      folder,
      trace: plan.trace,
      trace_sha256: plan.trace_sha256,
      pacing: plan.pacing,
      speed: plan.speed,
      seeds: manifest.seeds,
      planned: {
        requests: plan.repeated?.requests ?? plan.requests,
        jobs: plan.repeated?.jobs ?? plan.jobs,
        prompt_tokens: plan.prompt_tokens,
        span_ms: plan.span_ms,
      },
      repeated: plan.repeated !== undefined,
      model: target.model,
      backend: target.backend,
      simulated: target.simulated,
      verdict: summary.validity.verdict,
      verdict_reasons: summary.validity.reasons,
      partial: summary.run.partial,
      version: manifest.version,
      options: { ...manifest.options, ...metadataOf(manifest.metadata) },
      server: target.server,
    },
    job_ids: jobs.ids,
    jobs: Array.from(everyJob, (job) => jobSample(jobs, job, plan.repeated?.jobs ?? Infinity)),
    metrics: {
      ...Object.fromEntries(
        Object.entries(requests.metrics).map(([id, values]) => [id, column(values, requests.job)]),
      ),
      ...Object.fromEntries(
        Object.entries(jobs.metrics).map(([id, values]) => [id, column(values, everyJob)]),
      ),
    },
    failed_requests: summary.counts.failed,
    sent_requests: summary.counts.sent,
  };
}

/** Jobs from `spareFrom` on are repetitions. */
function jobSample(jobs: JobTable, job: number, spareFrom: number): JobSample {
  const { status, outcome, budget_ms } = jobs.row(job);
  const judged = budget_ms !== null && (outcome === "over" || outcome === "within");
  return {
    status,
    over_budget: judged ? outcome === "over" : null,
    ...(job >= spareFrom && status === "unfinished" ? { cut: true } : {}),
  };
}

/** NaN = not measured. */
function column(values: Float64Array, job: Int32Array): MetricColumn {
  const rows: number[] = [];
  for (let row = 0; row < values.length; row++) if (!Number.isNaN(values[row] as number)) rows.push(row);
  return {
    job: Int32Array.from(rows, (row) => job[row] as number),
    value: Float64Array.from(rows, (row) => values[row] as number),
  };
}

/** A sweep writes the engine's knobs as metadata: they are options too. */
function metadataOf(metadata: Readonly<Record<string, string>>): JsonObject {
  const knobs = Object.entries(metadata).filter(([name]) => name.startsWith("engine."));
  return Object.fromEntries(knobs);
}
