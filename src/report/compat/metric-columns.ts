/** The metrics of `--percentile-metrics`: their keys in the files and their words in the tables, in the tables' order. */
import type { SampleName } from "./served-run.ts";

export interface MetricColumn {
  readonly name: SampleName;
  /** In `Mean TTFT (ms):`. */
  readonly word: string;
  readonly heading: string;
  /** ` (ms)` for times; nothing for lengths and speeds, whose keys have no `_ms` either. */
  readonly isTime: boolean;
  /** Told by the server; `null` where it did not. */
  readonly told: boolean;
}

const column = (
  name: SampleName,
  word: string,
  heading: string,
  isTime = true,
  told = name.startsWith("s_"),
): MetricColumn => ({ name, word, heading, isTime, told });

export const METRIC_COLUMNS: readonly MetricColumn[] = [
  column("s_decode", "Decode", "解码速度(tok/s)", false),
  column("ttft", "TTFT", "Time to First Token"),
  column("s_ttft", "S_TTFT", "Infer Time to First Token"),
  column("tpot", "TPOT", "Time per Output Token (excl. 1st token)"),
  column("itl", "ITL", "Inter-token Latency"),
  column("s_itl", "S_ITL", "Infer Inter-token Latency"),
  column("e2el", "E2EL", "End-to-end Latency"),
  column("s_e2el", "S_E2EL", "Infer End-to-end Latency"),
  column("input_len", "Cached Tokens", "Cached Tokens", false, true),
  column("s_input_len", "Input Length", "Infer Input Length", false),
  column("output_len", "Output Length", "Output Length", false),
];

export function metricKey(statistic: string, { name, isTime }: MetricColumn): string {
  return `${statistic}_${name}${isTime ? "_ms" : ""}`;
}
