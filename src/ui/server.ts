/**
 * The local web server: on 127.0.0.1 only, and only for requests that name it so (a foreign page that rebinds its own name to this
 * address is turned away). Reads; never writes. Run ids and file names come from listings, never from joined paths.
 */
import { createReadStream, statSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { UserError } from "../core/failure.ts";
import type { Ms } from "../core/units.ts";
import { VERSION } from "../core/version.ts";
import { renderDocument } from "../report/html/html-document.ts";
import { pageAssets } from "../report/html/page-assets.ts";
import { LiveRun } from "./live-run.ts";
import { reportPage } from "./report-page.ts";
import { RunList } from "./run-list.ts";

export interface UiServer {
  readonly url: string;
  /** Address of the live view of a run. */
  liveUrl(id: string): string;
  close(): Promise<void>;
}

export interface UiServerOptions {
  readonly folder: string;
  /** 0 = any that is free. */
  readonly port: number;
  readonly wall: () => Ms;
}

export interface UiPageData {
  readonly view: "list" | "live";
  readonly version: string;
  readonly run: string | null;
}

const HOST = "127.0.0.1";
const MOST_RUNS_IN_A_REPORT = 16;
const HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** {@link UserError} where the folder is none or the port is taken. */
export async function startUiServer(options: UiServerOptions): Promise<UiServer> {
  const runs = new RunList(options.folder, options.wall);
  const app = uiApp(runs, options.wall);
  const server = createAdaptorServer({ fetch: app.fetch });
  const port = await new Promise<number>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE" || error.code === "EACCES"
          ? new UserError(`port ${options.port} cannot be taken (${error.code})`, {
              hint: "choose another with --port, or --port 0",
            })
          : error,
      ),
    );
    server.listen(options.port, HOST, () => resolve((server.address() as AddressInfo).port));
  });
  const url = `http://${HOST}:${port}/`;
  return {
    url,
    liveUrl: (id) => `${url}live?run=${encodeURIComponent(id)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      }),
  };
}

export function uiApp(runs: RunList, wall: () => Ms): Hono {
  const app = new Hono();
  const live = new Map<string, LiveRun>();
  const folderOf = (id: string | undefined): string => {
    const folder = id === undefined ? null : runs.folderOf(id);
    if (folder === null) throw new NotThere("no such run");
    return folder;
  };
  app.use(async (context, next) => {
    const refused = refusal(context.req.method, (name) => context.req.header(name));
    if (refused !== null) return context.text(refused, 403, HEADERS);
    await next();
    for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
    return undefined;
  });
  app.get("/", (context) => context.html(page({ view: "list", version: VERSION, run: null }, "Runs")));
  app.get("/live", (context) => {
    const id = context.req.query("run");
    folderOf(id);
    return context.html(page({ view: "live", version: VERSION, run: id ?? null }, "Live"));
  });
  app.get("/api/runs", async (context) => context.json(await runs.list()));
  app.get("/api/files", (context) => context.json(runs.filesOf(folderOf(context.req.query("run")))));
  app.get("/api/live", async (context) => {
    const folder = folderOf(context.req.query("run"));
    let run = live.get(folder);
    if (run === undefined) {
      run = new LiveRun(folder, wall);
      live.set(folder, run);
    }
    return context.json(await run.state());
  });
  app.get("/report", async (context) => {
    const ids = context.req.queries("run") ?? [];
    if (ids.length === 0 || ids.length > MOST_RUNS_IN_A_REPORT)
      throw new UserError(`a report takes 1 to ${MOST_RUNS_IN_A_REPORT} runs`);
    const parts = reportPage({ folders: ids.map(folderOf), flags: {}, home: "/" });
    // The first part waits for the analysis: what is wrong with a run is told as an error, not as half a page.
    const first = await parts.next();
    const all = (async function* () {
      if (first.done !== true) yield Buffer.from(first.value);
      for await (const part of parts) yield Buffer.from(part);
    })();
    return context.body(Readable.toWeb(Readable.from(all)) as ReadableStream, 200, {
      "content-type": "text/html; charset=utf-8",
    });
  });
  app.get("/file", (context) => {
    const folder = folderOf(context.req.query("run"));
    const name = context.req.query("name");
    const file = runs.filesOf(folder).find((one) => one.name === name);
    if (file === undefined) throw new NotThere("no such file");
    const path = join(folder, file.name);
    return context.body(Readable.toWeb(createReadStream(path)) as ReadableStream, 200, {
      "content-type": `${contentType(file.name)}; charset=utf-8`,
      "content-length": String(statSync(path).size),
      // A page that lies in a run's folder may be anyone's: it is shown without rights.
      "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    });
  });
  app.notFound((context) => context.text("not found", 404, HEADERS));
  app.onError((error, context) => {
    if (error instanceof NotThere) return context.text(error.message, 404, HEADERS);
    if (error instanceof UserError)
      return context.text(`${error.message}${error.hint === null ? "" : ` (${error.hint})`}`, 422, HEADERS);
    return context.text(`this is a bug in Reprise: ${error.message}`, 500, HEADERS);
  });
  return app;
}

class NotThere extends Error {}

/** Why a request is turned away; `null` = it is not. */
export function refusal(method: string, header: (name: string) => string | undefined): string | null {
  if (method !== "GET" && method !== "HEAD") return "this server only shows: GET";
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(header("host") ?? ""))
    return "this server answers to 127.0.0.1 and localhost only";
  const navigates = header("sec-fetch-mode") === "navigate";
  if (header("sec-fetch-site") === "cross-site" && !navigates)
    return "this server does not answer other sites";
  return null;
}

function page(data: UiPageData, title: string): string {
  return [
    ...renderDocument({
      title: `${title} · Reprise`,
      data,
      blobs: [],
      plainLines: [],
      assets: pageAssets("ui"),
      live: true,
    }),
  ].join("");
}

function contentType(name: string): string {
  if (name.endsWith(".json")) return "application/json";
  return name.endsWith(".html") ? "text/html" : "text/plain";
}
