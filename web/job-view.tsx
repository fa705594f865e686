/** One job opened: its turns over time and as a table; one turn opened: its record. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CauseBar, CauseLegend } from "./cause-bar.tsx";
import { formatCount, formatShare, plainText, timeOf } from "./format.ts";
import { CAUSES, type Jobs, TURN_STATUS } from "./jobs.ts";
import { PhaseLegend } from "./gantt.tsx";
import { partsOf } from "./job-list.tsx";
import { RecordView } from "./record-view.tsx";
import { TurnLanes } from "./turn-lanes.tsx";

interface Props {
  readonly jobs: Jobs;
  readonly job: number;
  readonly agents: readonly string[];
  readonly onClose: () => void;
}

export function JobView({ jobs, job, agents, onClose }: Props): JSX.Element {
  const [turn, setTurn] = useState<number | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    setTurn(null);
    heading.current?.focus();
    heading.current?.scrollIntoView({ block: "nearest" });
  }, [job]);
  const turns = jobs.turnsOf(job);
  const start = jobs.start[job] as number;
  const budget = jobs.budget[job] as number;
  const parts = partsOf(jobs, job);
  const id = plainText(jobs.ids[job] as string);
  return (
    <section class="card opened" aria-label={`Job ${id}`}>
      <header>
        <h3 ref={heading} tabIndex={-1}>
          {id}
        </h3>
        <button type="button" onClick={onClose}>
          close
        </button>
      </header>
      <p>
        {[
          jobs.statusOf(job),
          ...(Number.isNaN(budget) ? [] : [budgetText(jobs, job, budget)]),
          `starts at ${timeOf(start)}`,
          `takes ${timeOf(jobs.length[job])}`,
          turns.length > 0 ? `${formatCount(turns.length)} turns` : "its turns are not in this page",
          ...cacheText(jobs, job),
        ].join(", ")}
      </p>
      <CauseBar parts={parts} label={`Where the time of ${id} goes`} thick />
      <CauseLegend causes={CAUSES.filter((cause) => (parts[cause] ?? 0) > 0)} />
      {turns.length > 0 && (
        <>
          <TurnLanes
            jobs={[jobs]}
            lanes={turns.map((at) => ({ run: 0, turn: at, label: turnName(jobs, at, agents) }))}
            starts={[start]}
            length={lastEnd(jobs, job, turns)}
            selected={turn === null ? null : { run: 0, turn }}
            onSelect={(_run, at) => setTurn(at)}
            label={`The ${turns.length} turns of ${id} over time`}
          />
          <PhaseLegend />
          <TurnTable {...{ jobs, turns, agents, selected: turn, onSelect: setTurn }} />
        </>
      )}
      {turn !== null && <RecordView jobs={jobs} turn={turn} />}
    </section>
  );
}

function cacheText(jobs: Jobs, job: number): string[] {
  const [hit, optimal] = [jobs.hitRate[job] as number, jobs.optimalHitRate[job] as number];
  if (Number.isNaN(hit)) return [];
  const possible = Number.isNaN(optimal) ? "" : ` (an endless cache: ${formatShare(optimal)})`;
  return [`${formatShare(hit)} of its prompts from the cache${possible}`];
}

function budgetText(jobs: Jobs, job: number, budget: number): string {
  const outcome = jobs.outcomeOf(job);
  if (outcome === "over" || outcome === "within") return `${outcome} its budget of ${timeOf(budget)}`;
  return `its budget is ${timeOf(budget)}`;
}

export function endOf(jobs: Jobs, turn: number): number {
  const { intended, sent, e2e } = jobs.turn;
  return (intended[turn] as number) + (sent[turn] as number) + (e2e[turn] as number);
}

/** From the job's start to the end of its last turn. */
function lastEnd(jobs: Jobs, job: number, turns: readonly number[]): number {
  let last = jobs.length[job] || 0;
  for (const turn of turns) {
    const end = endOf(jobs, turn) - (jobs.start[job] as number);
    if (end > last) last = end;
  }
  return last;
}

/** Rows of a table that are shown at first, and with each wish for more. */
export const ROWS = 200;

export function More({
  shown,
  total,
  onMore,
}: {
  readonly shown: number;
  readonly total: number;
  readonly onMore: () => void;
}): JSX.Element | null {
  if (shown >= total) return null;
  return (
    <p>
      <button type="button" onClick={onMore}>
        {formatCount(total - shown)} more
      </button>
    </p>
  );
}

export function turnName(jobs: Jobs, turn: number, agents: readonly string[]): string {
  const agent = agents[jobs.turn.agent[turn] as number];
  const number = String(jobs.turn.turn[turn]);
  return agent === undefined ? `turn ${number}` : `${plainText(agent).slice(0, 9)} ${number}`;
}

function TurnTable({
  jobs,
  turns,
  agents,
  selected,
  onSelect,
}: {
  readonly jobs: Jobs;
  readonly turns: readonly number[];
  readonly agents: readonly string[];
  readonly selected: number | null;
  readonly onSelect: (turn: number) => void;
}): JSX.Element {
  const t = jobs.turn;
  const [most, setMost] = useState(ROWS);
  const count = (value: number | undefined): string =>
    formatCount(value === undefined || Number.isNaN(value) ? null : value);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Turns">
      <table>
        <thead>
          <tr>
            {["turn", "state"].map((title) => (
              <th key={title}>{title}</th>
            ))}
            {[
              "due at",
              "waited",
              "first token",
              "per token",
              "service time",
              "prompt",
              "cached",
              "output",
            ].map((title) => (
              <th key={title} class="n">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {turns.slice(0, most).map((turn) => (
            <tr key={turn} class={turn === selected ? "selected" : ""}>
              <td>
                <button type="button" class="link" onClick={() => onSelect(turn)}>
                  {turnName(jobs, turn, agents)}
                </button>
              </td>
              <td>{TURN_STATUS[t.status[turn] as number]}</td>
              <td class="n">{timeOf(t.intended[turn])}</td>
              <td class="n">{timeOf(t.sent[turn])}</td>
              <td class="n">{timeOf(t.ttft[turn])}</td>
              <td class="n">{timeOf(t.tpot[turn])}</td>
              <td class="n">{timeOf(t.e2e[turn])}</td>
              <td class="n">{count(t.prompt_tokens[turn])}</td>
              <td class="n">{count(t.cached_tokens[turn])}</td>
              <td class="n">{count(t.output_tokens[turn])}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <More shown={most} total={turns.length} onMore={() => setMost(most + ROWS)} />
    </div>
  );
}
