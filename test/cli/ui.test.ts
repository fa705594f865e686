/** The local server through the command line, alone and beside a run. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { threeJobs, writeRun } from "../browser/made-run.ts";
import { cli, scratch, traceFile } from "./run-cli.ts";

describe("reprise ui", () => {
  it("tells its address, serves, and stops on an interrupt", async () => {
    const folder = scratch();
    writeRun(join(folder, "a"), { records: threeJobs() });
    const result = await cli(["ui", folder, "--port", "0"], {
      onStderr: (_all, kill) => void setTimeout(() => kill("SIGINT"), 150),
    });
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\n$/);
  });

  it("refuses a folder that is not there", async () => {
    const result = await cli(["ui", join(scratch(), "nothing"), "--port", "0"]);
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/is no folder/);
  });
});

describe("reprise replay --ui", () => {
  it("shows the run while it goes, and ends with it where nobody sits at a terminal", async () => {
    const trace = traceFile(
      Array.from({ length: 6 }, (_, i) => ({
        timestamp: i * 500,
        input_length: 1024,
        output_length: 40,
        hash_ids: [i, i + 10],
      })),
    );
    const seen: Promise<unknown>[] = [];
    let url = "";
    const out = join(scratch(), "run");
    const result = await cli(
      ["replay", trace, "--backend", "sim", "--pacing", "recorded", "--seed", "1", "--out", out, "--ui"],
      {
        onStderr: (all) => {
          url = /live page: (\S+)\n/.exec(all)?.[1] ?? "";
          if (url !== "" && seen.length === 0)
            seen.push(fetch(url.replace("/live?", "/api/live?")).then((reply) => reply.json()));
        },
      },
    );
    expect(result.code, result.stderr).toBe(0);
    expect(await seen[0]).toMatchObject({ planned_requests: 6, over: false });
    await expect(fetch(url)).rejects.toThrow();
  });
});
