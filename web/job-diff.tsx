/** The same job under two configurations, turn by turn, from the job's own start. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { PageData } from "../src/report/html/page-data.ts";
import { loadColumns } from "./blobs.ts";
import { CauseBar } from "./cause-bar.tsx";
import { runColour } from "./chart.tsx";
import { formatChange, plainText, timeOf } from "./format.ts";
import { PhaseLegend } from "./gantt.tsx";
import { Jobs, TURN_STATUS } from "./jobs.ts";
import { More, ROWS, endOf, turnName } from "./job-view.tsx";
import { partsOf } from "./job-list.tsx";
import { RecordView } from "./record-view.tsx";
import { TurnLanes } from "./turn-lanes.tsx";

const MOST_CHOICES = 300;

interface Common {
  readonly id: string;
  readonly a: number;
  readonly b: number;
  /** ms of b − ms of a; NaN where one did not end ok. */
  readonly change: number;
}

export function JobDiff({ page }: { readonly page: PageData }): JSX.Element {
  const [sides, setSides] = useState<readonly [number, number]>([0, 1]);
  const [jobs, setJobs] = useState<readonly [Jobs, Jobs] | null>(null);
  const [wanted, setWanted] = useState<string | null>(null);
  const [opened, setOpened] = useState<{ run: number; turn: number } | null>(null);
  useEffect(() => {
    let current = true;
    void Promise.all(sides.map((run) => loadColumns(run, page.runs[run] as PageData["runs"][number]))).then(
      ([a, b]) => {
        if (current && a != null && b != null) setJobs([new Jobs(a), new Jobs(b)]);
      },
    );
    return () => {
      current = false;
    };
  }, [sides, page]);
  const common = useMemo(() => (jobs === null ? [] : commonJobs(jobs[0], jobs[1])), [jobs]);
  const pair = common.find(({ id }) => id === wanted) ?? common[0];
  const names = sides.map((run) => plainText((page.runs[run] as PageData["runs"][number]).name));
  const choose = (side: 0 | 1, run: number): void => {
    setJobs(null);
    setOpened(null);
    setSides(side === 0 ? [run, sides[1]] : [sides[0], run]);
  };
  return (
    <div>
      <div class="toolbar">
        {([0, 1] as const).map((side) => (
          <label key={side}>
            {side === 0 ? "A" : "B"}{" "}
            <select value={sides[side]} onChange={(event) => choose(side, Number(event.currentTarget.value))}>
              {page.runs.map((run, i) => (
                <option key={i} value={i}>
                  {plainText(run.name)}
                </option>
              ))}
            </select>
          </label>
        ))}
        <label>
          Job{" "}
          <select
            value={pair?.id ?? ""}
            onChange={(event) => {
              setWanted(event.currentTarget.value);
              setOpened(null);
            }}
          >
            {common.slice(0, MOST_CHOICES).map(({ id, change }) => (
              <option key={id} value={id}>
                {plainText(id)} {Number.isNaN(change) ? "" : `(${change > 0 ? "+" : ""}${timeOf(change)})`}
              </option>
            ))}
          </select>
        </label>
        {common.length > MOST_CHOICES && (
          <span class="note">the {MOST_CHOICES} with the largest difference</span>
        )}
      </div>
      {jobs !== null && pair === undefined && (
        <p class="note">These two runs have no job in common in this page.</p>
      )}
      {jobs !== null && pair !== undefined && (
        <Diff
          {...{ jobs, pair, names, sides, opened }}
          agents={sides.map((run) => page.runs[run]?.detail?.agents ?? [])}
          onOpen={setOpened}
        />
      )}
      {jobs !== null && opened !== null && <RecordView jobs={jobs[opened.run] as Jobs} turn={opened.turn} />}
    </div>
  );
}

interface DiffProps {
  readonly jobs: readonly [Jobs, Jobs];
  readonly pair: Common;
  readonly names: readonly string[];
  readonly sides: readonly number[];
  readonly agents: readonly (readonly string[])[];
  readonly opened: { readonly run: number; readonly turn: number } | null;
  readonly onOpen: (at: { run: number; turn: number }) => void;
}

function Diff({ jobs, pair, names, sides, agents, opened, onOpen }: DiffProps): JSX.Element {
  const at = [pair.a, pair.b];
  const rows = alignTurns(jobs, pair);
  const starts = jobs.map((side, i) => side.start[at[i] as number] as number);
  const longest = Math.max(1, ...jobs.map((side, i) => side.length[at[i] as number] || 0));
  let length = longest;
  for (const row of rows)
    row.forEach((turn, i) => {
      const end = turn === null ? 0 : endOf(jobs[i] as Jobs, turn) - (starts[i] as number);
      if (end > length) length = end;
    });
  return (
    <div>
      {jobs.map((side, i) => (
        <div key={names[i]} class="diff-total">
          <span style={{ color: runColour(sides[i] as number) }}>
            {i === 0 ? "A" : "B"} {names[i]}
          </span>
          <b>{timeOf(side.length[at[i] as number])}</b>
          <CauseBar
            parts={partsOf(side, at[i] as number)}
            length={(side.length[at[i] as number] || 0) / longest}
            label={`Where the time goes with ${names[i]}`}
          />
        </div>
      ))}
      <TurnLanes
        jobs={jobs}
        lanes={rows.flatMap((row) =>
          row.map((turn, run) => ({
            run,
            turn,
            label: `${run === 0 ? "A" : "B"} ${turn === null ? "" : turnName(jobs[run] as Jobs, turn, agents[run] ?? [])}`,
            colour: runColour(sides[run] as number),
          })),
        )}
        starts={starts}
        length={length}
        selected={opened}
        onSelect={(run, turn) => onOpen({ run, turn })}
        label={`The turns of ${plainText(pair.id)} with ${names[0]} and ${names[1]}, each from the job’s start`}
      />
      <PhaseLegend />
      <DiffTable {...{ jobs, rows, agents, onOpen, starts }} />
    </div>
  );
}

function DiffTable({
  jobs,
  rows,
  agents,
  onOpen,
  starts,
}: {
  readonly jobs: readonly [Jobs, Jobs];
  readonly rows: readonly (readonly (number | null)[])[];
  readonly agents: readonly (readonly string[])[];
  readonly onOpen: (at: { run: number; turn: number }) => void;
  readonly starts: readonly number[];
}): JSX.Element {
  const [most, setMost] = useState(ROWS);
  const metrics = [
    [
      "due after start",
      (side: Jobs, turn: number, run: number) =>
        (side.turn.intended[turn] as number) - (starts[run] as number),
    ],
    ["waited", (side: Jobs, turn: number) => side.turn.sent[turn] as number],
    ["first token", (side: Jobs, turn: number) => side.turn.ttft[turn] as number],
    ["service time", (side: Jobs, turn: number) => side.turn.e2e[turn] as number],
  ] as const;
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Turns of both runs">
      <table>
        <thead>
          <tr>
            <th>turn</th>
            {metrics.map(([title]) => (
              <th key={title} class="n" colSpan={title === "service time" ? 3 : 2}>
                {title}: A, B{title === "service time" ? ", change" : ""}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row, i) => {
            const known = row.findIndex((turn) => turn !== null);
            const values = metrics.map(([, read]) =>
              row.map((turn, run) => (turn === null ? NaN : read(jobs[run] as Jobs, turn, run))),
            );
            const [a, b] = values.at(-1) as [number, number];
            return (
              <tr key={i}>
                <td>
                  <button
                    type="button"
                    class="link"
                    onClick={() => onOpen({ run: known, turn: row[known] as number })}
                  >
                    {turnName(jobs[known] as Jobs, row[known] as number, agents[known] ?? [])}
                  </button>{" "}
                  {row.map((turn, run) => {
                    const status =
                      turn === null ? "absent" : TURN_STATUS[jobs[run]?.turn.status[turn] as number];
                    return status === "ok" ? null : (
                      <span key={run} class="state bad">{`${run === 0 ? "A" : "B"} ${status}`}</span>
                    );
                  })}
                </td>
                {values.map((both, m) =>
                  both.map((value, run) => (
                    <td key={`${m}-${run}`} class="n">
                      {timeOf(value)}
                    </td>
                  )),
                )}
                <td class="n">{a > 0 && !Number.isNaN(b) ? formatChange(b / a - 1) : ""}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <More shown={most} total={rows.length} onMore={() => setMost(most + ROWS)} />
    </div>
  );
}

/** Jobs of both runs by id, the largest difference first. */
function commonJobs(a: Jobs, b: Jobs): Common[] {
  const inB = new Map(b.ids.map((id, job) => [id, job]));
  const size = (change: number): number => (Number.isNaN(change) ? -1 : Math.abs(change));
  return a.ids
    .flatMap((id, job) => {
      const other = inB.get(id);
      if (other === undefined) return [];
      const ok = a.status[job] === 0 && b.status[other] === 0;
      return [
        { id, a: job, b: other, change: ok ? (b.length[other] as number) - (a.length[job] as number) : NaN },
      ];
    })
    .sort((x, y) => size(y.change) - size(x.change));
}

/** Turns with the same number (and, of several, in the order they were due) stand in one row. */
function alignTurns(jobs: readonly [Jobs, Jobs], { a, b }: Common): (number | null)[][] {
  const keyed = jobs.map((side, i) => {
    const seen = new Map<number, number>();
    return new Map(
      side.turnsOf(i === 0 ? a : b).map((turn) => {
        const number = side.turn.turn[turn] as number;
        const copy = seen.get(number) ?? 0;
        seen.set(number, copy + 1);
        return [`${number}/${copy}`, turn] as const;
      }),
    );
  });
  const [first, second] = keyed as [Map<string, number>, Map<string, number>];
  return [...new Set([...first.keys(), ...second.keys()])].map((key) => [
    first.get(key) ?? null,
    second.get(key) ?? null,
  ]);
}
