/** The packed details of a run, taken from the page piece by piece so that no task is long. */
import type { RunPage } from "../src/report/html/page-data.ts";
import { Columns } from "./columns.ts";

const loading = new Map<number, Promise<Columns | null>>();

export function loadColumns(run: number, page: RunPage): Promise<Columns | null> {
  let columns = loading.get(run);
  if (columns === undefined) {
    columns = load(run, page);
    loading.set(run, columns);
  }
  return columns;
}

async function load(run: number, { detail }: RunPage): Promise<Columns | null> {
  if (detail === null) return null;
  await documentRead();
  const packed: Uint8Array[] = [];
  for (const script of document.querySelectorAll(`script[data-run="${run}"]`)) {
    packed.push(bytesOf(script.textContent ?? ""));
    await pause();
  }
  const stream = new Blob(packed as BlobPart[]).stream().pipeThrough(new DecompressionStream("gzip"));
  const columns = new Columns(new Uint8Array(await new Response(stream).arrayBuffer()), detail.directory);
  // Unpacked a few at a time; the records only when one is opened.
  let began = performance.now();
  for (const [name, { kind }] of Object.entries(detail.directory)) {
    if (kind === "text") continue;
    columns.numbers(name);
    if (performance.now() - began < 20) continue;
    await pause();
    began = performance.now();
  }
  return columns;
}

function documentRead(): Promise<void> {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) =>
    document.addEventListener("DOMContentLoaded", () => resolve(), { once: true }),
  );
}

function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
