/** One run under way: how far, how fast, how it looks, what is wrong. */
import type { JSX } from "preact";
import type { LiveState } from "../src/ui/live-run.ts";
import type { LivePercentiles } from "../src/run/live-tally.ts";
import { linePath, useWidth } from "./chart.tsx";
import { formatCount, formatDurationOf, formatNumber, plainText, tickTime, words } from "./format.ts";
import { reportHref } from "./list-view.tsx";
import { usePoll } from "./poll.ts";
import { linearScale } from "./scale.ts";

const EVERY_MS = 1000;
const LATE_MS = 5;

export function LiveView({ run }: { readonly run: string }): JSX.Element {
  const { value, error } = usePoll<LiveState>(
    `/api/live?run=${encodeURIComponent(run)}`,
    EVERY_MS,
    ({ over }) => over,
  );
  if (value === null) return <p class="note">{error === null ? "Reading the log…" : plainText(error)}</p>;
  const { numbers } = value;
  const ended = numbers.ok + numbers.failed + numbers.cancelled + numbers.skipped;
  const share = value.planned_requests === 0 ? 1 : ended / value.planned_requests;
  const jobsEnded = numbers.jobs_ok + numbers.jobs_failed;
  const left = share > 0.02 && share < 1 ? (value.elapsed_ms / share) * (1 - share) : null;
  return (
    <section aria-label="Live view">
      <h1 class="quiet">
        {value.over
          ? value.interrupted
            ? "The run was interrupted."
            : "The run is over."
          : words(
              `${Math.floor(share * 100)} % done${left === null ? "" : `, about ${tickTime(roundly(left))} left`}`,
            )}
      </h1>
      <p class="note">
        {plainText(value.name)} on {plainText(value.model)}
        {value.simulated ? " (a SIMULATED engine)" : ""}; {plainText(value.pacing)} pacing;{" "}
        {tickTime(value.elapsed_ms)} since the start
      </p>
      {error !== null && <p class="note bad">{plainText(error)}</p>}
      <div
        class="progress"
        role="progressbar"
        aria-label="Requests that have ended"
        aria-valuenow={Math.floor(share * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <div style={{ width: `${(share * 100).toFixed(2)}%` }} />
      </div>
      {!value.over && ended > 0 && (
        <p class="note">
          <a href={reportHref([run])}>The report so far</a>
        </p>
      )}
      {value.over && (
        <p>
          <a class="button" href={reportHref([run])}>
            Open the report
          </a>
        </p>
      )}
      <dl class="numbers">
        <Number
          label="requests ended"
          value={formatCount(ended)}
          detail={`of ${formatCount(value.planned_requests)}; ${formatNumber(numbers.requests_per_s)} a second`}
        />
        <Number
          label="jobs ended"
          value={formatCount(jobsEnded)}
          detail={`of ${formatCount(value.planned_jobs)}${numbers.jobs_over_budget === null ? "" : `; ${formatCount(numbers.jobs_over_budget)} over budget`}`}
        />
        <Percentiles label="first token, p95" of={numbers.ttft} />
        <Percentiles label="job time, p95" of={numbers.job_e2e} />
      </dl>
      <ul class="verdicts">
        <Line
          tone={numbers.failed > 0 ? "bad" : "good"}
          text={
            numbers.failed === 0
              ? "No request has failed."
              : `${formatCount(numbers.failed)} requests failed (${Object.entries(numbers.failures)
                  .map(([code, n]) => `${plainText(code)} ${formatCount(n)}`)
                  .join(
                    ", ",
                  )})${numbers.skipped > 0 ? `, ${formatCount(numbers.skipped)} skipped after them` : ""}.`
          }
        />
        {numbers.lateness !== null && (
          <Line
            tone={numbers.lateness.p99 > LATE_MS ? "warn" : "good"}
            text={`Our own sends are ${formatDurationOf(numbers.lateness.p99)} late at p99.`}
          />
        )}
      </ul>
      <div class="grid-2 live-charts">
        <Spark
          title="Requests ended a second"
          values={value.series.requests_per_s}
          step={value.series.step_ms}
          colour="var(--prefill)"
        />
        <Spark
          title="Output tokens a second"
          values={value.series.output_tokens_per_s}
          step={value.series.step_ms}
          colour="var(--decode)"
        />
      </div>
      <Running state={value} />
    </section>
  );
}

function Number({
  label,
  value,
  detail,
}: {
  readonly label: string;
  readonly value: string;
  readonly detail: string;
}): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
      <dd class="detail">{detail}</dd>
    </div>
  );
}

function Percentiles({
  label,
  of,
}: {
  readonly label: string;
  readonly of: LivePercentiles | null;
}): JSX.Element {
  return of === null ? (
    <Number label={label} value="–" detail="none yet" />
  ) : (
    <Number
      label={label}
      value={formatDurationOf(of.p95)}
      detail={`p50 ${formatDurationOf(of.p50)}, p99 ${formatDurationOf(of.p99)}; ${formatCount(of.n)} so far`}
    />
  );
}

function Line({
  tone,
  text,
}: {
  readonly tone: "good" | "warn" | "bad";
  readonly text: string;
}): JSX.Element {
  return (
    <li class={tone}>
      <span class="mark" aria-hidden="true">
        {tone === "good" ? "✓" : "!"}
      </span>
      <span>{words(text)}</span>
    </li>
  );
}

const HEIGHT = 92;

function Spark({
  title,
  values,
  step,
  colour,
}: {
  readonly title: string;
  readonly values: readonly number[];
  readonly step: number;
  readonly colour: string;
}): JSX.Element {
  const [ref, width] = useWidth();
  const most = Math.max(1e-9, ...values);
  const x = linearScale([0, Math.max(1, values.length) * step], [0, Math.max(10, width)]);
  const y = linearScale([0, most], [HEIGHT - 2, 6]);
  const points = values.flatMap((value, i): [number, number][] => [
    [x(i * step), y(value)],
    [x((i + 1) * step), y(value)],
  ]);
  return (
    <figure class="card spark">
      <figcaption>
        {title} <span>at most {formatNumber(most < 1e-6 ? 0 : most)}</span>
      </figcaption>
      <div ref={ref}>
        {width > 0 && (
          <svg
            width={width}
            height={HEIGHT}
            role="img"
            aria-label={`${title}, at most ${formatNumber(most)}`}
          >
            <path class="curve thin" d={linePath(points)} stroke={colour} />
          </svg>
        )}
      </div>
    </figure>
  );
}

function Running({ state }: { readonly state: LiveState }): JSX.Element | null {
  if (state.over || state.jobs.length === 0) return null;
  return (
    <section>
      <h2>Jobs under way</h2>
      <div class="card scroll">
        <table class="running">
          <thead>
            <tr>
              <th>job</th>
              <th class="n">since</th>
              <th class="n">turns</th>
              <th>
                <span class="hidden">progress</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {state.jobs.map(({ job_id, start_ms, ended, planned }) => (
              <tr key={job_id}>
                <td>{plainText(job_id)}</td>
                <td class="n">{tickTime(Math.max(0, state.elapsed_ms - start_ms))}</td>
                <td class="n">
                  {ended}
                  {planned === null ? "" : ` of ${planned}`}
                </td>
                <td>
                  <div class="mini">
                    <div style={{ width: `${planned === null ? 0 : (100 * ended) / planned}%` }} />
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {state.numbers.jobs_under_way > state.jobs.length && (
          <p class="note">
            {formatCount(state.numbers.jobs_under_way - state.jobs.length)} more. A job is listed once its
            first turn has ended.
          </p>
        )}
      </div>
    </section>
  );
}

/** To whole minutes, or five seconds below two of them. */
function roundly(ms: number): number {
  const unit = ms >= 120_000 ? 60_000 : 5_000;
  return Math.max(unit, Math.round(ms / unit) * unit);
}
