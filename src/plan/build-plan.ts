import type { Ms } from "../core/units.ts";
import { optimalPrefixReuse, type PrefixReuse } from "../trace/prefix.ts";
import { recordedPromptTokens, type TracePrompt } from "../trace/trace-request.ts";
import type { Pacing } from "../record/manifest.ts";
import { commonPrefixes } from "./common-prefix.ts";
import type { PlanOptions } from "./plan-options.ts";
import type { Plan, PlannedJob, PlannedRequest, Release } from "./plan.ts";
import { type OutputAccount, outputLength, outputNotes } from "./transforms/output-length.ts";
import { jobStart, type WorkJob, type Workload, type WorkTurn } from "./workload.ts";

interface Slot {
  readonly job: number;
  readonly turn: number;
  readonly release: Release | null;
}

/**
 * The last step: every turn of the workload becomes a planned request. Plan order is the order of intended times as far
 * as they are known ahead: with `recorded` pacing by time, otherwise jobs by their start and turns parents first; equal
 * times keep the order of the trace.
 */
export function buildPlan(
  work: Workload,
  pacing: Exclude<Pacing, "load">,
  options: PlanOptions,
  account: { notes: readonly string[]; gaps_capped: number },
): Plan {
  const jobs = orderJobs(work);
  const slots = orderTurns(jobs, pacing);
  const indexOf = jobs.map((job) => new Int32Array(job.turns.length));
  slots.forEach((slot, index) => {
    (indexOf[slot.job] as Int32Array)[slot.turn] = index;
  });
  const commonOf =
    options.keep_common && jobs.some((job) => job.copy > 0)
      ? commonPrefixes(jobs.filter((job) => job.copy === 0))
      : null;
  const outputs: OutputAccount = { raised: 0, capped: 0 };
  let emptyPrompts = 0;
  let span: Ms | null = null;
  const requests = slots.map(({ job: j, turn: t, release }, index): PlannedRequest => {
    const job = jobs[j] as WorkJob;
    const turn = job.turns[t] as WorkTurn;
    const { request } = turn;
    const output = outputLength(request, options.output, outputs);
    const prompt = sendablePrompt(request.prompt);
    if (prompt !== request.prompt) emptyPrompts++;
    const common = job.copy === 0 || commonOf === null ? 0 : commonOf(request.prompt);
    const rule =
      release === null
        ? afterParents(turn, indexOf[j] as Int32Array)
        : withNeeds(release, pacing, turn, indexOf[j] as Int32Array);
    if (rule.kind === "at") span = Math.max(span ?? 0, rule.offset_ms);
    return {
      index,
      request_id: job.copy === 0 ? request.request_id : `${request.request_id}~${job.copy}`,
      job: j,
      turn: request.turn ?? t,
      agent: request.agent,
      release: rule,
      request: {
        prompt,
        forced_output_tokens: output.forced_output_tokens,
        max_tokens: output.max_tokens,
        temperature: request.temperature,
        params: request.params,
        model: null,
        copy: options.share_copies ? 0 : job.copy,
        ...(common === 0 ? {} : { common }),
      },
      planned_prompt_tokens:
        prompt === request.prompt ? recordedPromptTokens(request) : (prompt as { tokens: number }).tokens,
      planned_output_tokens: output.planned_output_tokens,
    };
  });
  const measured = jobs.filter((job) => options.share_copies || job.copy === 0);
  const reuse = options.optimal && tellsPrefixes(measured) ? optimalReuse(measured) : null;
  const hitRate = (job: WorkJob): number | null => {
    // A copy that shares nothing reuses what its original does.
    const id = options.share_copies ? job.job_id : originalId(job);
    return reuse?.by_job.get(id)?.shared.hit_rate ?? null;
  };
  const copies = options.share_copies ? 1 : options.copies;
  const originals = new Map(jobs.flatMap((job, index) => (job.copy === 0 ? [[job.origin, index]] : [])));
  const notes = [...account.notes, ...outputNotes(outputs)];
  if (emptyPrompts > 0) notes.push(`${emptyPrompts} prompts of 0 tokens are sent with 1`);
  return {
    requests,
    jobs: jobs.map((job, index): PlannedJob => ({
      index,
      job_id: job.job_id,
      requests: [...(indexOf[index] as Int32Array)],
      budget_ms: job.budget_ms,
      ...(job.copy === 0 ? {} : { copy_of: originals.get(job.origin) as number }),
      recorded_ms: recordedTime(job),
      optimal_hit_rate: hitRate(job),
    })),
    pacing,
    max_concurrency: pacing === "closed" ? null : options.max_concurrency,
    max_concurrent_jobs: pacing === "closed" ? (options.max_concurrency ?? 1) : null,
    span_ms: span,
    optimal_hit_rate: reuse?.overall.hit_rate ?? null,
    optimal_cached_tokens: reuse?.overall.hit_rate == null ? null : reuse.overall.cached_tokens * copies,
    notes,
    gaps_capped: account.gaps_capped,
  };
}

/** By round of copies, then by start; jobs without a start keep their place at the end of theirs. */
function orderJobs(work: Workload): WorkJob[] {
  return work
    .map((job) => ({ job, start: jobStart(job) ?? Infinity }))
    .sort((a, b) => a.job.copy - b.job.copy || (a.start === b.start ? 0 : a.start - b.start))
    .map(({ job }) => job);
}

/** Plan order, with the release of those that have no parent to wait for (`null` = after its parents). */
function orderTurns(jobs: readonly WorkJob[], pacing: Exclude<Pacing, "load">): Slot[] {
  const slots: Slot[] = [];
  jobs.forEach((job, j) => {
    const start = jobStart(job) ?? 0;
    job.turns.forEach((turn, t) =>
      slots.push({ job: j, turn: t, release: rootRelease(job, turn, start, pacing) }),
    );
  });
  if (pacing !== "recorded") return slots;
  const at = (slot: Slot): Ms => (slot.release?.kind === "at" ? slot.release.offset_ms : 0);
  return slots.sort((a, b) => at(a) - at(b));
}

function rootRelease(
  job: WorkJob,
  turn: WorkTurn,
  start: Ms,
  pacing: Exclude<Pacing, "load">,
): Release | null {
  if (pacing === "recorded") return { kind: "at", offset_ms: turn.offset_ms ?? start };
  if (turn.parents.length > 0) return null;
  const offset = turn.offset_ms ?? start;
  return pacing === "closed"
    ? { kind: "slot", delay_ms: job.start_delay_ms + offset - start }
    : { kind: "at", offset_ms: offset };
}

/** With `recorded` pacing a turn goes at its time; it is skipped all the same if a parent has failed by then. */
function withNeeds(release: Release, pacing: string, turn: WorkTurn, indexOf: Int32Array): Release {
  if (pacing !== "recorded" || release.kind !== "at" || turn.parents.length === 0) return release;
  return { ...release, needs: turn.parents.map((parent) => indexOf[parent] as number) };
}

function afterParents(turn: WorkTurn, indexOf: Int32Array): Release {
  return {
    kind: "after",
    parents: turn.parents.map((parent) => indexOf[parent] as number),
    think_ms: turn.think_ms ?? 0,
  };
}

/** A made-up prompt of 0 tokens would be refused by every server. */
function sendablePrompt(prompt: TracePrompt): TracePrompt {
  return prompt.kind === "length" && prompt.tokens < 1 ? { ...prompt, tokens: 1, hash_ids: null } : prompt;
}

/** What the job took when it was recorded: first send (or arrival) → last end; `null` unless all ends are known. */
function recordedTime(job: WorkJob): Ms | null {
  let first = Infinity;
  let last = -Infinity;
  for (const { request } of job.turns) {
    const start = request.recorded?.sent_ms ?? request.arrival_ms;
    const end = request.recorded?.end_ms ?? null;
    if (start === null || end === null) return null;
    first = Math.min(first, start);
    last = Math.max(last, end);
  }
  return last >= first ? last - first : null;
}

/** Bare lengths share nothing that is known. */
function tellsPrefixes(jobs: readonly WorkJob[]): boolean {
  return jobs.some((job) =>
    job.turns.some(({ request: { prompt } }) => prompt.kind !== "length" || prompt.hash_ids !== null),
  );
}

/** An endless cache for all jobs, in order of arrival. */
function optimalReuse(jobs: readonly WorkJob[]): PrefixReuse {
  return optimalPrefixReuse(
    jobs.map((job) => ({
      job_id: job.job_id,
      turns: job.turns.map(({ request, parents, think_ms }) => ({
        request,
        parents,
        think_ms,
        think_origin: "missing" as const,
        gap_ms: null,
      })),
    })),
    { withinJobs: false },
  );
}

function originalId(job: WorkJob): string {
  return (job.turns[0] as WorkTurn).request.job_id;
}
