/** Accessibility faults that axe-core finds in a page, serious and critical ones. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function seriousFaults(page: Page): Promise<string[]> {
  // Evaluated by the debugger, so the page's own policy stays as it is.
  await page.evaluate(source);
  const results = await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, impact, nodes }) => ({ id, impact, targets: nodes.slice(0, 3).map(({ target, failureSummary }) => target.join(' ') + ' ' + failureSummary) })))",
  );
  return (results as { id: string; impact: string; targets: string[] }[])
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, targets }) => `${id}: ${targets.join(" | ")}`);
}
