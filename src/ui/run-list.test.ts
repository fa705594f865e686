import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { threeJobs, writeRun } from "../../test/browser/made-run.ts";
import { UserError } from "../core/failure.ts";
import { analyzeFolder } from "../run/analyze-run.ts";
import { writeRunJson } from "../record/run-folder.ts";
import { RunList } from "./run-list.ts";
import { refusal, uiApp } from "./server.ts";

const outside = mkdtempSync(join(tmpdir(), "reprise-ui-"));
const root = join(outside, "runs");
const now = (): number => Date.now();

beforeAll(async () => {
  const done = writeRun(join(root, "done"), { records: threeJobs(), manifest: { label: "first" } });
  writeRunJson(done, "summary.json", (await analyzeFolder(done, { jobBudget: "2500ms" })).summary);
  writeRun(join(root, "deep", "er", "running"), { records: threeJobs().slice(0, 3), end: null });
  writeRun(join(root, "killed"), { records: threeJobs().slice(0, 3), end: null });
  for (const name of ["manifest.json", "records.jsonl"]) utimesSync(join(root, "killed", name), 1e9, 1e9);
  writeRun(join(root, "newer"), { records: [], manifest: { reprise_run: 7 as 1 } });
  writeRun(join(outside, "secret"), { records: threeJobs() });
  writeFileSync(join(outside, "secret.txt"), "secret");
  symlinkSync(join(outside, "secret"), join(root, "link"));
  symlinkSync(join(outside, "secret.txt"), join(root, "done", "link.txt"));
  mkdirSync(join(root, "sweep", "runs"), { recursive: true });
  writeFileSync(join(root, "sweep", "sweep.json"), "{}");
  writeFileSync(
    join(root, "sweep", "comparison.json"),
    JSON.stringify({ winner: "b=8", reason: "why", cells: [{}, {}] }),
  );
  writeRun(join(root, "sweep", "runs", "b-8-r1"), { records: threeJobs() });
});
afterAll(() => rmSync(outside, { recursive: true, force: true }));

describe("the list of runs", () => {
  it("finds runs and sweeps at any depth, with their state and their numbers", async () => {
    const { runs, sweeps } = await new RunList(root, now).list();
    const states = Object.fromEntries(runs.map(({ id, state }) => [id, state]));
    expect(states).toEqual({
      done: "done",
      "deep/er/running": "running",
      killed: "unfinished",
      newer: "unreadable",
      "sweep/runs/b-8-r1": "done",
    });
    const done = runs.find(({ id }) => id === "done");
    expect(done).toMatchObject({ name: "first", verdict: "valid", failed: 0, jobs: 3 });
    expect(done?.job_p95_ms).toBeCloseTo(2900, 6);
    expect(done?.budget_miss_rate).toBeCloseTo(1 / 3, 9);
    expect(runs.find(({ id }) => id === "newer")?.note).toContain("newer version");
    expect(sweeps).toEqual([
      { id: "sweep", winner: "b=8", reason: "why", cells: 2, runs: ["sweep/runs/b-8-r1"] },
    ]);
  });

  it("gives out folders of its own runs only", () => {
    const list = new RunList(root, now);
    expect(list.folderOf("done")).not.toBeNull();
    expect(list.folderOf("deep/er/running")).not.toBeNull();
    for (const id of [
      "",
      "..",
      "../secret",
      "done/../../secret",
      "/etc",
      "link",
      "done/",
      "./done",
      "done\0",
      "..\\secret",
      "%2e%2e",
      "sweep",
      "nothing",
    ])
      expect(list.folderOf(id), id).toBeNull();
  });

  it("takes a run's own folder, and refuses what is no folder", async () => {
    const list = new RunList(join(root, "done"), now);
    expect((await list.list()).runs.map(({ id }) => id)).toEqual(["."]);
    expect(list.folderOf(".")).not.toBeNull();
    expect(() => new RunList(join(root, "nothing"), now)).toThrow(UserError);
    expect(() => new RunList(join(root, "done", "manifest.json"), now)).toThrow(UserError);
  });

  it("lists a thousand runs quickly, again without reading them", async () => {
    const many = join(outside, "many");
    for (let i = 0; i < 1000; i++) writeRun(join(many, `run-${i}`), { records: [] });
    const list = new RunList(many, now);
    expect((await list.list()).runs).toHaveLength(1000);
    const began = performance.now();
    await list.list();
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

describe("the server", () => {
  const app = (): ReturnType<typeof uiApp> => uiApp(new RunList(root, now), now);
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    Promise.resolve(app().request(path, { headers: { host: "127.0.0.1:7878", ...headers } }));

  it("shows pages and files", async () => {
    expect((await get("/")).status).toBe(200);
    expect((await (await get("/api/runs")).json()) as object).toMatchObject({ cut: false });
    const file = await get("/file?run=done&name=summary.json");
    expect(file.status).toBe(200);
    expect(((await file.json()) as { reprise_summary: number }).reprise_summary).toBe(1);
    expect(file.headers.get("x-content-type-options")).toBe("nosniff");
    expect(file.headers.get("content-security-policy")).toContain("sandbox");
    const page = await get("/report?run=done&run=sweep%2Fruns%2Fb-8-r1");
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("page-data");
    expect(((await (await get("/api/live?run=killed")).json()) as { over: boolean }).over).toBe(false);
  });

  it("lets nobody out of the folder", async () => {
    for (const path of [
      "/file?run=done&name=link.txt",
      "/file?run=done&name=../newer/manifest.json",
      "/file?run=done&name=..%2F..%2Fsecret.txt",
      "/file?run=..%2Fsecret&name=manifest.json",
      "/file?run=link&name=manifest.json",
      "/file/../../secret.txt",
      "/report?run=..%2Fsecret",
      "/live?run=..%2Fsecret",
      "/api/live?run=link",
    ])
      expect((await get(path)).status, path).toBe(404);
    expect((await get("/report")).status).toBe(422);
    expect((await get("/report?run=newer")).status).toBe(422);
  });

  it("answers to its own names only, and only to reading", async () => {
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil.example:80",
      "127.0.0.1:80@evil",
      "",
      "0.0.0.0:7878",
    ])
      expect((await get("/api/runs", { host })).status, host).toBe(403);
    for (const host of ["127.0.0.1:1", "localhost:9", "LOCALHOST", "[::1]:3"])
      expect((await get("/api/runs", { host })).status, host).toBe(200);
    const post = await app().request("/api/runs", { method: "POST", headers: { host: "localhost" } });
    expect(post.status).toBe(403);
    const crossing = { host: "localhost", "sec-fetch-site": "cross-site" };
    expect(refusal("GET", (name) => ({ ...crossing, "sec-fetch-mode": "no-cors" })[name])).not.toBeNull();
    expect(refusal("GET", (name) => ({ ...crossing, "sec-fetch-mode": "navigate" })[name])).toBeNull();
  });
});
