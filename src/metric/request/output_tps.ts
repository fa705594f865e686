import type { RequestMetric } from "./request-metric.ts";
import { tpot } from "./tpot.ts";

/** Times in the log are whole microseconds: a `tpot` below this is the noise of a burst, and its inverse no speed. */
const SMALLEST_TPOT_MS = 1e-6;

/** Tokens a second that one user sees: 1000 ÷ `tpot`. `null` where `tpot` is, or is as good as 0. */
export const output_tps: RequestMetric = {
  id: "output_tps",
  unit: "tokens/s",
  title: "Output speed, one user",
  span: "1000 ÷ tpot",
  value: (record) => {
    const perToken = tpot.value(record);
    return perToken === null || perToken < SMALLEST_TPOT_MS ? null : 1000 / perToken;
  },
};
