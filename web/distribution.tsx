/** Share of samples at or below a value: exact at the bins' edges; one run also as bars. Several runs with their bands. */
import type { JSX } from "preact";
import type { Histogram } from "../src/metric/histogram.ts";
import type { Distribution } from "../src/core/quantile.ts";
import type { Band } from "../src/report/html/page-data.ts";
import { Chart, Legend, MARGIN, linePath, useWidth } from "./chart.tsx";
import {
  formatCount,
  formatDurationOf,
  formatNumber,
  formatShare,
  tickNumber,
  tickShare,
  tickTime,
} from "./format.ts";
import { linearScale, logScale, timeTicks } from "./scale.ts";

export interface DistributionSeries {
  readonly name: string;
  readonly histogram: Histogram;
  readonly distribution: Distribution;
  readonly band?: Band | undefined;
  readonly colour: string;
}

interface Props {
  readonly title: string;
  /** `ms` for times. */
  readonly unit: string;
  readonly series: readonly DistributionSeries[];
  /** A bound to draw, e.g. the budget. */
  readonly bound?: { readonly at: number; readonly label: string } | null;
  readonly height?: number;
}

export function DistributionChart({ title, unit, series, bound = null, height = 230 }: Props): JSX.Element {
  const [ref, width] = useWidth();
  return (
    <div ref={ref}>
      {series.length > 1 && <Legend items={series.map(({ name, colour }) => ({ label: name, colour }))} />}
      {width > 0 && <Plot {...{ title, unit, series, bound, height, width }} />}
    </div>
  );
}

function Plot({
  title,
  unit,
  series,
  bound,
  height,
  width,
}: Required<Props> & { width: number }): JSX.Element {
  const time = unit === "ms";
  const ends = series.flatMap(({ histogram: { edges } }) => [edges[0] ?? 0, edges.at(-1) ?? 1]);
  const positive = series.flatMap(({ histogram: { edges } }) => edges.filter((edge) => edge > 0).slice(0, 1));
  const high = Math.max(...ends, bound?.at ?? -Infinity);
  const low = Math.min(...ends, bound?.at ?? Infinity);
  const smallest = Math.min(...positive, high);
  const log = high > 0 && high / Math.max(smallest, high / 1e6) > 20;
  const range = [MARGIN.left, width - MARGIN.right] as const;
  const x = log
    ? logScale([Math.max(smallest, high / 1e6), high], range)
    : linearScale([Math.min(low, high), high], range);
  const y = linearScale([0, 1], [height - MARGIN.bottom, MARGIN.top], 4);
  const single = series.length === 1 ? series[0] : undefined;
  const xTick = time ? tickTime : tickNumber;
  const show = (value: number): string => (time ? formatDurationOf(value) : `${formatNumber(value)} ${unit}`);
  return (
    <Chart
      {...{ width, height, x, y, xTick }}
      yTick={tickShare}
      {...(time && !log ? { xTicks: timeTicks(low, high) } : {})}
      label={`${title}: ${series.map((one) => `${one.name}: ${describe(one, show)}`).join("; ")}`}
      tip={(at) => {
        if (at < MARGIN.left || at > width - MARGIN.right) return null;
        const value = x.invert(at);
        return {
          at,
          title: `≤ ${show(value)}`,
          lines: series.map((one) => ({
            label: one.name,
            value: formatShare(shareAt(one.histogram, value)),
            colour: one.colour,
          })),
        };
      }}
    >
      {single !== undefined && <Bars histogram={single.histogram} {...{ x, y }} colour={single.colour} />}
      {series.map(({ name, band, colour }) =>
        band === undefined ? null : <path key={name} class="band" d={bandPath(band, x, y)} fill={colour} />,
      )}
      {series.map(({ name, histogram, colour }) => (
        <path
          key={name}
          class="curve"
          d={linePath(curve(histogram).map(([at, share]) => [x(at), y(share)]))}
          stroke={colour}
        />
      ))}
      {single !== undefined && <Marks {...{ x, y, show }} distribution={single.distribution} />}
      {bound !== null && (
        <g>
          <line class="bound" x1={x(bound.at)} x2={x(bound.at)} y1={MARGIN.top} y2={height - MARGIN.bottom} />
          <text
            class="bound-label"
            x={x(bound.at) + (x(bound.at) > width * 0.7 ? -6 : 6)}
            y={height - MARGIN.bottom - 8}
            text-anchor={x(bound.at) > width * 0.7 ? "end" : "start"}
          >
            {bound.label}
          </text>
        </g>
      )}
    </Chart>
  );
}

function describe({ distribution }: DistributionSeries, show: (value: number) => string): string {
  const parts = (["p50", "p95", "p99"] as const).flatMap((key) => {
    const value = distribution[key];
    return value === undefined || value === null ? [] : [`${key} ${show(value)}`];
  });
  return `${formatCount(distribution.n)} samples, ${parts.join(", ")}`;
}

/** Points of the curve: (edge, share at or below it). */
function curve({ edges, counts, n }: Histogram): [number, number][] {
  let sum = 0;
  const points: [number, number][] = [[edges[0] as number, 0]];
  counts.forEach((count, i) => {
    sum += count;
    points.push([edges[i + 1] as number, sum / n]);
  });
  return points;
}

function shareAt(histogram: Histogram, value: number): number {
  const points = curve(histogram);
  let below = points[0] as [number, number];
  if (value < below[0]) return 0;
  for (const point of points) {
    if (point[0] >= value) {
      const width = point[0] - below[0];
      return width <= 0 ? point[1] : below[1] + ((point[1] - below[1]) * (value - below[0])) / width;
    }
    below = point;
  }
  return 1;
}

function Bars({
  histogram,
  x,
  y,
  colour,
}: {
  histogram: Histogram;
  x: (v: number) => number;
  y: (v: number) => number;
  colour: string;
}): JSX.Element {
  const most = Math.max(...histogram.counts);
  return (
    <g class="bars" fill={colour}>
      {histogram.counts.map((count, i) => {
        if (count === 0) return null;
        const left = x(histogram.edges[i] as number);
        const right = x(histogram.edges[i + 1] as number);
        const top = y((count / most) * 0.9);
        return (
          <rect key={i} x={left} y={top} width={Math.max(1.5, right - left - 0.75)} height={y(0) - top} />
        );
      })}
    </g>
  );
}

function bandPath(band: Band, x: (v: number) => number, y: (v: number) => number): string {
  const side = (values: readonly number[]): [number, number][] =>
    values.map((value, i) => [x(value), y((band.percentiles[i] as number) / 100)]);
  const low = side(band.low);
  const high = side(band.high).reverse();
  return `${linePath([...low, ...high])}Z`;
}

function Marks({
  distribution,
  x,
  y,
  show,
}: {
  distribution: Distribution;
  x: (v: number) => number;
  y: (v: number) => number;
  show: (v: number) => string;
}): JSX.Element {
  const marks = (
    [
      ["p50", 0.5],
      ["p95", 0.95],
    ] as const
  ).flatMap(([key, share]) => {
    const value = distribution[key];
    return value === undefined || value === null ? [] : [{ key, share, value }];
  });
  return (
    <g>
      {marks.map(({ key, share, value }) => {
        // Where the label would leave the chart on the left, it stands on the right.
        const end = x(value) > MARGIN.left + 120;
        return (
          <g key={key}>
            <circle class="mark" cx={x(value)} cy={y(share)} r="3.5" />
            <text
              class="mark-label"
              x={x(value) + (end ? -8 : 8)}
              y={y(share) + 4}
              text-anchor={end ? "end" : "start"}
            >
              {key} {show(value)}
            </text>
          </g>
        );
      })}
    </g>
  );
}
