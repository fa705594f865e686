/** Runs the built command line as its users do. `npm test` builds it first. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Told while the command runs. */
  readonly onStderr?: (all: string, kill: (signal: NodeJS.Signals) => void) => void;
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder of this test file's own, removed at its end. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "reprise-cli-"));
  folders.push(folder);
  return folder;
}

export function cli(words: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  if (!existsSync(CLI)) throw new Error("dist/cli.js is missing: run npm run build first");
  return new Promise((resolve, reject) => {
    const { OPENAI_API_KEY: _key, ...env } = process.env;
    const child = spawn(process.execPath, [CLI, ...words], {
      cwd: options.cwd ?? scratch(),
      env: { ...env, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      options.onStderr?.(stderr, (signal) => child.kill(signal));
    });
    child.stdin.end(options.input ?? "");
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** Writes rows as JSONL into a new file and returns its path. */
export function traceFile(rows: readonly object[], name = "trace.jsonl"): string {
  const path = join(scratch(), name);
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return path;
}

/** Everything written below `folder`, as one text. */
export function allText(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
}

export function readJsonLines(path: string): Record<string, unknown>[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
