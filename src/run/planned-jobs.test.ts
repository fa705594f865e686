import { expect, it } from "vitest";
import { row } from "../../test/support/trace-row.ts";
import { planTrace } from "../plan/plan-trace.ts";
import type { RequestRecord } from "../record/request-record.ts";
import { resolveJobs } from "../trace/jobs.ts";
import { plannedJobRecords } from "./planned-jobs.ts";

it("works out how long a join of very many turns takes unloaded", () => {
  const ids = Array.from({ length: 150_000 }, (_, i) => `r${i}`);
  const rows = [
    ...ids.map((id) => row(id, "j", { arrival_ms: 0, after: [] })),
    row("join", "j", { arrival_ms: 100, after: ids, think_ms: 5 }),
  ];
  const plan = planTrace(resolveJobs(rows), { pacing: "jobs" });
  const alone = [...ids, "join"].map(
    (request_id, i) => ({ request_id, status: "ok", sent_ms: 0, end_ms: i === 7 ? 30 : 20 }) as RequestRecord,
  );
  expect([...plannedJobRecords(plan, alone)]).toMatchObject([{ turns: 150_001, unloaded_ms: 30 + 5 + 20 }]);
});
