import type { RequestMetric } from "./request-metric.ts";
import { tpot } from "./tpot.ts";

/** Tokens a second that one user sees: 1000 ÷ `tpot`. `null` where `tpot` is, or is 0. */
export const output_tps: RequestMetric = {
  id: "output_tps",
  unit: "tokens/s",
  title: "Output speed, one user",
  span: "1000 ÷ tpot",
  value: (record) => {
    const perToken = tpot.value(record);
    return perToken === null || perToken <= 0 ? null : 1000 / perToken;
  },
};
