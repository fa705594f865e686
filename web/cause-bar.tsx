/** Where time goes, as one stacked bar. */
import type { JSX } from "preact";
import { CAUSE_TITLES } from "../src/report/answer.ts";
import { formatDurationOf, formatShare } from "./format.ts";
import { CAUSES, CAUSE_COLOURS, type Cause } from "./jobs.ts";

interface Props {
  readonly parts: Readonly<Partial<Record<Cause, number>>>;
  /** The bar is this much of its full width long, 0–1. */
  readonly length?: number;
  readonly label: string;
  readonly thick?: boolean;
}

/** In the order of a request: waiting first, then work. */
const ORDER: readonly Cause[] = [
  "slot",
  "client",
  "connect",
  "engine_queue",
  "prefill",
  "decode",
  "tail",
  "unsplit",
  "tool",
];

export function CauseBar({ parts, length = 1, label, thick = false }: Props): JSX.Element {
  const total = CAUSES.reduce((sum, cause) => sum + Math.max(0, parts[cause] ?? 0), 0);
  const shown = total > 0 ? ORDER.filter((cause) => (parts[cause] ?? 0) > 0) : [];
  const words = shown
    .map((cause) => `${CAUSE_TITLES[cause]} ${formatShare((parts[cause] ?? 0) / total)}`)
    .join(", ");
  return (
    <div
      class={thick ? "causes thick" : "causes"}
      role="img"
      aria-label={`${label}: ${words === "" ? "nothing to show" : words}`}
    >
      <div style={{ width: `${(length * 100).toFixed(2)}%` }}>
        {shown.map((cause) => (
          <span
            key={cause}
            title={`${CAUSE_TITLES[cause]}: ${formatDurationOf(parts[cause])} (${formatShare((parts[cause] ?? 0) / total)})`}
            style={{
              flexGrow: String((parts[cause] ?? 0) / total),
              background: `var(${CAUSE_COLOURS[cause]})`,
            }}
          />
        ))}
      </div>
    </div>
  );
}

export function CauseLegend({ causes }: { readonly causes: readonly Cause[] }): JSX.Element {
  return (
    <ul class="legend">
      {ORDER.filter((cause) => causes.includes(cause)).map((cause) => (
        <li key={cause}>
          <i class="dot" style={{ background: `var(${CAUSE_COLOURS[cause]})` }} />
          {CAUSE_TITLES[cause]}
        </li>
      ))}
    </ul>
  );
}
