/** Packed runs become the HTML file. */
import { plainText } from "../../core/terminal-text.ts";
import { VERSION } from "../../core/version.ts";
import { renderDocument } from "./html-document.ts";
import { pageAssets } from "./page-assets.ts";
import { type Choice, type Pair, PAGE_FORMAT, type PageData } from "./page-data.ts";
import type { PackedRun } from "./run-page.ts";

export interface PageInput {
  readonly runs: readonly PackedRun[];
  readonly choice: Choice | null;
  readonly pairs: readonly Pair[];
  readonly home: string | null;
}

export function renderPage({ runs, choice, pairs, home }: PageInput): Iterable<string> {
  const names = runs.map(({ page }) => plainText(page.name));
  const title = runs.length === 1 ? `${names[0] ?? ""} · Reprise` : `${names.join(" / ")} · Reprise`;
  const data: PageData = {
    reprise_page: PAGE_FORMAT,
    version: VERSION,
    title,
    runs: runs.map(({ page }) => page),
    choice,
    pairs,
    home,
  };
  return renderDocument({
    title,
    data,
    blobs: runs.map(({ pieces }) => pieces),
    plainLines: [
      ...(choice === null ? [] : [choice.reason, ...choice.because, choice.disagreement ?? ""]),
      ...runs.flatMap(({ page }) => [
        `${plainText(page.name)}: ${page.headline.text}`,
        ...page.answer.map(({ label, text }) => `${label}: ${text}`),
        `${page.fidelity.label}: ${page.fidelity.text}`,
      ]),
    ].filter((line) => line !== ""),
    assets: pageAssets("report"),
  });
}
