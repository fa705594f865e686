/** Where requests go: a base URL in any form people write, the protocol's path, and credentials kept out of sight. */
import { isIPv6 } from "node:net";
import { UserError } from "../core/failure.ts";
import { isSecretField, secrets } from "../core/secret.ts";

export interface Endpoint {
  /** Scheme, host and port, with path `/`; no credentials. */
  readonly origin: URL;
  /** Path and query of the request, beginning with `/`. */
  readonly target: string;
  /** `Basic …` from `user:pass@host`, or `null`. */
  readonly authorization: string | null;
  /** For messages and manifests: `http://host:8000/v1/completions`, without credentials and query. */
  readonly display: string;
}

/** A base URL taken apart, for callers that need other paths of the same server too. */
export interface BaseUrl {
  readonly origin: URL;
  /** Without a slash at the end; empty for none. */
  readonly path: string;
  readonly query: string;
  readonly authorization: string | null;
}

/**
 * `http://h:p`, `…/`, `…/v1`, `…/v1/`, `h:p`, `user:pass@h`, `[::1]:8000`. Credentials are registered as secrets.
 * Anything that cannot be a base URL is a {@link UserError}.
 */
export function parseBaseUrl(text: string): BaseUrl {
  const trimmed = text.trim();
  // "http:/host" and "http://http://host" would be read as the host "http"; "h/:8000" has its port in the path.
  if (/^https?:(?!\/\/|\d)|^https?:\/\/https?:|^[^/]*(?:\/\/)?[^/]+\/+:\d+/i.test(trimmed))
    throw badUrl(trimmed);
  const withScheme = bracketed(/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`);
  let url: URL;
  try {
    url = new URL(withScheme);
  } catch {
    throw badUrl(trimmed);
  }
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "" || trimmed === "")
    throw badUrl(trimmed);
  hideQuery(url.search);
  return {
    origin: new URL(`${url.protocol}//${url.host}/`),
    path: url.pathname.replace(/\/+/g, "/").replace(/\/$/, ""),
    query: url.search,
    authorization: basicAuthorization(url),
  };
}

/** An IPv6 address as people write it after `--host`: `http://::1:8000` is `http://[::1]:8000`. */
function bracketed(url: string): string {
  const [, scheme = "", authority = "", rest = ""] = /^(https?:\/\/)([0-9a-f:.]+)(\/.*)?$/i.exec(url) ?? [];
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(authority) ?? [];
  if (isIPv6(host)) return `${scheme}[${host}]:${port}${rest}`;
  return isIPv6(authority) ? `${scheme}[${authority}]${rest}` : url;
}

/**
 * The address of a protocol's requests. `endpoint` (of `--endpoint`) replaces `defaultPath`; a full URL as `endpoint` stands for
 * itself. What the base URL's path and the endpoint have in common (`/v1`) is written once; a base URL that ends in another
 * version (`/api/v3`) keeps it.
 */
export function resolveEndpoint(baseUrl: string, defaultPath: string, endpoint?: string | null): Endpoint {
  if (endpoint != null && /^https?:\/\//i.test(endpoint.trim())) {
    const whole = parseBaseUrl(endpoint);
    return makeEndpoint(whole, whole.path === "" ? "/" : whole.path, whole.query);
  }
  const base = parseBaseUrl(baseUrl);
  const given = endpoint == null || endpoint.trim() === "" ? null : endpoint.trim();
  const [pathPart, query] = splitQuery(given ?? defaultPath);
  hideQuery(query);
  const own = segments(base.path);
  const wanted = segments(pathPart);
  if (given === null) withoutCopied(own, wanted);
  const shared = overlap(own, wanted);
  const otherVersion = given === null && shared === 0 && isVersion(own.at(-1)) && isVersion(wanted[0]);
  const path = `/${[...own, ...wanted.slice(otherVersion ? 1 : shared)].join("/")}`;
  const slash = pathPart.length > 1 && pathPart.endsWith("/") ? "/" : "";
  return makeEndpoint(base, path + slash, joinQueries(base.query, query));
}

/**
 * Another path of the same server, as a whole URL without credentials: `/health` beside `/v1`; `/v1/models` in the version that the
 * base URL names (`/api/v3/models`).
 */
export function serverUrl(baseUrl: string, path: string): string {
  const { origin, path: own } = parseBaseUrl(baseUrl);
  const root = segments(own);
  const wanted = segments(path);
  const at = root.findLastIndex(isVersion);
  const version = root[at];
  // What follows the version is an endpoint that somebody copied along.
  if (version !== undefined) root.length = at;
  if (version !== undefined && isVersion(wanted[0])) wanted[0] = version;
  return new URL(`/${[...root, ...wanted].join("/")}`, origin).href;
}

function makeEndpoint(base: BaseUrl, path: string, query: string): Endpoint {
  // The URL parser escapes what may not stand in a request line.
  const { pathname, search } = new URL(path + query, base.origin);
  return {
    origin: base.origin,
    target: pathname + search,
    authorization: base.authorization,
    display: base.origin.origin + pathname,
  };
}

/** Some servers take their key in the query. */
function hideQuery(query: string): void {
  for (const [name, value] of new URLSearchParams(query)) {
    if (!isSecretField(name)) continue;
    secrets.add(value);
    // As it was written, where that is escaped in another way.
    secrets.add(query.match(new RegExp(`[?&]${escape(name)}=([^&]*)`))?.[1]);
  }
}

function escape(text: string): string {
  return text.replace(/[^\w]/g, "\\$&");
}

function basicAuthorization(url: URL): string | null {
  if (url.username === "" && url.password === "") return null;
  const pair = `${decode(url.username)}:${decode(url.password)}`;
  for (const secret of [pair, decode(url.password), url.password, `${url.username}:${url.password}`])
    secrets.add(secret);
  // A lone user name is a token that people put there.
  if (url.password === "") secrets.add(decode(url.username));
  return `Basic ${Buffer.from(pair, "utf8").toString("base64")}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function splitQuery(path: string): [path: string, query: string] {
  const at = path.indexOf("?");
  return at < 0 ? [path, ""] : [path.slice(0, at), path.slice(at)];
}

function joinQueries(first: string, second: string): string {
  if (first.length <= 1) return second;
  return second.length <= 1 ? first : `${first}&${second.slice(1)}`;
}

function segments(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

/** What people copy along with the address of a server. */
const COPIED = ["completions", "chat/completions", "models", "embeddings", "responses", "messages", "rerank"];

/**
 * Takes off `own` what does not belong to the address: another endpoint of the same API, and the version in front of a protocol
 * that has none (`/v1` before Ollama's `/api/generate`).
 */
function withoutCopied(own: string[], wanted: readonly string[]): void {
  const at = own.findLastIndex(isVersion);
  if (at < 0 || overlap(own, wanted) > 0) return;
  if (COPIED.includes(own.slice(at + 1).join("/"))) own.length = at + 1;
  if (at === own.length - 1 && !isVersion(wanted[0])) own.length = at;
}

/** How many of the last segments of `own` are the first of `wanted`. */
function overlap(own: readonly string[], wanted: readonly string[]): number {
  for (let n = Math.min(own.length, wanted.length); n > 0; n--) {
    if (own.slice(-n).every((part, i) => part === wanted[i])) return n;
  }
  return 0;
}

function isVersion(segment: string | undefined): boolean {
  return segment !== undefined && /^v\d+(?:(?:alpha|beta)\d*)?$/i.test(segment);
}

function badUrl(text: string): UserError {
  // Whatever stands before an @ may be a password.
  const shown = text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/]*@/i, "$1…@");
  return new UserError(`"${shown}" is not the URL of a server`, { hint: "write it as http://host:8000" });
}
