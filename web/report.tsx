/** The page of one run or several. */
import { render, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { PageData } from "../src/report/html/page-data.ts";
import { runColour } from "./chart.tsx";
import { DistributionChart, type DistributionSeries } from "./distribution.tsx";
import { ChoiceAnswer, PairView, SingleAnswer } from "./first-screen.tsx";
import { plainText } from "./format.ts";
import { JobDiff } from "./job-diff.tsx";
import { Pareto } from "./pareto.tsx";
import { RunSections, distributionOf, oneBudget, titleOf } from "./run-sections.tsx";

function App({ page }: { readonly page: PageData }): JSX.Element {
  const [shown, setShown] = useState(0);
  const [whole, setWhole] = useState(false);
  // The answer is painted first; the rest follows in a task of its own.
  useEffect(() => {
    const timer = setTimeout(() => setWhole(true), 0);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    if (whole && location.hash.length > 1) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [whole]);
  const several = page.runs.length > 1;
  const run = page.runs[shown] as PageData["runs"][number];
  return (
    <>
      <a class="skip" href="#main">
        Skip to the answer
      </a>
      <header class="top">
        <span class="brand">Reprise</span>
        {page.home !== null && <a href={page.home}>all runs</a>}
        <span class="what">{several ? `${page.runs.length} runs` : plainText(run.name)}</span>
        {page.runs.some(({ summary }) => summary.run.simulated) && (
          <span class="badge">simulated engine</span>
        )}
        {page.runs.some(({ summary }) => summary.run.partial) && <span class="badge warn">not finished</span>}
        {page.runs.some(({ summary }) => summary.run.interrupted) && (
          <span class="badge warn">interrupted</span>
        )}
      </header>
      <main id="main" {...(whole ? {} : { "data-pending": "true" })}>
        {page.choice === null ? (
          <SingleAnswer run={run} />
        ) : (
          <ChoiceAnswer page={page} choice={page.choice} />
        )}
        <Contents several={several} />
        {whole && page.choice !== null && (
          <>
            <section id="overlay">
              <h2>Distributions over each other</h2>
              <div class="grid-2">
                {["job_e2e", "ttft", "tpot", "e2e"].map((id) => (
                  <Overlay key={id} page={page} id={id} />
                ))}
              </div>
            </section>
            <section id="pareto">
              <h2>Throughput against interactivity</h2>
              <div class="card">
                <Pareto choice={page.choice} />
              </div>
            </section>
            <section id="pairs">
              <h2>Paired by job</h2>
              {page.pairs.map((pair) => (
                <div key={pair.b} class="card">
                  <PairView page={page} pair={pair} />
                </div>
              ))}
            </section>
            <section id="diff">
              <h2>The same job, side by side</h2>
              <div class="card">
                <JobDiff page={page} />
              </div>
            </section>
            <div class="tabs" role="tablist" aria-label="Run in detail">
              {page.runs.map((one, i) => (
                <button
                  key={i}
                  type="button"
                  role="tab"
                  id={`tab-${i}`}
                  aria-selected={i === shown}
                  aria-controls="run-detail"
                  onClick={() => setShown(i)}
                >
                  <i class="dot" style={{ background: runColour(i) }} />
                  {plainText(one.name)}
                </button>
              ))}
            </div>
          </>
        )}
        {whole && several && (
          <div id="run-detail" role="tabpanel" aria-labelledby={`tab-${shown}`}>
            <RunSections key={shown} run={run} index={shown} several={several} />
          </div>
        )}
        {whole && !several && <RunSections run={run} index={0} several={several} />}
      </main>
      <footer>
        Reprise {page.version}. {page.runs.map(({ folder }) => plainText(folder)).join(", ")}. All times in
        the page count from the run’s start.
      </footer>
    </>
  );
}

function Contents({ several }: { readonly several: boolean }): JSX.Element {
  const own = [
    ["causes", "Where time goes"],
    ["jobs", "Jobs"],
    ["requests", "Requests"],
    ["time", "Over time"],
    ["cache", "Cache"],
    ["failures", "Failures"],
    ["generator", "Load generator"],
    ["numbers", "Numbers"],
    ["options", "Options"],
  ] as const;
  const more = [
    ["overlay", "Distributions"],
    ["pareto", "Pareto"],
    ["pairs", "Paired"],
    ["diff", "Job diff"],
  ] as const;
  return (
    <nav class="contents" aria-label="Contents">
      {[...(several ? more : []), ...own].map(([id, title]) => (
        <a key={id} href={`#${id}`}>
          {title}
        </a>
      ))}
    </nav>
  );
}

/** Above this many, bands would cover each other. */
const MOST_BANDS = 4;

function Overlay({ page, id }: { readonly page: PageData; readonly id: string }): JSX.Element | null {
  const series = page.runs.flatMap((run, i): DistributionSeries[] => {
    const histogram = run.histograms[id];
    return histogram === undefined
      ? []
      : [
          {
            name: plainText(run.name),
            histogram,
            distribution: distributionOf(run, id),
            band: page.runs.length <= MOST_BANDS ? run.bands[id] : undefined,
            colour: runColour(i),
          },
        ];
  });
  if (series.length === 0) return null;
  const budgets = new Set(page.runs.map(({ budget_ms }) => budget_ms));
  const budget =
    id === "job_e2e" && budgets.size === 1 && page.runs[0] !== undefined ? oneBudget(page.runs[0]) : null;
  return (
    <figure class="card">
      <figcaption>
        {titleOf(id)}{" "}
        {series.some(({ band }) => band !== undefined) && <span>with 95 % bands, jobs resampled</span>}
      </figcaption>
      <DistributionChart
        title={titleOf(id)}
        unit="ms"
        series={series}
        bound={budget === null ? null : { at: budget.at, label: budget.label.split(":")[0] as string }}
      />
    </figure>
  );
}

const data = document.getElementById("page-data")?.textContent;
const root = document.getElementById("app");
if (data == null || root === null) throw new Error("the page is not whole");
root.replaceChildren();
render(<App page={JSON.parse(data) as PageData} />, root);
