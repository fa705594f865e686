/** The record of one request, as the log has it. All of it is foreign text, shown as text. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { plainText } from "./format.ts";
import type { Jobs } from "./jobs.ts";

export function RecordView({ jobs, turn }: { readonly jobs: Jobs; readonly turn: number }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [turn]);
  const record = jobs.record(turn);
  if (record === null)
    return (
      <div class="record">
        <h4 ref={heading} tabIndex={-1}>
          Record
        </h4>
        <p class="note">
          The record of this turn is not in this page; it is in records.jsonl of the run’s folder.
        </p>
      </div>
    );
  return (
    <div class="record">
      <h4 ref={heading} tabIndex={-1}>
        Record of {plainText(typeof record["request_id"] === "string" ? record["request_id"] : "")}
      </h4>
      <dl>
        {Object.entries(record).map(([key, value]) => (
          <div key={key}>
            <dt>{plainText(key)}</dt>
            <dd>
              {typeof value === "string" ? (
                <Text text={value} />
              ) : (
                <code>{plainText(JSON.stringify(value))}</code>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Line feeds stay; anything else that could steer is shown as its code. */
function Text({ text }: { readonly text: string }): JSX.Element {
  return (
    <pre>
      {text
        .split("\n")
        .map((line) => plainText(line))
        .join("\n")}
    </pre>
  );
}
