/** Whatever a log holds, a page comes out of it, whole, with numbers and `null` only. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { record, threeJobs, timed, writeRun } from "../../../test/browser/made-run.ts";
import { Columns } from "../../../web/columns.ts";
import { Jobs } from "../../../web/jobs.ts";
import { readEngineRows } from "../../record/engine-rows.ts";
import { readRun } from "../../record/read-run.ts";
import type { RequestRecord } from "../../record/request-record.ts";
import { analyzeRun } from "../../metric/summarize.ts";
import { DETAIL_LIMITS, type DetailLimits } from "./detail.ts";
import { type PackedRun, packRun } from "./run-page.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-pack-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;

async function pack(
  records: readonly RequestRecord[],
  limits: DetailLimits = DETAIL_LIMITS,
): Promise<PackedRun> {
  const run = await readRun(writeRun(join(folder, String(made++)), { records }));
  const analysis = await analyzeRun({ manifest: run.manifest, jobs: run.jobs(), records: run.records() });
  return packRun({
    name: "run",
    folder: "run",
    analysis,
    records: () => run.records(),
    engineRows: () => readEngineRows(run.folder),
    bands: {},
    limits,
  });
}

function unpack({ page, pieces }: PackedRun): Jobs {
  if (page.detail === null) throw new Error("the run has jobs");
  const bytes = gunzipSync(Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))));
  return new Jobs(new Columns(bytes, page.detail.directory));
}

describe("a packed run", () => {
  it("gives back its jobs, turns and records", async () => {
    const jobs = unpack(await pack(threeJobs()));
    expect(jobs.ids).toEqual(["job-0", "job-1", "job-2"]);
    expect([...jobs.length]).toEqual([1000, 2000, 3000]);
    expect([...jobs.causes.tool]).toEqual([600, 600, 600]);
    // Two turns of 50 prompt tokens, none from a cache; what could have been is not known.
    expect([...jobs.hitRate]).toEqual([0, 0, 0]);
    expect([...jobs.optimalHitRate]).toEqual([NaN, NaN, NaN]);
    expect(jobs.turnsOf(2)).toEqual([4, 5]);
    expect(jobs.turn.e2e[5]).toBe(1200);
    expect(jobs.record(5)).toMatchObject({ request_id: "j2/1", think_ms: 600 });
    expect(jobs.record(5)).not.toHaveProperty("chunk_ms");
  });

  it("is thinned to its limits, failed and slow jobs first, and says so", async () => {
    const records = Array.from({ length: 200 }, (_, i) =>
      record({
        ...timed(i, 1, i === 150 ? 9000 : 100),
        request_id: `r${i}`,
        job_id: `j${i}`,
        ...(i === 77
          ? { status: "failed" as const, failure: { code: "reset" as const, message: "", http_status: null } }
          : {}),
      }),
    );
    const packed = await pack(records, { jobs: 50, turns: 20, records: 4000 });
    const jobs = unpack(packed);
    expect(jobs.n).toBe(50);
    expect(jobs.ids).toContain("j77");
    expect(jobs.ids).toContain("j150");
    expect(jobs.turn.n).toBe(20);
    const { left_out, detail, summary, failures } = packed.page;
    expect(left_out.join()).toMatch(/50 of 200 jobs.*20 of 200 turns/);
    expect(detail).toMatchObject({ jobs_total: 200, turns_total: 200 });
    // The numbers stand on all of them.
    expect(summary.counts.planned).toBe(200);
    expect(packed.page.histograms["e2e"]?.n).toBe(199);
    expect(failures).toEqual([{ code: "reset", n: 1, messages: [{ text: "", n: 1 }] }]);
    // An even sample: jobs from every quarter of the run.
    const quarter = new Set(jobs.ids.map((id) => Math.floor(Number(id.slice(1)) / 50)));
    expect(quarter.size).toBe(4);
  });

  it("comes out of any log, without NaN in its JSON", async () => {
    const time = fc.option(
      fc.oneof(
        fc.integer({ min: -10, max: 10_000 }),
        fc.double({ min: 0, max: 1e17, noNaN: true }).map(wholeMicroseconds),
      ),
      { nil: null },
    );
    const any = fc.record({
      request_id: fc.string(),
      job_id: fc.constantFrom("a", "b", "</script>"),
      turn: fc.integer({ min: 0, max: 3 }),
      status: fc.constantFrom("ok" as const, "failed" as const, "cancelled" as const, "skipped" as const),
      intended_ms: time,
      slot_ms: time,
      sent_ms: time,
      first_token_ms: time,
      last_token_ms: time,
      end_ms: time,
      prompt_tokens: fc.option(fc.nat(), { nil: null }),
      output_tokens: fc.option(fc.nat(100), { nil: null }),
      after: fc.array(fc.string(), { maxLength: 2 }),
    });
    const selector = ({ request_id }: { readonly request_id: string }): string => request_id;
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(any, { minLength: 1, maxLength: 12, selector }), async (rows) => {
        const packed = await pack(
          rows.map((row) => {
            // No log tells of an end before the send.
            const end_ms = row.end_ms === null ? null : Math.max(row.end_ms, row.sent_ms ?? row.end_ms);
            return record({ ...row, end_ms, chunk_ms: [], chunks: 0 });
          }),
        );
        const jobs = unpack(packed);
        expect(jobs.turn.n).toBe(rows.length);
        // JSON writes NaN as null where a number is promised; what is sent must not hold any.
        walk(packed.page, (value) => expect(Number.isFinite(value)).toBe(true));
      }),
      { numRuns: 60 },
    );
  });
});

function walk(value: unknown, visit: (value: number) => void): void {
  if (typeof value === "number") visit(value);
  else if (value !== null && typeof value === "object")
    for (const inner of Object.values(value)) walk(inner, visit);
}

/** As the log writes times. */
function wholeMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
