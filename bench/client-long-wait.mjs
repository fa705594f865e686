/** The long real run of case 24 (headers after 310 s, time limit 600 s): `node bench/client-long-wait.mjs [SECONDS]`. Outside `npm test`. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "./bundle.mjs";

const folder = mkdtempSync(join(tmpdir(), "reprise-long-wait-"));
try {
  const outfile = join(folder, "client-long-wait.mjs");
  await bundle(outfile, "bench/client-long-wait.ts");
  process.exitCode =
    spawnSync(process.execPath, [outfile, process.argv[2] ?? "310"], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
