/** The turns of one job, a line each: when it was due, how long it waited, what the engine did. */
import type { JSX } from "preact";
import { useWidth } from "./chart.tsx";
import { tickTime, timeOf } from "./format.ts";
import { type Jobs, PHASE_COLOURS, TURN_STATUS, phases } from "./jobs.ts";
import { linearScale, timeTicks } from "./scale.ts";

export interface Lane {
  readonly label: string;
  /** A turn of a run, or `null` where this side has none. */
  readonly turn: number | null;
  readonly colour?: string;
}

interface Props {
  readonly jobs: readonly Jobs[];
  /** Position in `jobs` of each lane's run. */
  readonly lanes: readonly (Lane & { readonly run: number })[];
  /** Start of the job in each run: lanes are drawn from there. */
  readonly starts: readonly number[];
  readonly length: number;
  readonly selected: { readonly run: number; readonly turn: number } | null;
  readonly onSelect: (run: number, turn: number) => void;
  readonly label: string;
}

const ROW = 20;
const LABEL = 96;
const AXIS = 20;
/** More lines than this are not drawn; the table below has them all. */
export const MOST_LANES = 400;

export function TurnLanes({ jobs, lanes, starts, length, selected, onSelect, label }: Props): JSX.Element {
  const [ref, width] = useWidth();
  const shown = lanes.slice(0, MOST_LANES);
  const height = shown.length * ROW + AXIS;
  const x = linearScale([0, Math.max(1, length)], [LABEL, Math.max(LABEL + 10, width - 14)]);
  return (
    <div ref={ref} class="lanes">
      {width > 0 && (
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
          {timeTicks(0, length, Math.max(2, Math.floor((width - LABEL) / 90))).map((tick) => (
            <g key={tick}>
              <line class="grid" x1={x(tick)} x2={x(tick)} y1={AXIS - 4} y2={height} />
              <text class="tick" x={x(tick)} y={12} text-anchor="middle">
                {tickTime(tick)}
              </text>
            </g>
          ))}
          {shown.map((lane, row) => {
            const of = jobs[lane.run] as Jobs;
            const start = starts[lane.run] ?? 0;
            const { turn } = lane;
            const chosen = selected !== null && selected.run === lane.run && selected.turn === turn;
            return (
              <g
                key={row}
                class={`lane ${chosen ? "selected" : ""} ${turn === null ? "" : "clickable"}`}
                onClick={() => turn !== null && onSelect(lane.run, turn)}
              >
                <rect class="lane-back" x={0} y={AXIS + row * ROW} width={width} height={ROW} />
                <text class="lane-label" x={4} y={AXIS + row * ROW + 14} fill={lane.colour ?? "currentColor"}>
                  {lane.label}
                </text>
                {turn !== null && <Bars jobs={of} turn={turn} start={start} x={x} y={AXIS + row * ROW + 4} />}
                {turn === null && (
                  <text class="tick" x={LABEL + 4} y={AXIS + row * ROW + 14}>
                    not in this run
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      )}
      {lanes.length > MOST_LANES && (
        <p class="note">
          The first {MOST_LANES} of {lanes.length} lines are drawn; the table has all.
        </p>
      )}
    </div>
  );
}

function Bars({
  jobs,
  turn,
  start,
  x,
  y,
}: {
  jobs: Jobs;
  turn: number;
  start: number;
  x: (v: number) => number;
  y: number;
}): JSX.Element {
  const bars: JSX.Element[] = [];
  phases(jobs.turn, turn, (phase, from, to) => {
    bars.push(
      <rect
        key={phase}
        x={x(from - start)}
        width={Math.max(0.8, x(to - start) - x(from - start))}
        y={phase === "wait" || phase === "engine-queue" ? y + 3 : y}
        height={phase === "wait" || phase === "engine-queue" ? 6 : 12}
        fill={`var(${PHASE_COLOURS[phase]})`}
      />,
    );
  });
  const status = TURN_STATUS[jobs.turn.status[turn] as number] ?? "ok";
  const due = (jobs.turn.intended[turn] as number) - start;
  return (
    <>
      {bars}
      {status !== "ok" && !Number.isNaN(due) && (
        <text class="lane-state" x={Math.max(x(due), LABEL) + 4} y={y + 10}>
          {status}
        </text>
      )}
      <title>{`due at ${timeOf(due)}, ends after ${timeOf(jobs.turn.e2e[turn])}`}</title>
    </>
  );
}
