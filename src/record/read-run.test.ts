import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { manifest as manifestOf, runEnd } from "../../test/support/run-samples.ts";
import { UserError } from "../core/failure.ts";
import { secrets } from "../core/secret.ts";
import { readJobs, writeJobs } from "./jobs-file.ts";
import { endManifest, writeManifest } from "./manifest-file.ts";
import type { PlannedJobRecord } from "./manifest.ts";
import { readRun } from "./read-run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-run-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const manifest = manifestOf({
  plan: { requests: 2, jobs: 1, span_ms: 0 },
  end: null,
  more: { options: { header: ["X-Key=sk-SECRETVALUE"] }, seeds: { arrivals: 1 } },
});
const END = runEnd({ ended_ms: 10, interrupted: true, not_sent: 1 });

it("writes a manifest, then its end, with secrets out", async () => {
  secrets.add("sk-SECRETVALUE");
  writeManifest(folder, manifest);
  expect(readFileSync(join(folder, "manifest.json"), "utf8")).not.toContain("SECRETVALUE");
  expect((await readRun(folder)).partial).toBe(true);
  endManifest(folder, manifest, END);
  const run = await readRun(join(folder, "manifest.json"));
  expect(run.folder).toBe(folder);
  expect(run.partial).toBe(false);
  expect(run.manifest.end?.interrupted).toBe(true);
  expect(run.manifest.plan).toEqual(manifest.plan);
  expect(readdirSync(folder)).toEqual(["manifest.json"]);
  expect(run.calibration()).toBeNull();
});

it.skipIf(process.platform !== "linux")("writes the end of a run on a full disk too", async () => {
  writeManifest(folder, manifest);
  // The new file cannot be written; the old one has room in its block.
  symlinkSync("/dev/full", join(folder, "manifest.json.tmp"));
  endManifest(folder, manifest, END);
  expect((await readRun(folder)).manifest.end).toMatchObject({ interrupted: true, not_sent: 1 });
  expect(readdirSync(folder)).toEqual(["manifest.json"]);
  // Nothing else is written over.
  symlinkSync("/dev/full", join(folder, "manifest.json.tmp"));
  expect(() => writeManifest(folder, manifest)).toThrow(/no space left/);
  expect((await readRun(folder)).partial).toBe(false);
});

it.each([
  ["newer version", JSON.stringify({ ...manifest, reprise_run: 2 }), /newer version/],
  ["no version", JSON.stringify({ ...manifest, reprise_run: "x" }), /reprise_run/],
  ["no plan", JSON.stringify({ ...manifest, plan: undefined }), /plan/],
  ["half a file", JSON.stringify(manifest).slice(0, 90), /not JSON/],
])("refuses a manifest: %s", async (_name, text, message) => {
  writeFileSync(join(folder, "manifest.json"), text);
  await expect(readRun(folder)).rejects.toThrow(UserError);
  await expect(readRun(folder)).rejects.toThrow(message);
});

it("says what a folder without a manifest is", async () => {
  await expect(readRun(folder)).rejects.toThrow(/not a run folder/);
  await expect(readRun(join(folder, "nowhere"))).rejects.toThrow(/not a run folder/);
});

it("writes and reads jobs", async () => {
  const jobs: PlannedJobRecord[] = Array.from({ length: 2500 }, (_, i) => ({
    job_id: `j${i}`,
    turns: i,
    budget_ms: i % 2 === 0 ? 1000 : null,
    start_ms: i,
    recorded_ms: null,
    optimal_hit_rate: 0.5,
  }));
  writeJobs(folder, jobs);
  const read: PlannedJobRecord[] = [];
  for await (const batch of readJobs(folder)) read.push(...batch);
  expect(read).toEqual(jobs);
  expect(() => writeJobs(folder, jobs)).toThrow();
});
