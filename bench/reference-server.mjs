/** The C server that the client is measured against, and its C client: sources in `perf/` of the shared folder, or `--perf DIR`. */
import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { root } from "./bundle.mjs";
import { flag } from "./flag.mjs";

export const perf = resolve(flag("--perf") ?? join(root, "../shared/perf"));

/** Compiles `perf/<name>.c` into `folder`; returns the program's path. */
export function compile(name, folder) {
  const program = join(folder, name);
  execFileSync("gcc", ["-O2", "-w", "-o", program, join(perf, `${name}.c`)]);
  return program;
}

/** Listens when this returns; ends with `child.kill()`. */
export async function startReferenceServer(folder) {
  const program = compile("server", folder);
  const port = await freePort();
  const child = spawn(program, [String(port)], { stdio: "ignore" });
  await new Promise((done) => setTimeout(done, 200));
  return { port, child };
}

function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}
