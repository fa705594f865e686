/** The answer: for one run a sentence and four numbers; for several, which one and why. */
import type { JSX } from "preact";
import type { AnswerLine } from "../src/report/answer.ts";
import type { Choice, Pair, PageData, RunPage } from "../src/report/html/page-data.ts";
import { CauseBar, CauseLegend } from "./cause-bar.tsx";
import { runColour } from "./chart.tsx";
import { formatChange, formatDurationOf, formatNumber, formatShare, plainText, words } from "./format.ts";
import { CAUSES } from "./jobs.ts";

export function SingleAnswer({ run }: { readonly run: RunPage }): JSX.Element {
  const verdict = run.answer.find(({ label }) => label === "Verdict");
  return (
    <section class="answer" aria-label="The answer">
      <h1 class={run.headline.tone}>{words(run.headline.text)}</h1>
      <KeyNumbers run={run} />
      {run.causes.length > 0 && (
        <div class="where">
          <h2 class="small">Where the time goes</h2>
          <CauseBar
            parts={run.summary.jobs.breakdown_ms as Record<string, number>}
            label="Where the time goes"
            thick
          />
          <CauseLegend causes={run.causes.map(({ cause }) => cause)} />
        </div>
      )}
      <ul class="verdicts">
        {verdict !== undefined && <Verdict line={verdict} />}
        <Verdict line={run.fidelity} />
      </ul>
      {run.summary.objectives.length > 0 && <Objectives run={run} />}
    </section>
  );
}

function KeyNumbers({ run }: { readonly run: RunPage }): JSX.Element {
  return (
    <dl class="numbers">
      {run.key_numbers.map(({ path, label, value, detail, tone }) => (
        <div key={path} data-path={path}>
          <dt>{label}</dt>
          <dd class={tone}>{value}</dd>
          <dd class="detail">{detail}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Verdict({ line, name }: { readonly line: AnswerLine; readonly name?: string }): JSX.Element {
  const mark = line.tone === "good" ? "✓" : line.tone === "plain" ? "·" : "!";
  return (
    <li class={line.tone}>
      <span class="mark" aria-hidden="true">
        {mark}
      </span>
      <span>
        <b>{name ?? line.label}</b> {words(line.text)}
      </span>
    </li>
  );
}

function Objectives({ run }: { readonly run: RunPage }): JSX.Element {
  return (
    <ul class="verdicts">
      {run.summary.objectives.map(({ text, unit, value, met }) => (
        <Verdict
          key={text}
          name={met ? "Met" : "Missed"}
          line={{
            label: "",
            tone: met ? "good" : "bad",
            text: `${plainText(text)}: ${value === null ? "not measured" : unit === "ms" ? formatDurationOf(value) : unit === "share" ? formatShare(value) : formatNumber(value)}`,
          }}
        />
      ))}
    </ul>
  );
}

export function ChoiceAnswer({
  page,
  choice,
}: {
  readonly page: PageData;
  readonly choice: Choice;
}): JSX.Element {
  const reason = choice.reason.charAt(0).toUpperCase() + choice.reason.slice(1);
  return (
    <section class="answer" aria-label="The answer">
      {choice.winner === null ? (
        <h1 class="warn">No run is recommended.</h1>
      ) : (
        <h1>{plainText(choice.winner)} is the one to run.</h1>
      )}
      <div class="why">
        <p>{words(reason)}</p>
        {choice.because.length > 0 && <p>{words(choice.because.join(" "))}</p>}
        {choice.disagreement !== null && <p>{words(choice.disagreement)}</p>}
      </div>
      <RunTable page={page} choice={choice} />
      <ul class="verdicts">
        {verdicts(page).map(({ name, line }) => (
          <Verdict key={`${name}${line.label}`} name={name} line={line} />
        ))}
      </ul>
    </section>
  );
}

/** At most four names, and how many more. */
function namesOf(runs: readonly RunPage[]): string {
  const names = runs.slice(0, 4).map(({ name }) => plainText(name));
  return `${names.join(", ")}${runs.length > 4 ? ` and ${runs.length - 4} more` : ""}`;
}

/** One line for all runs where they agree, else one each. */
function verdicts({ runs }: PageData): { name: string; line: AnswerLine }[] {
  const lines = runs.map((run) => ({
    run,
    line: run.answer.find(({ label }) => label === "Verdict") as AnswerLine,
  }));
  const all: { name: string; line: AnswerLine }[] = [];
  if (lines.every(({ line }) => line.tone === "good")) {
    const late = Math.max(0, ...runs.map(({ summary }) => summary.validity.lateness["p99"] ?? 0));
    const simulated = runs.some(({ summary }) => summary.run.simulated) ? "; the engine is a SIMULATION" : "";
    all.push({
      name: "Verdict",
      line: {
        label: "",
        tone: "good",
        text: `all runs are valid: sends at most ${formatDurationOf(late)} late at p99${simulated}`,
      },
    });
  } else {
    const alike = new Map<string, { run: RunPage; line: AnswerLine }[]>();
    for (const one of lines) alike.set(one.line.text, [...(alike.get(one.line.text) ?? []), one]);
    for (const group of alike.values())
      all.push({ name: namesOf(group.map(({ run }) => run)), line: (group[0] as { line: AnswerLine }).line });
  }
  const groups = new Map<string, RunPage[]>();
  for (const run of runs) groups.set(run.fidelity.text, [...(groups.get(run.fidelity.text) ?? []), run]);
  for (const group of groups.values())
    all.push({
      name: groups.size === 1 ? "Fidelity" : `Fidelity of ${namesOf(group)}`,
      line: (group[0] as RunPage).fidelity,
    });
  return all;
}

function RunTable({ page, choice }: { readonly page: PageData; readonly choice: Choice }): JSX.Element {
  const mean = (run: RunPage): number => run.causes.reduce((sum, { mean_ms }) => sum + mean_ms, 0);
  const longest = Math.max(1, ...page.runs.map(mean));
  const head = page.runs[0]?.key_numbers ?? [];
  const paths = head.map(({ path }) => path);
  const causes = CAUSES.filter((cause) =>
    page.runs.some((run) => run.causes.some((row) => row.cause === cause)),
  );
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Runs side by side">
        <table class="runs">
          <thead>
            <tr>
              <th>run</th>
              {head.map(({ label, path }) => (
                <th key={path} class="n">
                  {label}
                </th>
              ))}
              <th class="wide">where the time goes, on one scale</th>
            </tr>
          </thead>
          <tbody>
            {page.runs.map((run, i) => {
              const ranked = choice.runs[i];
              return (
                <tr key={i} class={run.name === choice.winner ? "winner" : ""}>
                  <th scope="row">
                    <i class="dot" style={{ background: runColour(i) }} />
                    {plainText(run.name)}
                    {ranked?.barred != null && <small class="bad">{ranked.barred}</small>}
                  </th>
                  {paths.map((path) => {
                    const number = run.key_numbers.find((one) => one.path === path);
                    return (
                      <td
                        key={path}
                        class="n"
                        data-path={path}
                        data-label={head.find((one) => one.path === path)?.label}
                      >
                        <b class={number?.tone ?? ""}>{number?.value ?? "n/a"}</b>
                      </td>
                    );
                  })}
                  <td class="wide">
                    <CauseBar
                      parts={run.summary.jobs.breakdown_ms as Record<string, number>}
                      length={mean(run) / longest}
                      label={`Where the time goes with ${plainText(run.name)}`}
                    />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <CauseLegend causes={causes} />
    </>
  );
}

/** Statistics of both runs over the jobs ok in both, with the interval of their ratio. */
export function PairView({ page, pair }: { readonly page: PageData; readonly pair: Pair }): JSX.Element {
  const name = (run: number): string => plainText(page.runs[run]?.name ?? "");
  if (pair.refused !== null) return <p class="note">{plainText(pair.refused)}</p>;
  return (
    <div>
      <h3>
        {name(pair.b)} against {name(pair.a)}{" "}
        <small>
          over the {pair.paired_jobs} {pair.paired_jobs === 1 ? "job" : "jobs"} ok in both
        </small>
      </h3>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${name(pair.b)} against ${name(pair.a)}`}>
        <table>
          <thead>
            <tr>
              <th>statistic</th>
              <th class="n">{name(pair.a)}</th>
              <th class="n">{name(pair.b)}</th>
              <th class="n">change</th>
              <th class="n">95 % interval</th>
              <th>so it is</th>
            </tr>
          </thead>
          <tbody>
            {pair.rows
              .filter(({ a, b }) => a !== null || b !== null)
              .map((row) => (
                <tr key={row.text}>
                  <td>{row.text}</td>
                  <td class="n">{formatDurationOf(row.a)}</td>
                  <td class="n">{formatDurationOf(row.b)}</td>
                  <td class="n">{row.ratio === null ? "n/a" : formatChange(row.ratio - 1)}</td>
                  <td class="n">
                    {row.low === null || row.high === null
                      ? "n/a"
                      : `${formatChange(row.low - 1)} to ${formatChange(row.high - 1)}`}
                  </td>
                  <td>
                    <span
                      class={`state ${row.verdict === "better" ? "good" : row.verdict === "worse" ? "bad" : ""}`}
                    >
                      {row.verdict}
                    </span>
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
      {pair.concerns.length > 0 && (
        <ul class="verdicts">
          {pair.concerns.map(({ severity, text }) => (
            <Verdict
              key={text}
              name={severity}
              line={{ label: "", tone: severity === "note" ? "plain" : "warn", text: plainText(text) }}
            />
          ))}
        </ul>
      )}
      {pair.status_changes_total > 0 && (
        <p class="note">
          {pair.status_changes_total} jobs ended otherwise:{" "}
          {pair.status_changes
            .slice(0, 8)
            .map(({ job_id, a, b }) => `${plainText(job_id)} ${a} → ${b}`)
            .join(", ")}
          {pair.status_changes_total > 8 ? " …" : ""}
        </p>
      )}
      <details>
        <summary>
          What differs in options and server:{" "}
          {pair.changes.length === 0 ? "nothing" : pair.changes.map(({ key }) => plainText(key)).join(", ")}
        </summary>
        <table>
          <tbody>
            {pair.changes.map(({ key, a, b }) => (
              <tr key={key}>
                <th scope="row">{plainText(key)}</th>
                <td>{plainText(JSON.stringify(a))}</td>
                <td>{plainText(JSON.stringify(b))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  );
}
