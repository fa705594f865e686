/** One run as a self-contained HTML page. Pages of several runs are put together in ui/report-page.ts, from the same pieces. */
import { DETAIL_LIMITS } from "./html/detail.ts";
import { renderPage } from "./html/render-page.ts";
import { packRun } from "./html/run-page.ts";
import type { ReportFormat, ReportInput } from "./report-format.ts";

export const html: ReportFormat = {
  name: "html",
  title: "a page for the browser, one file, several runs at once",
  render: renderHtml,
};

async function* renderHtml({ analysis, records, engineRows, folder }: ReportInput): AsyncGenerator<string> {
  const { manifest } = analysis;
  const run = await packRun({
    name: manifest.label ?? manifest.plan.trace ?? manifest.id,
    folder: folder ?? manifest.id,
    analysis,
    records,
    engineRows: engineRows ?? nothing,
    bands: {},
    limits: DETAIL_LIMITS,
  });
  yield* renderPage({ runs: [run], choice: null, pairs: [], home: null });
}

async function* nothing(): AsyncGenerator<never[]> {
  yield [];
}
