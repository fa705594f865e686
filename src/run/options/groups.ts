/** Headings of the help, in order. */
export const GROUP = {
  target: "Target",
  workload: "Workload",
  arrivals: "Arrivals and pacing",
  load: "Load",
  sampling: "Sampling",
  measure: "Objectives and statistics",
  output: "Output",
  compat: "For users of other tools",
} as const;
