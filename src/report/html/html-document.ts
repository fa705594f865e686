/**
 * One self-contained HTML file. The policy in its head forbids every request and every script but the page's own (by hash), so
 * text of servers and traces can neither run nor call out, even if some of it were ever taken for markup.
 */
import { createHash } from "node:crypto";
import type { PageAssets } from "./page-assets.ts";

export interface DocumentInput {
  readonly title: string;
  /** Becomes JSON in the page. */
  readonly data: unknown;
  /** Base64 pieces by run. */
  readonly blobs: readonly (readonly string[])[];
  /** Shown where no script runs. */
  readonly plainLines: readonly string[];
  readonly assets: PageAssets;
  /** The page may ask its own server (never another). */
  readonly live?: boolean;
}

/** The document in parts: first what the first screen needs, then the packed details. */
export function* renderDocument(input: DocumentInput): Generator<string> {
  const { script, style } = input.assets;
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data:",
    ...(input.live === true ? ["connect-src 'self'"] : []),
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeHtml(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(input.title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="app"><noscript><main><h1>${escapeHtml(input.title)}</h1>${input.plainLines
    .map((line) => `<p>${escapeHtml(line)}</p>`)
    .join(
      "",
    )}<p>The charts of this page need JavaScript. It asks for nothing from anywhere.</p></main></noscript></div>
<script type="application/json" id="page-data">${escapeJson(input.data)}</script>
<script>${script}</script>
`;
  for (const [run, pieces] of input.blobs.entries())
    for (const piece of pieces) yield `<script type="text/plain" data-run="${run}">${piece}</script>\n`;
  yield "</body>\n</html>\n";
}

function hash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** JSON that cannot end the script element it stands in. */
export function escapeJson(data: unknown): string {
  return JSON.stringify(data)
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
