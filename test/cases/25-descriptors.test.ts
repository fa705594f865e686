import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { DONE, FIN, R } from "../stub/events.ts";
import { startStub } from "../stub/stub-server.ts";
import { response } from "../stub/wire.ts";

it.skipIf(process.platform === "win32")(
  "case 25: with 64 descriptors and 200 requests at once the fault is the client's, never the server's",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-descriptors-"));
    const stub = await startStub(() => [{ at: 500, bytes: response([R("A") + FIN("stop") + DONE]) }]);
    try {
      const outfile = join(folder, "child.mjs");
      await build({
        entryPoints: [new URL("../stub/many-requests-child.ts", import.meta.url).pathname],
        outfile,
        bundle: true,
        platform: "node",
        format: "esm",
        logLevel: "silent",
      });
      const { stdout } = await promisify(execFile)("sh", [
        "-c",
        `ulimit -n 64 && exec "${process.execPath}" "$0" "$1"`,
        outfile,
        stub.url,
      ]);
      const codes = JSON.parse(stdout) as Record<string, number>;
      expect(Object.keys(codes).sort()).toEqual(["client_resource", "ok"]);
      expect((codes["client_resource"] as number) + (codes["ok"] as number)).toBe(200);
      expect(codes["ok"]).toBe(stub.requests.length);
    } finally {
      await stub.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
