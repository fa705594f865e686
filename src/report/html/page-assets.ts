/** The browser code of the pages, built from web/ by scripts/build.mjs into dist/web/. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

const loaded = new Map<string, PageAssets>();

/** `report` is the page of finished runs, `ui` the list and the live view. Throws if the package was not built. */
export function pageAssets(name: "report" | "ui"): PageAssets {
  let assets = loaded.get(name);
  if (assets === undefined) {
    const folder = webFolder();
    assets = {
      script: readFileSync(join(folder, `${name}.js`), "utf8"),
      style: readFileSync(join(folder, `${name}.css`), "utf8"),
    };
    loaded.set(name, assets);
  }
  return assets;
}

/** From dist/, dist/chunks/ or src/report/html/ up to the package's root. */
function webFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (let up = 0; up < 5; up++) {
    const web = join(folder, "dist", "web");
    if (existsSync(join(folder, "package.json")) && existsSync(join(web, "report.js"))) return web;
    folder = dirname(folder);
  }
  throw new Error("dist/web is missing: the package was not built (node scripts/build.mjs)");
}
