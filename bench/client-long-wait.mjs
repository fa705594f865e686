/** The long real run of case 24 (headers after 310 s, time limit 600 s): `node bench/client-long-wait.mjs [SECONDS]`. Outside `npm test`. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const outfile = `${root}bench/.client-long-wait.${process.pid}.mjs`;
try {
  const entry = `${root}bench/client-long-wait.ts`;
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  process.exitCode =
    spawnSync(process.execPath, [outfile, process.argv[2] ?? "310"], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(outfile, { force: true });
}
