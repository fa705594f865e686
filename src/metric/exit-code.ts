/** The exit code of a run, from its summary alone. */
import { EXIT, type ExitCode } from "../core/failure.ts";
import { failureRate } from "./slo.ts";
import type { Summary } from "./summary.ts";

export interface ExitOptions {
  /** `--max-failure-rate`: allowed failed ÷ sent; default 0. */
  readonly maxFailureRate?: number;
  /** `--strict-validity`: a client-limited run is no result. */
  readonly strictValidity?: boolean;
}

/**
 * 130 interrupted; 4 client-limited under `--strict-validity`; 1 too many failures, an objective missed, nothing ok, or a
 * part of the run lost (records that could not be written, a worker); else 0. Never the number of failures: 256 of them would read as success.
 */
export function exitCodeOf(summary: Summary, options: ExitOptions = {}): ExitCode {
  if (summary.run.interrupted) return EXIT.interrupted;
  if (options.strictValidity === true && summary.validity.client_limited) return EXIT.clientLimited;
  const failed = failureRate(summary);
  if (summary.counts.ok === 0 || failed === null) return EXIT.missed;
  if (failed > (options.maxFailureRate ?? 0)) return EXIT.missed;
  if (summary.validity.verdict === "degraded") return EXIT.missed;
  return summary.objectives.every(({ met }) => met) ? EXIT.good : EXIT.missed;
}
