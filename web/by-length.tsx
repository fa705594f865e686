/** A metric against the length of the prompt: a sample of requests as dots, medians and p95 of all by bin. */
import type { JSX } from "preact";
import type { ByPromptLength } from "../src/metric/run/by_prompt_length.ts";
import { Chart, Legend, MARGIN, linePath, useWidth } from "./chart.tsx";
import { formatCount, formatDurationOf, tickNumber, tickTime } from "./format.ts";
import { linearScale, logScale } from "./scale.ts";

export function ByLengthChart({
  title,
  data,
}: {
  readonly title: string;
  readonly data: ByPromptLength;
}): JSX.Element {
  const [ref, width] = useWidth();
  return (
    <div ref={ref}>
      {width > 0 && <Plot {...{ title, data, width }} />}
      <Legend
        items={[
          { label: "p50", colour: "var(--run-0)" },
          { label: "p95", colour: "var(--run-1)" },
        ]}
      />
      {data.points.value.length < data.n && (
        <p class="note">
          Lines stand on all {formatCount(data.n)} requests; {formatCount(data.points.value.length)} of them
          are shown as dots.
        </p>
      )}
    </div>
  );
}

const HEIGHT = 220;

function Plot({ title, data, width }: { title: string; data: ByPromptLength; width: number }): JSX.Element {
  const { bins, points } = data;
  const first = bins[0];
  const last = bins.at(-1);
  const x = logScale([first?.from_tokens ?? 1, last?.to_tokens ?? 10], [MARGIN.left, width - MARGIN.right]);
  const values = points.value.filter((value) => value > 0);
  const top = Math.max(1e-3, ...values, ...bins.map((bin) => bin.p95 ?? 0));
  const bottom = Math.max(top / 1e5, Math.min(top / 3, ...values));
  const range = [HEIGHT - MARGIN.bottom, MARGIN.top] as const;
  const y = top / bottom > 20 ? logScale([bottom, top], range) : linearScale([0, top], range, 4);
  const middle = (bin: (typeof bins)[number]): number => x(Math.sqrt(bin.from_tokens * bin.to_tokens));
  const line = (key: "p50" | "p95"): string =>
    linePath(bins.map((bin) => [middle(bin), bin[key] === null ? NaN : y(bin[key])]));
  return (
    <Chart
      {...{ width, x, y }}
      height={HEIGHT}
      xTick={tickNumber}
      yTick={tickTime}
      xTitle="prompt tokens"
      label={`${title} against prompt length: ${bins.map((bin) => `${Math.round(bin.from_tokens)} to ${Math.round(bin.to_tokens)} tokens: p50 ${formatDurationOf(bin.p50)}`).join("; ")}`}
      tip={(at) => {
        const bin = bins.find(({ from_tokens, to_tokens }) => x(from_tokens) <= at && at <= x(to_tokens));
        if (bin === undefined) return null;
        return {
          at: middle(bin),
          title: `${formatCount(bin.from_tokens)}–${formatCount(bin.to_tokens)} tokens`,
          lines: [
            { label: "p50", value: formatDurationOf(bin.p50), colour: "var(--run-0)" },
            { label: "p95", value: formatDurationOf(bin.p95), colour: "var(--run-1)" },
            { label: "requests", value: formatCount(bin.n) },
          ],
        };
      }}
    >
      <path
        class="dots"
        d={points.tokens
          .map((tokens, i) => `M${x(tokens).toFixed(1)} ${y(points.value[i] as number).toFixed(1)}h0`)
          .join("")}
      />
      <path class="curve" d={line("p50")} stroke="var(--run-0)" />
      <path class="curve" d={line("p95")} stroke="var(--run-1)" />
    </Chart>
  );
}
