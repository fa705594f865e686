/** The frame that all charts share: axes, grid, hover. SVG, so that it prints, scales and follows the colour scheme. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Scale } from "./scale.ts";

export const MARGIN = { top: 12, right: 14, bottom: 30, left: 52 };

/** The width that an element gets. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

export interface TipLine {
  readonly label: string;
  readonly value: string;
  readonly colour?: string;
}

interface ChartProps {
  readonly width: number;
  readonly height: number;
  readonly label: string;
  readonly x: Scale;
  readonly y: Scale;
  readonly xTick: (value: number) => string;
  readonly yTick: (value: number) => string;
  readonly xTicks?: readonly number[];
  readonly xTitle?: string;
  readonly yTitle?: string;
  readonly children: ComponentChildren;
  /** What the pointer is over, by position inside the plot. */
  readonly tip?: (
    x: number,
    y: number,
  ) => { readonly at: number; readonly title: string; readonly lines: readonly TipLine[] } | null;
}

export function Chart(props: ChartProps): JSX.Element {
  const { width, height, x, y, label } = props;
  const [pointer, setPointer] = useState<{ x: number; y: number } | null>(null);
  const shown = pointer === null ? null : (props.tip?.(pointer.x, pointer.y) ?? null);
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const xTicks = thin(props.xTicks ?? x.ticks, x, 58);
  return (
    <div
      class="chart"
      onPointerMove={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        setPointer({ x: event.clientX - box.left, y: event.clientY - box.top });
      }}
      onPointerLeave={() => setPointer(null)}
    >
      <svg width={width} height={height} role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`}>
        {y.ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={MARGIN.left} x2={right} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={MARGIN.left - 8} y={y(tick) + 4} text-anchor="end">
              {props.yTick(tick)}
            </text>
          </g>
        ))}
        {xTicks.map((tick) => (
          <text key={tick} class="tick" x={x(tick)} y={bottom + 17} text-anchor="middle">
            {props.xTick(tick)}
          </text>
        ))}
        <line class="axis" x1={MARGIN.left} x2={right} y1={bottom} y2={bottom} />
        {props.children}
        {shown !== null && <line class="cursor" x1={shown.at} x2={shown.at} y1={MARGIN.top} y2={bottom} />}
        {props.yTitle !== undefined && (
          <text class="axis-title" x={MARGIN.left} y={MARGIN.top - 2}>
            {props.yTitle}
          </text>
        )}
      </svg>
      {props.xTitle !== undefined && <p class="x-title">{props.xTitle}</p>}
      {shown !== null && (
        <div
          class={`tip ${shown.at > width / 2 ? "left" : ""}`}
          style={{ left: `${shown.at}px`, top: `${MARGIN.top}px` }}
        >
          <b>{shown.title}</b>
          {shown.lines.map((line) => (
            <span key={line.label}>
              {line.colour !== undefined && <i class="dot" style={{ background: line.colour }} />}
              {line.label} <em>{line.value}</em>
            </span>
          ))}
        </div>
      )}
    </div>
  );
}

/** Ticks that would run into each other are left out. */
function thin(ticks: readonly number[], scale: Scale, gap: number): number[] {
  const kept: number[] = [];
  let last = -Infinity;
  for (const tick of ticks) {
    if (scale(tick) - last < gap) continue;
    kept.push(tick);
    last = scale(tick);
  }
  return kept;
}

export function linePath(points: readonly (readonly [number, number])[]): string {
  let path = "";
  let pen = "M";
  for (const [x, y] of points) {
    if (Number.isNaN(y)) {
      pen = "M";
      continue;
    }
    path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  }
  return path;
}

export const RUN_COLOURS = [
  "var(--run-0)",
  "var(--run-1)",
  "var(--run-2)",
  "var(--run-3)",
  "var(--run-4)",
  "var(--run-5)",
  "var(--run-6)",
  "var(--run-7)",
];

export function runColour(index: number): string {
  return RUN_COLOURS[index % RUN_COLOURS.length] as string;
}

export function Legend({
  items,
}: {
  readonly items: readonly { readonly label: string; readonly colour: string }[];
}): JSX.Element {
  return (
    <ul class="legend">
      {items.map(({ label, colour }) => (
        <li key={label}>
          <i class="dot" style={{ background: colour }} />
          {label}
        </li>
      ))}
    </ul>
  );
}
