/** A real browser for the tests of the pages: Debian's chromium, with everything off that would call home. */
import { existsSync } from "node:fs";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";

export const CHROMIUM = "/usr/bin/chromium";
export const WITHOUT_BROWSER = existsSync(CHROMIUM) ? null : `${CHROMIUM} is not installed`;
if (WITHOUT_BROWSER !== null) process.stderr.write(`skipped: tests in a real browser (${WITHOUT_BROWSER})\n`);

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Watched {
  readonly page: Page;
  /** Console errors, uncaught exceptions, and requests beyond the page's own address. */
  readonly faults: string[];
}

/** One browser for a test file; each page has a fresh context. */
export function useBrowser(): { open(url: string, options?: OpenOptions): Promise<Watched> } {
  let browser: Browser | null = null;
  beforeAll(async () => {
    if (WITHOUT_BROWSER === null) browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  });
  afterAll(async () => {
    await browser?.close();
  });
  return {
    async open(url, options = {}) {
      if (browser === null) throw new Error("no browser");
      const context = await browser.newContext({
        viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
        colorScheme: options.dark === true ? "dark" : "light",
      });
      const page = await context.newPage();
      const faults: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning")
          faults.push(`console: ${message.text()}`);
      });
      page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
      const own = new URL(url);
      page.on("request", (request) => {
        const to = new URL(request.url());
        const expected = own.protocol === "file:" ? request.url() === own.href : to.origin === own.origin;
        if (!expected && to.protocol !== "data:") faults.push(`request: ${request.url()}`);
      });
      page.on("dialog", (dialog) => {
        faults.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      await page.goto(url);
      if ((await page.locator("#main").count()) > 0) await page.waitForSelector("#main:not([data-pending])");
      return { page, faults };
    },
  };
}

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
}
