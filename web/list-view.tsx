/** All runs and sweeps of the folder; tick some to compare them. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ListedRun, ListedSweep, Listing } from "../src/ui/run-list.ts";
import { formatCount, formatDurationOf, formatNumber, formatShare, plainText } from "./format.ts";
import { usePoll } from "./poll.ts";

const PAGE = 100;
const MOST = 16;

export function reportHref(ids: readonly string[]): string {
  return `/report?${ids.map((id) => `run=${encodeURIComponent(id)}`).join("&")}`;
}

export function ListView(): JSX.Element {
  const { value, error } = usePoll<Listing>("/api/runs", 5000);
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const [filter, setFilter] = useState("");
  const [shown, setShown] = useState(PAGE);
  if (value === null) return <p class="note">{error ?? "Looking for runs…"}</p>;
  const wanted = filter.trim().toLowerCase();
  const runs = value.runs.filter((run) =>
    wanted === ""
      ? true
      : `${run.id} ${run.name} ${run.model} ${run.trace} ${run.state}`.toLowerCase().includes(wanted),
  );
  const running = value.runs.filter(({ state }) => state === "running").length;
  return (
    <section aria-label="Runs">
      <h1 class="quiet">
        {value.runs.length === 0
          ? `No run below ${plainText(value.folder)} yet.`
          : `${formatCount(value.runs.length)} ${value.runs.length === 1 ? "run" : "runs"}${running > 0 ? `, ${running} under way` : ""}`}
      </h1>
      {error !== null && <p class="note bad">{plainText(error)}</p>}
      {value.runs.length === 0 && (
        <p class="note">
          Start with <code>reprise demo</code>, or{" "}
          <code>reprise replay TRACE --base-url http://host:8000</code>. This page finds new runs by itself.
        </p>
      )}
      {value.sweeps.map((sweep) => (
        <Sweep key={sweep.id} sweep={sweep} />
      ))}
      {value.runs.length > 0 && (
        <>
          <div class="toolbar">
            <label>
              Find{" "}
              <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
            </label>
          </div>
          <div class="scroll">
            <table class="runs-list">
              <thead>
                <tr>
                  <th>
                    <span class="hidden">compare</span>
                  </th>
                  <th>run</th>
                  <th>state</th>
                  <th class="n">job time p95</th>
                  <th class="n">over budget</th>
                  <th class="n">jobs/h</th>
                  <th class="n">failed</th>
                  <th>model and trace</th>
                  <th>files</th>
                </tr>
              </thead>
              <tbody>
                {runs.slice(0, shown).map((run) => (
                  <Row
                    key={run.id}
                    run={run}
                    ticked={ticked.includes(run.id)}
                    onTick={(on) =>
                      setTicked(on ? [...ticked, run.id] : ticked.filter((id) => id !== run.id))
                    }
                  />
                ))}
              </tbody>
            </table>
          </div>
          {runs.length > shown && (
            <p>
              <button type="button" onClick={() => setShown(shown + PAGE)}>
                {formatCount(runs.length - shown)} more
              </button>
            </p>
          )}
          <div class="compare-bar" aria-live="polite">
            {ticked.length > 0 && ticked.length <= MOST ? (
              <a class="button" href={reportHref(ticked)}>
                {ticked.length > 1 ? `Compare ${ticked.length} runs` : "Open"}
              </a>
            ) : (
              <button type="button" disabled>
                Compare
              </button>
            )}
            <span class="note">
              {ticked.length === 0
                ? "Tick two runs or more to compare them; the first ticked is the base."
                : ticked.length > MOST
                  ? `At most ${MOST} at once.`
                  : ticked.map(plainText).join(", ")}
            </span>
            {ticked.length > 0 && (
              <button type="button" onClick={() => setTicked([])}>
                clear
              </button>
            )}
          </div>
        </>
      )}
      {value.cut && <p class="note">Folders deeper than four levels were not looked into.</p>}
    </section>
  );
}

const STATES: Readonly<Record<ListedRun["state"], { readonly title: string; readonly tone: string }>> = {
  running: { title: "under way", tone: "good" },
  done: { title: "done", tone: "" },
  interrupted: { title: "interrupted", tone: "warn" },
  unfinished: { title: "has no end", tone: "warn" },
  unreadable: { title: "cannot be read", tone: "bad" },
};

function Row({
  run,
  ticked,
  onTick,
}: {
  readonly run: ListedRun;
  readonly ticked: boolean;
  readonly onTick: (on: boolean) => void;
}): JSX.Element {
  const name = plainText(run.name);
  const state = STATES[run.state];
  const readable = run.state !== "unreadable";
  const href = run.state === "running" ? `/live?run=${encodeURIComponent(run.id)}` : reportHref([run.id]);
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${name}`}
          checked={ticked}
          disabled={!readable}
          onChange={(event) => onTick(event.currentTarget.checked)}
        />
      </td>
      <td>
        {readable ? <a href={href}>{name}</a> : name}
        <small>
          {run.name === run.id ? "" : `${plainText(run.id)} · `}
          {run.started_at === null ? "" : plainText(run.started_at.slice(0, 16).replace("T", " "))}
        </small>
        {run.note !== null && <small class="bad">{plainText(run.note)}</small>}
      </td>
      <td>
        <span class={`state ${state.tone}`}>{state.title}</span>
        {run.verdict !== null && run.verdict !== "valid" && (
          <small class="warn">{plainText(run.verdict)}</small>
        )}
        {run.simulated && <small>simulated</small>}
      </td>
      <td class="n" data-label="job time p95">
        {formatDurationOf(run.job_p95_ms)}
      </td>
      <td class="n" data-label="over budget">
        {formatShare(run.budget_miss_rate)}
      </td>
      <td class="n" data-label="jobs/h">
        {formatNumber(run.jobs_per_hour)}
      </td>
      <td class="n" data-label="failed">
        {formatCount(run.failed)}
      </td>
      <td>
        {plainText(run.model ?? "")}
        <small title={plainText(run.trace ?? "")}>{plainText(run.trace?.split("/").at(-1) ?? "")}</small>
      </td>
      <td>
        <Files id={run.id} />
      </td>
    </tr>
  );
}

function Files({ id }: { readonly id: string }): JSX.Element {
  const [files, setFiles] = useState<readonly { name: string; bytes: number }[] | null>(null);
  const load = async (open: boolean): Promise<void> => {
    if (!open || files !== null) return;
    const reply = await fetch(`/api/files?run=${encodeURIComponent(id)}`);
    setFiles(reply.ok ? ((await reply.json()) as { name: string; bytes: number }[]) : []);
  };
  return (
    <details onToggle={(event) => void load(event.currentTarget.open)}>
      <summary>files</summary>
      <ul class="files">
        {(files ?? []).map(({ name, bytes }) => (
          <li key={name}>
            <a href={`/file?run=${encodeURIComponent(id)}&name=${encodeURIComponent(name)}`}>
              {plainText(name)}
            </a>{" "}
            <small>{formatNumber(bytes / 1024)} KiB</small>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Sweep({ sweep }: { readonly sweep: ListedSweep }): JSX.Element {
  const few = sweep.runs.slice(0, MOST);
  return (
    <div class="card">
      <h2 class="small">Sweep {plainText(sweep.id)}</h2>
      <p>
        {sweep.winner === null ? "No winner yet. " : <b>{plainText(sweep.winner)} wins. </b>}
        {sweep.reason === null ? "" : plainText(sweep.reason)}
      </p>
      {few.length > 0 && (
        <a href={reportHref(few)}>
          {few.length < sweep.runs.length
            ? `the first ${few.length} of its ${sweep.runs.length} runs side by side`
            : `its ${few.length} runs side by side`}
        </a>
      )}
    </div>
  );
}
