/** The pages of the local server: the list of runs, and a run under way. */
import { render } from "preact";
import type { UiPageData } from "../src/ui/server.ts";
import { LiveView } from "./live-view.tsx";
import { ListView } from "./list-view.tsx";

const data = document.getElementById("page-data")?.textContent;
const root = document.getElementById("app");
if (data == null || root === null) throw new Error("the page is not whole");
const page = JSON.parse(data) as UiPageData;
root.replaceChildren();
render(
  <>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <header class="top">
      <span class="brand">Reprise</span>
      {page.view === "live" && <a href="/">all runs</a>}
    </header>
    <main id="main">
      {page.view === "live" && page.run !== null ? <LiveView run={page.run} /> : <ListView />}
    </main>
    <footer>
      Reprise {page.version}. This page is served from your own machine and asks nothing of any other.
    </footer>
  </>,
  root,
);
