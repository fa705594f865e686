/** Throughput against interactivity, a point a run; the front is drawn through those that none other beats on both. */
import type { JSX } from "preact";
import type { Choice } from "../src/report/html/page-data.ts";
import { Chart, MARGIN, linePath, runColour, useWidth } from "./chart.tsx";
import { formatNumber, plainText, tickNumber } from "./format.ts";
import { linearScale } from "./scale.ts";

export function Pareto({ choice }: { readonly choice: Choice }): JSX.Element {
  const [ref, width] = useWidth();
  const points = choice.runs.flatMap(({ name, x, y, pareto }, index) =>
    x === null || y === null ? [] : [{ name: plainText(name), x, y, pareto, index }],
  );
  return (
    <div ref={ref}>
      {points.length === 0 && <p class="note">No run has finished jobs to place here.</p>}
      {width > 0 && points.length > 0 && <Plot {...{ points, width, choice }} />}
    </div>
  );
}

interface Point {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly pareto: boolean;
  readonly index: number;
}

function Plot({
  points,
  width,
  choice,
}: {
  points: readonly Point[];
  width: number;
  choice: Choice;
}): JSX.Element {
  const height = 250;
  const most = (key: "x" | "y"): number => Math.max(...points.map((point) => point[key])) * 1.15 || 1;
  const x = linearScale([0, most("x")], [MARGIN.left, width - MARGIN.right]);
  const y = linearScale([0, most("y")], [height - MARGIN.bottom, MARGIN.top + 8], 4);
  const front = points.filter(({ pareto }) => pareto).sort((a, b) => a.x - b.x);
  return (
    <Chart
      {...{ width, height, x, y }}
      xTick={tickNumber}
      yTick={tickNumber}
      xTitle={choice.pareto.x_title}
      yTitle={choice.pareto.y_title}
      label={`Pareto front: ${front.map((point) => `${point.name} ${formatNumber(point.x)} and ${formatNumber(point.y)}`).join("; ") || "none"}`}
    >
      {front.length > 1 && (
        <path class="curve thin front" d={linePath(front.map((point) => [x(point.x), y(point.y)]))} />
      )}
      {points.map((point) => {
        const end = x(point.x) > width * 0.7;
        return (
          <g key={point.name}>
            <circle
              cx={x(point.x)}
              cy={y(point.y)}
              r={point.pareto ? 6 : 4.5}
              fill={runColour(point.index)}
              opacity={point.pareto ? 1 : 0.45}
            />
            <text
              class="mark-label"
              x={x(point.x) + (end ? -10 : 10)}
              y={y(point.y) + 4}
              text-anchor={end ? "end" : "start"}
            >
              {point.name}
            </text>
          </g>
        );
      })}
    </Chart>
  );
}
