/**
 * Jobs as rows over time on a canvas. Only the rows in sight are drawn, so ten thousand jobs scroll as ten do. Sub-agents of a job
 * share its row; opening the job shows each turn on a line of its own.
 */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useWidth } from "./chart.tsx";
import { plainText, tickTime, timeOf } from "./format.ts";
import { type Jobs, PHASE_COLOURS, PHASE_TITLES, type Phase, phases } from "./jobs.ts";
import { linearScale, timeTicks } from "./scale.ts";

const AXIS = 26;
const VIEW = 420;
const LABELS = 132;
const ROWS = [5, 10, 18, 28];

interface Props {
  readonly jobs: Jobs;
  /** Rows, in the order to show. */
  readonly order: Int32Array;
  readonly selected: number | null;
  readonly onOpen: (job: number) => void;
}

export function Gantt({ jobs, order, selected, onOpen }: Props): JSX.Element {
  const [ref, width] = useWidth();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState(() => (order.length > 400 ? 0 : order.length > 60 ? 1 : 2));
  const [hover, setHover] = useState<{ job: number; x: number; y: number } | null>(null);
  const span = useMemo(() => spanOf(jobs), [jobs]);
  const [window_, setWindow] = useState<readonly [number, number]>(span);
  const rowHeight = ROWS[size] as number;
  const labels = width < 560 || rowHeight < 14 ? 0 : LABELS;
  const height = Math.min(VIEW, AXIS + order.length * rowHeight + 4);
  const x = linearScale(window_, [labels, width]);

  const paint = (): void => {
    if (canvas.current === null || scroller.current === null || width === 0) return;
    draw(canvas.current, {
      jobs,
      order,
      width,
      height,
      rowHeight,
      labels,
      x,
      window: window_,
      selected,
      top: scroller.current.scrollTop,
    });
  };
  useEffect(() => {
    const frame = requestAnimationFrame(paint);
    // A canvas keeps its colours: it is drawn again for the other scheme, and for paper.
    const media = ["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query));
    for (const one of media) one.addEventListener("change", paint);
    return () => {
      cancelAnimationFrame(frame);
      for (const one of media) one.removeEventListener("change", paint);
    };
  });

  const zoom = (factor: number, centre = (window_[0] + window_[1]) / 2): void => {
    const length = Math.min(span[1] - span[0], Math.max(10, (window_[1] - window_[0]) * factor));
    const share = (centre - window_[0]) / (window_[1] - window_[0]);
    move(centre - length * share, length);
  };
  const move = (from: number, length = window_[1] - window_[0]): void => {
    const start = Math.max(span[0], Math.min(from, span[1] - length));
    setWindow([start, start + length]);
  };
  const jobAt = (clientY: number): number | null => {
    if (scroller.current === null) return null;
    const y = clientY - scroller.current.getBoundingClientRect().top - AXIS;
    if (y < 0) return null;
    return order[Math.floor((y + scroller.current.scrollTop) / rowHeight)] ?? null;
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = (window_[1] - window_[0]) / 8;
    const actions: Record<string, () => void> = {
      "+": () => zoom(0.6),
      "=": () => zoom(0.6),
      "-": () => zoom(1 / 0.6),
      "0": () => setWindow(span),
      ArrowLeft: () => move(window_[0] - step),
      ArrowRight: () => move(window_[0] + step),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  return (
    <div ref={ref}>
      <div class="toolbar">
        <span class="group" role="group" aria-label="Height of the rows">
          {["dense", "small", "medium", "large"].map((name, i) => (
            <button key={name} type="button" aria-pressed={size === i} onClick={() => setSize(i)}>
              {name}
            </button>
          ))}
        </span>
        <span class="group" role="group" aria-label="Time shown">
          <button type="button" onClick={() => zoom(0.6)} aria-label="Closer">
            +
          </button>
          <button type="button" onClick={() => zoom(1 / 0.6)} aria-label="Farther">
            −
          </button>
          <button
            type="button"
            onClick={() => move(window_[0] - (window_[1] - window_[0]) / 3)}
            aria-label="Earlier"
          >
            ←
          </button>
          <button
            type="button"
            onClick={() => move(window_[0] + (window_[1] - window_[0]) / 3)}
            aria-label="Later"
          >
            →
          </button>
          <button type="button" onClick={() => setWindow(span)}>
            all
          </button>
        </span>
        <PhaseLegend />
      </div>
      <div
        class="gantt"
        ref={scroller}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="region"
        aria-label={`Jobs over time, ${order.length} rows from ${tickTime(window_[0])} to ${tickTime(window_[1])}. Plus and minus zoom, arrows move; the list of jobs below holds the same as text.`}
        onScroll={() => requestAnimationFrame(paint)}
        onKeyDown={onKey}
        onWheel={(event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          zoom(
            event.deltaY > 0 ? 1.25 : 0.8,
            x.invert(event.clientX - event.currentTarget.getBoundingClientRect().left),
          );
        }}
        onPointerMove={(event) => {
          const job = jobAt(event.clientY);
          const box = event.currentTarget.getBoundingClientRect();
          setHover(job === null ? null : { job, x: event.clientX - box.left, y: event.clientY - box.top });
        }}
        onPointerLeave={() => setHover(null)}
        onClick={(event) => {
          const job = jobAt(event.clientY);
          if (job !== null) onOpen(job);
        }}
      >
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${height - 2}px` }} aria-hidden="true" />
        <div style={{ height: `${Math.max(0, order.length * rowHeight + AXIS - height + 2)}px` }} />
      </div>
      <p class="note gantt-hint" aria-live="off">
        {hover === null
          ? "Click a job to open its turns. Ctrl and the wheel zoom."
          : describeJob(jobs, hover.job)}
      </p>
    </div>
  );
}

export function PhaseLegend(): JSX.Element {
  return (
    <ul class="legend">
      {(["tool", "wait", "engine-queue", "prefill", "decode", "unsplit"] as const).map((phase) => (
        <li key={phase}>
          <i class="dot" style={{ background: `var(${PHASE_COLOURS[phase]})` }} />
          {PHASE_TITLES[phase]}
        </li>
      ))}
    </ul>
  );
}

function describeJob(jobs: Jobs, job: number): string {
  const outcome = jobs.outcomeOf(job);
  const turns = jobs.turnsOf(job).length;
  return [
    plainText(jobs.ids[job] as string),
    jobs.statusOf(job),
    `starts at ${timeOf(jobs.start[job])}`,
    `takes ${timeOf(jobs.length[job])}`,
    ...(outcome === "over" ? ["over budget"] : []),
    turns > 0 ? `${turns} turns` : "turns not in this page",
  ].join(" · ");
}

function spanOf(jobs: Jobs): readonly [number, number] {
  let last = 1;
  for (let job = 0; job < jobs.n; job++) {
    const end = (jobs.start[job] as number) + (jobs.length[job] as number);
    if (end > last) last = end;
  }
  return [0, last];
}

interface Drawing {
  readonly jobs: Jobs;
  readonly order: Int32Array;
  readonly width: number;
  readonly height: number;
  readonly rowHeight: number;
  readonly labels: number;
  readonly x: (value: number) => number;
  readonly window: readonly [number, number];
  readonly selected: number | null;
  readonly top: number;
}

function draw(canvas: HTMLCanvasElement, of: Drawing): void {
  const { jobs, order, width, height, rowHeight, labels, x, window, selected, top } = of;
  const ratio = devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round((height - 2) * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round((height - 2) * ratio);
  }
  const context = canvas.getContext("2d");
  if (context === null) return;
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const paints = Object.fromEntries(
    Object.entries(PHASE_COLOURS).map(([phase, name]) => [phase, colour(name)]),
  ) as Record<Phase | "tool", string>;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = "middle";
  context.fillStyle = colour("--soft");
  context.strokeStyle = colour("--line");
  context.lineWidth = 1;
  for (const tick of timeTicks(window[0], window[1], Math.max(2, Math.floor((width - labels) / 90)))) {
    const at = Math.round(x(tick)) + 0.5;
    context.beginPath();
    context.moveTo(at, AXIS - 4);
    context.lineTo(at, height);
    context.stroke();
    const text = tickTime(tick);
    context.fillText(text, Math.min(at + 4, width - context.measureText(text).width - 2), AXIS / 2);
  }
  const first = Math.floor(top / rowHeight);
  const last = Math.min(order.length, Math.ceil((top + height - AXIS) / rowHeight));
  const bar = rowHeight <= 6 ? rowHeight - 1 : Math.round(rowHeight * 0.68);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, width, height);
  context.clip();
  for (let row = first; row < last; row++) {
    const job = order[row] as number;
    const y = AXIS + row * rowHeight - top;
    if (job === selected) {
      context.fillStyle = colour("--hover");
      context.fillRect(0, y, width, rowHeight);
    }
    const start = jobs.start[job] as number;
    const end = start + (jobs.length[job] as number);
    const bad = jobs.statusOf(job) === "failed" || jobs.outcomeOf(job) === "over";
    context.save();
    context.beginPath();
    context.rect(labels, AXIS, width - labels, height);
    context.clip();
    const upper = y + (rowHeight - bar) / 2;
    rect(context, paints.tool, x(start), x(end), upper + bar * 0.3, Math.max(1, bar * 0.4));
    for (let turn = jobs.firstTurn[job] as number; turn < (jobs.firstTurn[job + 1] as number); turn++)
      phases(jobs.turn, turn, (phase, from, to) => {
        const [left, right] = [x(from), x(to)];
        if (right < labels || left > width) return;
        rect(context, paints[phase], left, right, upper, bar);
      });
    context.restore();
    if (bad) {
      context.fillStyle = colour("--bad");
      context.fillRect(labels === 0 ? 0 : labels - 5, upper, 3, bar);
    }
    if (labels === 0) continue;
    context.fillStyle = colour("--text");
    context.fillText(fit(context, plainText(jobs.ids[job] as string), labels - 14), 2, y + rowHeight / 2);
  }
  context.restore();
}

function rect(
  context: CanvasRenderingContext2D,
  colour: string,
  left: number,
  right: number,
  y: number,
  height: number,
): void {
  if (!(right >= left)) return;
  context.fillStyle = colour;
  context.fillRect(left, y, Math.max(0.6, right - left), height);
}

/** Ids often differ at their end: the middle is left out. */
function fit(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (text.length <= 40 && context.measureText(text).width <= room) return text;
  const tail = text.slice(-7);
  let head = text.slice(0, Math.min(30, text.length - 7));
  while (head.length > 0 && context.measureText(`${head}…${tail}`).width > room) head = head.slice(0, -1);
  return `${head}…${tail}`;
}
