/**
 * The table of trace formats: one file a format, one line here. Adding a format touches its own file and this table
 * (CONTRIBUTING has the recipe). Order matters only between equal detection scores: the first wins.
 */
import type { TraceFormat } from "../format.ts";
import { weka } from "./weka.ts";

export const FORMATS: readonly TraceFormat[] = [
  // arrival traces
  // agent traces
  weka,
];

/** The format of this name, or `undefined`. */
export function formatNamed(name: string): TraceFormat | undefined {
  return FORMATS.find((format) => format.name === name);
}
