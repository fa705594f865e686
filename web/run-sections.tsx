/** Everything of one run below the answer. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { JOB_METRICS } from "../src/metric/job/index.ts";
import { POOLED_METRICS, REQUEST_METRICS } from "../src/metric/request/index.ts";
import { hasJobs } from "../src/report/answer.ts";
import type { RunPage } from "../src/report/html/page-data.ts";
import { loadColumns } from "./blobs.ts";
import { ByLengthChart } from "./by-length.tsx";
import { DistributionChart } from "./distribution.tsx";
import { formatCount, formatDurationOf, formatShare, plainText } from "./format.ts";
import { Failures } from "./failures.tsx";
import { Gantt } from "./gantt.tsx";
import { JobList, orderJobs, type SortKey } from "./job-list.tsx";
import { JobView } from "./job-view.tsx";
import { Jobs } from "./jobs.ts";
import { OverTime } from "./over-time.tsx";

const TITLES: Readonly<Record<string, { readonly title: string; readonly unit: string }>> = {
  ...REQUEST_METRICS,
  ...POOLED_METRICS,
  ...JOB_METRICS,
};

export function titleOf(id: string): string {
  return TITLES[id]?.title ?? id;
}

export function distributionOf({ summary }: RunPage, id: string) {
  return Object.hasOwn(JOB_METRICS, id)
    ? summary.jobs[id as keyof typeof JOB_METRICS]
    : summary.requests[id as keyof typeof summary.requests];
}

function Distribution({
  run,
  id,
  colour,
  height,
}: {
  run: RunPage;
  id: string;
  colour: string;
  height?: number;
}): JSX.Element | null {
  const histogram = run.histograms[id];
  if (histogram === undefined) return null;
  const budget = id === "job_e2e" ? oneBudget(run) : null;
  return (
    <figure class="card">
      <figcaption>
        {titleOf(id)} <span>{formatCount(histogram.n)} samples</span>
      </figcaption>
      <DistributionChart
        title={titleOf(id)}
        unit={TITLES[id]?.unit ?? ""}
        series={[{ name: "at or below", histogram, distribution: distributionOf(run, id), colour }]}
        bound={budget}
        {...(height === undefined ? {} : { height })}
      />
    </figure>
  );
}

/** The budget as one line, where all jobs have the same. */
export function oneBudget({ summary, budget_ms }: RunPage): { at: number; label: string } | null {
  return budget_ms === null
    ? null
    : {
        at: budget_ms,
        label: `budget ${formatDurationOf(budget_ms)}: ${formatShare(summary.jobs.budget_miss_rate)} over`,
      };
}

export function RunSections({
  run,
  index,
  several,
}: {
  readonly run: RunPage;
  readonly index: number;
  readonly several: boolean;
}): JSX.Element {
  const jobs = useJobs(run, index);
  const jobsMatter = hasJobs(run.summary);
  return (
    <>
      {!several && jobsMatter && run.histograms["job_e2e"] !== undefined && (
        <section id="job-time">
          <h2>How long jobs take</h2>
          <Distribution run={run} id="job_e2e" colour="var(--run-0)" height={260} />
        </section>
      )}
      <section id="causes">
        <h2>Where {jobsMatter ? "job" : "request"} time goes</h2>
        <CauseTable run={run} />
      </section>
      <section id="jobs">
        <h2>{jobsMatter ? "Job by job" : "Request by request"}</h2>
        {jobs === "none" && <p class="note">This run has no jobs to show.</p>}
        {jobs === "loading" && <p class="note">Unpacking…</p>}
        {typeof jobs !== "string" && <JobSection run={run} jobs={jobs} />}
        <LeftOut run={run} />
      </section>
      <section id="requests">
        <h2>Requests</h2>
        <div class="grid-2">
          {["ttft", "tpot", "itl", "e2e"].map((id) => (
            <Distribution key={id} run={run} id={id} colour="var(--run-0)" />
          ))}
        </div>
        {Object.keys(run.by_prompt_length).length > 0 && <h3>Against the length of the prompt</h3>}
        <div class="grid-2">
          {Object.entries(run.by_prompt_length).map(([id, data]) => (
            <figure key={id} class="card">
              <figcaption>
                {titleOf(id)}
                {id === "itl" ? ", mean of a request" : ""} <span>against prompt tokens</span>
              </figcaption>
              <ByLengthChart title={titleOf(id)} data={data} />
            </figure>
          ))}
        </div>
      </section>
      <section id="time">
        <h2>Over time</h2>
        <div class="card">
          <OverTime run={run} />
        </div>
      </section>
      <section id="cache">
        <h2>Prefix cache</h2>
        <Cache run={run} />
      </section>
      <section id="failures">
        <h2>Failures</h2>
        <Failures run={run} />
      </section>
      <section id="generator">
        <h2>The load generator</h2>
        <div class="grid-2">
          <Distribution run={run} id="lateness" colour="var(--client)" />
          <Facts run={run} only={["Validity", "Fidelity"]} />
        </div>
      </section>
      <section id="numbers">
        <h2>Every number</h2>
        {run.tables.map((table) => (
          <div key={table.title} class="scroll" tabIndex={0} role="region" aria-label={table.title}>
            <table>
              <thead>
                <tr>
                  {table.head.map((title, i) => (
                    <th key={title} class={i === 0 ? "" : "n"}>
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {table.rows.map(({ id, cells }) => (
                  <tr key={id} data-metric={id}>
                    {cells.map((cell, i) =>
                      i === 0 ? (
                        <th key={i} scope="row">
                          {cell}
                        </th>
                      ) : (
                        <td key={i} class="n">
                          {cell}
                        </td>
                      ),
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
            {table.note !== null && <p class="note">{table.note}</p>}
          </div>
        ))}
        <Facts run={run} only={["Run", "Throughput", "Engine"]} />
      </section>
      <section id="options">
        <h2>Options and trace</h2>
        <Options run={run} />
      </section>
    </>
  );
}

function useJobs(run: RunPage, index: number): Jobs | "loading" | "none" {
  const [jobs, setJobs] = useState<Jobs | "loading" | "none">("loading");
  useEffect(() => {
    let current = true;
    setJobs("loading");
    void loadColumns(index, run).then((columns) => {
      if (current) setJobs(columns === null ? "none" : new Jobs(columns));
    });
    return () => {
      current = false;
    };
  }, [run, index]);
  return jobs;
}

function JobSection({ run, jobs }: { readonly run: RunPage; readonly jobs: Jobs }): JSX.Element {
  const [sort, setSort] = useState<SortKey>("start");
  const [filter, setFilter] = useState("");
  const [opened, setOpened] = useState<number | null>(null);
  const order = useMemo(() => orderJobs(jobs, sort, filter), [jobs, sort, filter]);
  return (
    <>
      <div class="card">
        <Gantt {...{ jobs, order }} selected={opened} onOpen={setOpened} />
      </div>
      {opened !== null && (
        <JobView jobs={jobs} job={opened} agents={run.detail?.agents ?? []} onClose={() => setOpened(null)} />
      )}
      <div class="card">
        <JobList
          {...{ jobs, order, sort, filter }}
          onSort={setSort}
          onFilter={setFilter}
          selected={opened}
          onOpen={setOpened}
        />
      </div>
    </>
  );
}

function LeftOut({ run }: { readonly run: RunPage }): JSX.Element | null {
  if (run.left_out.length === 0) return null;
  return (
    <div class="note left-out">What this page leaves out, to stay small: {run.left_out.join("; ")}.</div>
  );
}

function CauseTable({ run }: { readonly run: RunPage }): JSX.Element {
  if (run.causes.length === 0) return <p class="note">No job ended ok, so there is no time to divide.</p>;
  const most = Math.max(...run.causes.map(({ share }) => share));
  return (
    <div class="card">
      <table class="cause-table">
        <thead>
          <tr>
            <th>cause</th>
            <th class="n">mean</th>
            <th class="n">share</th>
            <th class="n">jobs dominated</th>
            <th class="wide">
              <span class="hidden">share as a bar</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {run.causes.map(({ cause, title, mean_ms, share, dominated }) => (
            <tr key={cause} data-cause={cause}>
              <th scope="row">{title}</th>
              <td class="n">{formatDurationOf(mean_ms)}</td>
              <td class="n">{formatShare(share)}</td>
              <td class="n">{formatCount(dominated)}</td>
              <td class="wide">
                <div
                  class="single"
                  style={{
                    width: `${((share / most) * 100).toFixed(1)}%`,
                    background: `var(--${cause.replace("_", "-")})`,
                  }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {run.split_note !== null && <p class="note">{run.split_note}</p>}
    </div>
  );
}

function Cache({ run }: { readonly run: RunPage }): JSX.Element {
  const { optimal_hit_rate: optimal, hit_rate: hit, shortfall, source } = run.summary.prefix_cache;
  if (optimal === null && hit === null)
    return (
      <p class="note">
        Neither the trace nor the server tells how much of the prompts could be, or was, taken from a cache.
      </p>
    );
  const bars = [
    { title: "an endless cache would reuse", value: optimal, colour: "var(--tool)" },
    {
      title: `the server reused${source === "engine_counters" ? " (its counters)" : source === "requests" ? " (told per request)" : ""}`,
      value: hit,
      colour: "var(--decode)",
    },
  ];
  return (
    <div class="card">
      {bars.map(({ title, value, colour }) => (
        <div key={title} class="hit">
          <span>{title}</span>
          <b>{formatShare(value)}</b>
          <div class="track">
            <div style={{ width: `${(value ?? 0) * 100}%`, background: colour }} />
          </div>
        </div>
      ))}
      <p class="note">
        Of all prompt tokens.{" "}
        {shortfall === null
          ? ""
          : shortfall > 0.02
            ? `${formatShare(shortfall)} of the prompt tokens were computed again although they had been seen: the cache is too small, or was emptied.`
            : "The cache keeps what the trace reuses."}
      </p>
    </div>
  );
}

function Facts({ run, only }: { readonly run: RunPage; readonly only: readonly string[] }): JSX.Element {
  return (
    <div class="facts">
      {run.sections
        .filter(({ title }) => only.includes(title))
        .map(({ title, facts }) => (
          <div key={title} class="card">
            <h3>{title}</h3>
            <dl>
              {facts.map(([label, value], i) => (
                <div key={i}>
                  <dt>{label}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </div>
        ))}
    </div>
  );
}

function Options({ run }: { readonly run: RunPage }): JSX.Element {
  const show = (value: unknown): string =>
    plainText(typeof value === "string" ? value : JSON.stringify(value));
  const groups = [
    ["As given", run.options.map(({ key, value }) => [key, value] as const)],
    ["The run", Object.entries(run.facts).filter(([key]) => key !== "plan")],
    ["Trace and plan", Object.entries((run.facts["plan"] ?? {}) as Record<string, unknown>)],
  ] as const;
  return (
    <div class="grid-2">
      {groups.map(([title, rows]) => (
        <details key={title} class="card" open={title === "As given"}>
          <summary>{title}</summary>
          <dl>
            {rows.map(([key, value]) => (
              <div key={key}>
                <dt>{plainText(key)}</dt>
                <dd>
                  <code>{show(value)}</code>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </div>
  );
}
