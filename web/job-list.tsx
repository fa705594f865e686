/** All jobs as a table: sortable, filtered by id, a page at a time. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { CauseBar } from "./cause-bar.tsx";
import { formatCount, plainText, timeOf } from "./format.ts";
import { CAUSES, type Cause, type Jobs } from "./jobs.ts";
import { CAUSE_TITLES } from "../src/report/answer.ts";

const PAGE = 25;

export type SortKey = "start" | "length" | "queueing" | "turns" | "status" | Cause;

interface Props {
  readonly jobs: Jobs;
  readonly order: Int32Array;
  readonly sort: SortKey;
  readonly onSort: (key: SortKey) => void;
  readonly filter: string;
  readonly onFilter: (text: string) => void;
  readonly selected: number | null;
  readonly onOpen: (job: number) => void;
}

/** Positions of the jobs that the filter leaves, in this order. Largest first, except by start. */
export function orderJobs(jobs: Jobs, sort: SortKey, filter: string): Int32Array {
  const wanted = filter.trim().toLowerCase();
  const kept = Int32Array.from({ length: jobs.n }, (_unused, job) => job).filter(
    (job) => wanted === "" || (jobs.ids[job] as string).toLowerCase().includes(wanted),
  );
  if (sort === "start") return kept;
  const column =
    sort === "status"
      ? jobs.status.map((status, job) =>
          status === 1 ? 3 : jobs.outcomeOf(job) === "over" ? 2 : status === 2 ? 1 : 0,
        )
      : sort === "length" || sort === "queueing" || sort === "turns"
        ? jobs[sort]
        : jobs.causes[sort];
  const value = (job: number): number => {
    const at = column[job] as number;
    return Number.isNaN(at) ? -Infinity : at;
  };
  return kept.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return x === y ? a - b : y - x;
  });
}

export function JobList({
  jobs,
  order,
  sort,
  onSort,
  filter,
  onFilter,
  selected,
  onOpen,
}: Props): JSX.Element {
  const [page, setPage] = useState(0);
  const pages = Math.max(1, Math.ceil(order.length / PAGE));
  const at = Math.min(page, pages - 1);
  const longest = useMemo(() => {
    let most = 0;
    for (const length of jobs.length) if (length > most) most = length;
    return most;
  }, [jobs]);
  const shown = order.subarray(at * PAGE, (at + 1) * PAGE);
  const present = CAUSES.filter((cause) => jobs.causes[cause].some((value) => value > 0));
  const head = (key: SortKey, title: string, number = true): JSX.Element => (
    <th
      class={number ? "n" : ""}
      aria-sort={sort !== key ? "none" : key === "start" ? "ascending" : "descending"}
    >
      <button type="button" onClick={() => onSort(key)}>
        {title}
        {sort !== key ? "" : key === "start" ? " ↑" : " ↓"}
      </button>
    </th>
  );
  return (
    <div>
      <div class="toolbar">
        <label>
          Find a job{" "}
          <input
            type="search"
            value={filter}
            onInput={(event) => {
              onFilter(event.currentTarget.value);
              setPage(0);
            }}
          />
        </label>
        <label>
          Sort by{" "}
          <select value={sort} onChange={(event) => onSort(event.currentTarget.value as SortKey)}>
            <option value="start">start</option>
            <option value="length">time</option>
            <option value="queueing">waiting to send</option>
            <option value="turns">turns</option>
            <option value="status">failed and over budget first</option>
            {present.map((cause) => (
              <option key={cause} value={cause}>
                {CAUSE_TITLES[cause]}
              </option>
            ))}
          </select>
        </label>
        <span class="pager">
          <button type="button" disabled={at === 0} onClick={() => setPage(at - 1)}>
            previous
          </button>
          <span>
            {order.length === 0
              ? "no job"
              : `${formatCount(at * PAGE + 1)}–${formatCount(at * PAGE + shown.length)} of ${formatCount(order.length)}`}
          </span>
          <button type="button" disabled={at >= pages - 1} onClick={() => setPage(at + 1)}>
            next
          </button>
        </span>
      </div>
      <div class="scroll">
        <table class="jobs">
          <thead>
            <tr>
              <th>job</th>
              {head("status", "state", false)}
              {head("start", "start")}
              {head("length", "time")}
              {head("turns", "turns")}
              {head("queueing", "waited to send")}
              <th class="wide">where its time goes</th>
            </tr>
          </thead>
          <tbody>
            {Array.from(shown, (job) => {
              const outcome = jobs.outcomeOf(job);
              const status = jobs.statusOf(job);
              const turns = jobs.turns[job] as number;
              return (
                <tr key={job} class={job === selected ? "selected" : ""}>
                  <td>
                    <button type="button" class="link" onClick={() => onOpen(job)}>
                      {plainText(jobs.ids[job] as string)}
                    </button>
                  </td>
                  <td>
                    <span
                      class={`state ${status === "ok" ? (outcome === "over" ? "warn" : "good") : status === "failed" ? "bad" : ""}`}
                    >
                      {status === "ok" && outcome === "over" ? "over budget" : status}
                    </span>
                  </td>
                  <td class="n">{timeOf(jobs.start[job])}</td>
                  <td class="n">{timeOf(jobs.length[job])}</td>
                  <td class="n">
                    {Number.isNaN(turns) ? formatCount(jobs.turnsOf(job).length) : formatCount(turns)}
                  </td>
                  <td class="n">{timeOf(jobs.queueing[job])}</td>
                  <td class="wide">
                    <CauseBar
                      label={`Where the time of ${plainText(jobs.ids[job] as string)} goes`}
                      parts={partsOf(jobs, job)}
                      length={longest > 0 ? (jobs.length[job] as number) / longest : 0}
                    />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

export function partsOf(jobs: Jobs, job: number): Partial<Record<Cause, number>> {
  return Object.fromEntries(
    CAUSES.flatMap((cause) => {
      const value = jobs.causes[cause][job] as number;
      return Number.isNaN(value) ? [] : [[cause, value] as const];
    }),
  );
}
