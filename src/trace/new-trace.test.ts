import { expect, test } from "vitest";
import { lengthPrompt, newRecorded, newRequest } from "./new-request.ts";
import { newTrace, toldBy } from "./new-trace.ts";
import { RowAccount } from "./row-account.ts";
import type { TraceRequest } from "./trace-request.ts";

const bare = newRequest({ request_id: "a", job_id: "a", prompt: { kind: "text", text: "Hello" } });

const propertiesOf = (...requests: TraceRequest[]): string[] =>
  Object.entries(toldBy(requests)).flatMap(([property, origin]) => (origin === "recorded" ? [property] : []));

test("requests tell a property where one of them has it", () => {
  const placed = { ...bare, arrival_ms: 0, after: [], think_ms: 0, temperature: 0 };
  expect(propertiesOf()).toEqual([]);
  expect(propertiesOf(bare)).toEqual(["prompt_text", "prefix_sharing"]);
  expect(propertiesOf(bare, placed)).toEqual([
    "arrivals",
    "order",
    "think_time",
    "prompt_text",
    "prefix_sharing",
    "sampling",
  ]);
});

test("a length is told by the prompt or by what was recorded, and an output's on its own", () => {
  const counted = (counts: Parameters<typeof newRecorded>[0]): TraceRequest => ({
    ...bare,
    prompt: { kind: "messages", messages: [], tools: null },
    recorded: newRecorded(counts),
  });
  expect(propertiesOf({ ...bare, prompt: { kind: "ids", ids: [1, 2] } })).toContain("prompt_length");
  expect(propertiesOf({ ...bare, prompt: lengthPrompt(3) })).toEqual(["prompt_length"]);
  expect(propertiesOf(counted({ prompt_tokens: 7 }))).toEqual([
    "prompt_text",
    "prompt_length",
    "prefix_sharing",
  ]);
  expect(propertiesOf(counted({ output_tokens: 7 }))).toEqual([
    "prompt_text",
    "prefix_sharing",
    "output_length",
  ]);
  expect(propertiesOf({ ...bare, expected_output_tokens: 5 })).toContain("output_length");
});

test("a trace has its account's rows and faults; what its format does not name is null or missing", () => {
  const account = new RowAccount("/tmp/trace", { skipBad: true, name: "trace" });
  account.use();
  account.refuse(2, "bad");
  expect(
    newTrace("azure", account, { requests: [bare], provenance: { arrivals: "inferred" } }),
  ).toMatchObject({
    format: "azure",
    path: "/tmp/trace",
    header: null,
    requests: [bare],
    rows: { read: 2, used: 1, skipped: {}, refused: 1 },
    faults: [{ file: "trace", line: 2, reason: "bad" }],
    provenance: { arrivals: "inferred", order: "missing", sampling: "missing" },
    notes: [],
  });
});
