/** The run over time: panels above each other on one axis of time, with one cursor. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunPage } from "../src/report/html/page-data.ts";
import { MARGIN, linePath, useWidth } from "./chart.tsx";
import { formatNumber, formatShare, tickNumber, tickShare, tickTime } from "./format.ts";
import { type Scale, linearScale, timeTicks } from "./scale.ts";

interface Line {
  readonly label: string;
  readonly colour: string;
  readonly ms: readonly number[];
  readonly values: readonly (number | null)[];
  /** Drawn as steps of this width, ms; absent: through the points. */
  readonly step?: number;
}

interface Panel {
  readonly title: string;
  readonly share: boolean;
  readonly lines: readonly Line[];
}

const HEIGHT = 128;

export function OverTime({ run }: { readonly run: RunPage }): JSX.Element {
  const [ref, width] = useWidth();
  const [cursor, setCursor] = useState<number | null>(null);
  const panels = panelsOf(run);
  const window = run.summary.window;
  const last = Math.max(
    1,
    ...panels.flatMap(({ lines }) => lines.map(({ ms, step }) => (ms.at(-1) ?? 0) + (step ?? 0))),
  );
  const x = linearScale([0, last], [MARGIN.left, width - MARGIN.right]);
  return (
    <div ref={ref} class="over-time">
      {width > 0 &&
        panels.map((panel, i) => (
          <PanelView
            key={panel.title}
            {...{ panel, x, width, cursor, setCursor, last, window }}
            bottom={i === panels.length - 1}
          />
        ))}
      {run.engine === null && (
        <p class="note">
          The server’s own metrics were not sampled in this run, so its queue, cache and GPU are not shown
          here.
        </p>
      )}
      {run.engine !== null && run.engine.failed > 0 && (
        <p class="note">
          {run.engine.failed} of {run.engine.samples} samples of the server’s metrics failed.
        </p>
      )}
    </div>
  );
}

interface PanelProps {
  readonly panel: Panel;
  readonly x: Scale;
  readonly width: number;
  readonly cursor: number | null;
  readonly setCursor: (at: number | null) => void;
  readonly last: number;
  readonly bottom: boolean;
  readonly window: { readonly start_ms: number; readonly end_ms: number } | null;
}

function PanelView({ panel, x, width, cursor, setCursor, last, bottom, window }: PanelProps): JSX.Element {
  const height = HEIGHT + (bottom ? 22 : 0);
  const floor = HEIGHT - 14;
  const most = Math.max(1e-9, ...panel.lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const y = linearScale([0, panel.share ? Math.max(1, most) : most], [floor, 22], 3);
  const tick = panel.share ? tickShare : tickNumber;
  return (
    <figure class="panel">
      <figcaption>
        <b>{panel.title}</b>
        {panel.lines.map(({ label, colour, ms, values, step }) => {
          const value = cursor === null ? null : valueAt(ms, values, cursor, step);
          return (
            <span key={label}>
              <i class="dot" style={{ background: colour }} />
              {label}
              {value !== null && <em> {panel.share ? formatShare(value) : formatNumber(value)}</em>}
            </span>
          );
        })}
        {cursor !== null && (
          <span class="at">at {tickTime(Math.max(0, Math.round(cursor / 100) * 100))}</span>
        )}
      </figcaption>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${panel.title} over time: ${panel.lines.map((line) => `${line.label} at most ${formatNumber(Math.max(0, ...line.values.map((v) => v ?? 0)))}`).join(", ")}`}
        onPointerMove={(event) => {
          const at = event.clientX - event.currentTarget.getBoundingClientRect().left;
          setCursor(at < MARGIN.left || at > width - MARGIN.right ? null : x.invert(at));
        }}
        onPointerLeave={() => setCursor(null)}
      >
        {window !== null && (window.start_ms > last * 0.001 || window.end_ms < last * 0.995) && (
          <rect
            class="window"
            x={x(window.start_ms)}
            width={Math.max(0, x(Math.min(last, window.end_ms)) - x(window.start_ms))}
            y={22}
            height={floor - 22}
          />
        )}
        {y.ticks.map((at) => (
          <g key={at}>
            <line class="grid" x1={MARGIN.left} x2={width - MARGIN.right} y1={y(at)} y2={y(at)} />
            <text class="tick" x={MARGIN.left - 8} y={y(at) + 4} text-anchor="end">
              {tick(at)}
            </text>
          </g>
        ))}
        {panel.lines.map((line) => (
          <path key={line.label} class="curve thin" d={pathOf(line, x, y)} stroke={line.colour} />
        ))}
        {bottom &&
          timeTicks(0, last, Math.max(2, Math.floor(width / 90))).map((at) => (
            <text key={at} class="tick" x={x(at)} y={floor + 18} text-anchor="middle">
              {tickTime(at)}
            </text>
          ))}
        {cursor !== null && <line class="cursor" x1={x(cursor)} x2={x(cursor)} y1={16} y2={floor} />}
      </svg>
    </figure>
  );
}

function pathOf({ ms, values, step }: Line, x: Scale, y: Scale): string {
  const points: [number, number][] = [];
  values.forEach((value, i) => {
    const at = ms[i] as number;
    const level = value === null ? NaN : y(value);
    points.push([x(at), level]);
    if (step !== undefined) points.push([x(at + step), level]);
  });
  return linePath(points);
}

function valueAt(
  ms: readonly number[],
  values: readonly (number | null)[],
  at: number,
  step: number | undefined,
): number | null {
  if (step !== undefined) return values[Math.floor((at - (ms[0] ?? 0)) / step)] ?? null;
  let best = 0;
  for (let i = 1; i < ms.length; i++)
    if (Math.abs((ms[i] as number) - at) < Math.abs((ms[best] as number) - at)) best = i;
  return values[best] ?? null;
}

function panelsOf({ series, engine }: RunPage): Panel[] {
  const panels: Panel[] = [];
  const own = (label: string, colour: string, values: readonly number[]): Line[] =>
    series === null
      ? []
      : [
          {
            label,
            colour,
            values,
            ms: values.map((_value, i) => series.start_ms + i * series.step_ms),
            step: series.step_ms,
          },
        ];
  const told = (label: string, colour: string, name: string): Line[] => {
    const values = engine?.values[name];
    return values === undefined || engine === null ? [] : [{ label, colour, ms: engine.ms, values }];
  };
  const add = (title: string, share: boolean, lines: Line[]): void => {
    if (lines.length > 0) panels.push({ title, share, lines });
  };
  if (series !== null) {
    add("Output tokens a second", false, own("tokens/s", "var(--decode)", series.output_tokens_per_s));
    add("Requests a second", false, [
      ...own("ended ok", "var(--prefill)", series.requests_per_s),
      ...(series.failed_per_s.some((value) => value > 0)
        ? own("failed", "var(--bad)", series.failed_per_s)
        : []),
    ]);
    add("How many at once", false, [
      ...own("requests in flight", "var(--run-0)", series.in_flight),
      ...(series.waiting_to_send.some((value) => value > 0.05)
        ? own("waiting to be sent", "var(--slot)", series.waiting_to_send)
        : []),
      ...own("jobs under way", "var(--tool)", series.jobs_running),
      ...told("engine: running", "var(--decode)", "running"),
      ...told("engine: waiting", "var(--engine-queue)", "waiting"),
    ]);
  }
  add("KV cache", true, [
    ...told("in use", "var(--prefill)", "kv_usage"),
    ...told("prefix hits", "var(--decode)", "hit_rate"),
  ]);
  add("GPU", true, told("utilisation, mean of the GPUs", "var(--run-3)", "gpu_utilisation"));
  add("GPU power, W", false, told("all GPUs", "var(--run-1)", "gpu_power_w"));
  return panels;
}
