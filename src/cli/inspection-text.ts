/** What `reprise inspect` prints for people. */
import { formatDuration } from "../core/duration.ts";
import type { Distribution } from "../core/quantile.ts";
import { plainText, shortText } from "../core/terminal-text.ts";
import type { Inspection } from "../trace/inspect.ts";

const LABEL = 22;

export function inspectionText(seen: Inspection): string {
  const lines: string[] = [];
  const row = (label: string, value: string): void => {
    lines.push(`${label.padEnd(LABEL)}${value}`);
  };
  row("format", `${seen.format} (${plainText(seen.path)})`);
  row(
    "jobs",
    `${number(seen.jobs)}${seen.structure.multi_turn_jobs > 0 ? `, ${number(seen.structure.multi_turn_jobs)} of more than one turn` : ""}`,
  );
  row("turns", `${number(seen.turns)}${seen.agents > 0 ? `, ${seen.agents} named agents` : ""}`);
  row("prompt tokens", tokens(seen.prompt_tokens, seen.turns_without_prompt_tokens));
  row("output tokens", tokens(seen.output_tokens, seen.turns_without_output_tokens));
  row("span", seen.span_ms === null ? "not recorded" : formatDuration(seen.span_ms));
  lines.push("");
  row(
    "",
    `${"n".padStart(8)}${"mean".padStart(14)}${"p50".padStart(14)}${"p90".padStart(14)}${"p99".padStart(14)}${"max".padStart(14)}`,
  );
  distribution("turns a job", seen.job_turns, number1);
  distribution("prompt length", seen.prompt_length, number1);
  distribution("output length", seen.output_length, number1);
  distribution("think time", seen.think_time.think_ms, formatDuration);
  lines.push("");
  const { structure, think_time, prefix } = seen;
  if (structure.parallel_jobs > 0)
    row(
      "in parallel",
      `${number(structure.parallel_jobs)} jobs, up to ${structure.max_width} turns at once; ${number(structure.forks)} forks, ${number(structure.joins)} joins`,
    );
  if (think_time.recorded + think_time.inferred + think_time.missing > 0)
    row(
      "think times",
      `${number(think_time.recorded)} recorded, ${number(think_time.inferred)} inferred, ${number(think_time.missing)} unknown${think_time.negative_gaps > 0 ? `, ${number(think_time.negative_gaps)} negative (taken as 0)` : ""}`,
    );
  const { jobs, budget_ms } = seen.budgets;
  if (jobs > 0 && budget_ms.min !== null && budget_ms.max !== null) {
    const [least, most] = [formatDuration(budget_ms.min), formatDuration(budget_ms.max)];
    row("time budgets", `${number(jobs)} jobs, ${least === most ? least : `${least} to ${most}`}`);
  }
  if (prefix.optimal_hit_rate !== null)
    row(
      "prefix sharing",
      `an endless cache would hit ${percent(prefix.optimal_hit_rate)} of the prompt tokens (${percent(prefix.within_jobs_hit_rate)} within jobs)${prefix.estimated ? ", estimated from text" : ""}`,
    );
  else row("prefix sharing", "not recorded");
  const models = Object.entries(seen.models);
  if (models.length > 0)
    row(
      "models",
      models
        .slice(0, 6)
        .map(([name, turns]) => `${shortText(name, 40)} (${number(turns)})`)
        .join(", "),
    );
  const origins = Object.entries(seen.provenance);
  for (const origin of ["recorded", "inferred", "made up", "missing"]) {
    const names = origins.filter(([, value]) => value === origin).map(([name]) => name.replaceAll("_", " "));
    if (names.length > 0) row(origin, names.join(", "));
  }
  const skipped = Object.entries(seen.rows.skipped).map(
    ([kind, rows]) => `${number(rows)} ${plainText(kind)}`,
  );
  row(
    "rows",
    `${number(seen.rows.read)} read, ${number(seen.rows.used)} used${skipped.length > 0 ? `; skipped: ${skipped.join(", ")}` : ""}${seen.rows.refused > 0 ? `; ${number(seen.rows.refused)} refused` : ""}`,
  );
  for (const fault of seen.faults.slice(0, 20))
    lines.push(
      `fault: ${plainText(fault.file)}${fault.line === null ? "" : `:${fault.line}`}: ${plainText(fault.reason)}`,
    );
  if (seen.faults.length > 20) lines.push(`... and ${number(seen.faults.length - 20)} faults more`);
  for (const note of seen.notes) lines.push(`note: ${plainText(note)}`);
  for (const warning of seen.warnings) lines.push(`warning: ${plainText(warning)}`);
  return `${lines.join("\n")}\n`;

  function distribution(
    label: string,
    { n, mean, max, ...rest }: Distribution,
    show: (value: number) => string,
  ): void {
    if (n === 0) return;
    const cell = (value: number | null | undefined): string =>
      (value == null ? "n/a" : show(value)).padStart(14);
    row(
      label,
      `${number(n).padStart(8)}${cell(mean)}${cell(rest.p50)}${cell(rest.p90)}${cell(rest.p99)}${cell(max)}`,
    );
  }
}

function tokens(sum: number | null, without: number): string {
  if (sum === null) return "not recorded";
  return `${number(sum)}${without > 0 ? ` (${number(without)} turns do not tell)` : ""}`;
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}

function number1(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 100 ? 1 : 0 });
}

function percent(share: number | null): string {
  return share === null ? "n/a" : `${(share * 100).toFixed(1)} %`;
}
