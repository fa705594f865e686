/** Failures of a run by kind, with the first messages of each. */
import type { JSX } from "preact";
import type { RunPage } from "../src/report/html/page-data.ts";
import { formatCount, formatShare, plainText } from "./format.ts";

export function Failures({ run }: { readonly run: RunPage }): JSX.Element {
  const { counts } = run.summary;
  const others = [
    [counts.cancelled, "cut by the run’s end"],
    [counts.skipped, "skipped, since a turn before them failed"],
    [counts.not_sent, "never sent"],
  ] as const;
  const rest = others.filter(([n]) => n > 0).map(([n, what]) => `${formatCount(n)} ${what}`);
  return (
    <div class="card">
      {run.failures.length === 0 ? (
        <p class="note">No request failed{rest.length > 0 ? `; ${rest.join(", ")}` : ""}.</p>
      ) : (
        <>
          <table>
            <thead>
              <tr>
                <th>kind</th>
                <th class="n">requests</th>
                <th>messages</th>
              </tr>
            </thead>
            <tbody>
              {run.failures.map(({ code, n, messages }) => (
                <tr key={code}>
                  <th scope="row">{plainText(code)}</th>
                  <td class="n">{formatCount(n)}</td>
                  <td>
                    {messages.slice(0, 5).map(({ text, n: times }) => (
                      <div key={text}>
                        {plainText(text)} <small>× {formatCount(times)}</small>
                      </div>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <p class="note">
            {formatShare(counts.sent === 0 ? null : counts.failed / counts.sent)} of the requests sent failed.
            They are in none of the latencies
            {rest.length > 0 ? `. Besides: ${rest.join(", ")}` : ""}.
          </p>
        </>
      )}
    </div>
  );
}
