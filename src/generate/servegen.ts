/**
 * ServeGen's description of one client: a CSV of windows (start s, rate, CV, family of gaps, shape, scale; no header) and a
 * JSON of token counts by time, its values Python dict literals in strings. Rates and shapes change from window to window.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { UserError } from "../core/failure.ts";
import { readText } from "../core/lines.ts";
import type { Rng } from "../core/random.ts";
import type { Ms, Seconds, Tokens } from "../core/units.ts";
import type { GenerateOptions } from "./generate-options.ts";

export type GapFamily = "exponential" | "gamma" | "weibull";

export interface ServegenWindow {
  readonly start_s: Seconds;
  /** Requests a second. */
  readonly rate: number;
  readonly family: GapFamily;
  readonly shape: number;
}

/** Token counts and their cumulated shares, ascending. */
export interface TokenPdf {
  readonly tokens: readonly Tokens[];
  readonly upTo: readonly number[];
}

export interface ServegenClient {
  /** It sends images, too, of which only the text beside them is taken. */
  readonly hasMedia: boolean;
  readonly windows: readonly ServegenWindow[];
  readonly window_s: Seconds;
  readonly lengths: readonly { start_s: Seconds; input: TokenPdf; output: TokenPdf }[];
}

export interface ServegenArrival {
  readonly start_ms: Ms;
  readonly input_tokens: Tokens;
  readonly output_tokens: Tokens;
}

const DEFAULT_WINDOW_S = 600;

/** Reads both files; a bad line or literal is a {@link UserError} with its place. */
export async function readServegen(csv: string, dataset: string | null): Promise<ServegenClient> {
  const json = dataset ?? findDataset(csv);
  const windows = parseWindows(await readText(csv), csv);
  const [first, second] = windows;
  const window_s =
    first === undefined || second === undefined ? DEFAULT_WINDOW_S : second.start_s - first.start_s;
  return { windows, window_s, ...parseLengths(await readText(json), json) };
}

function findDataset(csv: string): string {
  const name = basename(csv).replace(/trace\.csv$/, "dataset.json");
  const beside = join(dirname(csv), name);
  if (name !== basename(csv) && existsSync(beside)) return beside;
  throw new UserError(`--servegen ${csv}: no dataset JSON beside it`, {
    hint: "name it with --servegen-dataset",
  });
}

export function parseWindows(text: string, file: string): ServegenWindow[] {
  const windows: ServegenWindow[] = [];
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    if (raw.trim() === "") continue;
    const fail = (why: string): never => {
      throw new UserError(`${file}:${at + 1}: ${why}`, {
        hint: "start s, rate, CV, family, shape, scale; no header",
      });
    };
    const cells = raw.split(",").map((cell) => cell.trim());
    if (cells.length < 6) fail(`${cells.length} columns, 6 wanted`);
    const [start_s, rate, shape] = [Number(cells[0]), Number(cells[1]), Number(cells[4])] as const;
    const name = cells[3] as string;
    if (!Number.isFinite(start_s)) fail(`"${cells[0]}" is not a start in seconds`);
    if (!(rate >= 0) || !Number.isFinite(rate)) fail(`"${cells[1]}" is not a rate`);
    const before = windows.at(-1);
    if (before !== undefined && start_s <= before.start_s) fail("windows are not in order of time");
    const family = { "": "exponential", gamma: "gamma", weibull: "weibull" }[name.toLowerCase()] as GapFamily;
    if (family === undefined) fail(`"${name}" is no family of gaps (Gamma, Weibull, or nothing)`);
    if (rate > 0 && family !== "exponential" && !(shape > 0)) fail(`shape ${cells[4]} is not above 0`);
    windows.push({ start_s, rate, family, shape });
  }
  if (windows.length === 0) throw new UserError(`${file}: no window in it`);
  return windows;
}

/** Clients that send images tell `text_tokens` in place of `input_tokens`. */
const lengthsSchema = z.record(
  z.string(),
  z
    .object({
      input_tokens: z.string().optional(),
      text_tokens: z.string().optional(),
      output_tokens: z.string(),
    })
    .loose(),
);

export function parseLengths(text: string, file: string): Pick<ServegenClient, "lengths" | "hasMedia"> {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw new UserError(`${file}: not JSON (${(error as Error).message})`);
  }
  const parsed = lengthsSchema.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new UserError(
      `${file}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not a ServeGen dataset"}`,
    );
  }
  let hasMedia = false;
  const inputOf = (
    start: string,
    { input_tokens: whole, text_tokens: written }: (typeof parsed.data)[string],
  ): TokenPdf => {
    if (whole !== undefined) return parsePdf(whole, `${file}: ${start}.input_tokens`);
    if (written === undefined) throw new UserError(`${file}: ${start}.input_tokens is missing`);
    hasMedia = true;
    return parsePdf(written, `${file}: ${start}.text_tokens`);
  };
  const lengths = Object.entries(parsed.data)
    .map(([start, entry]) => ({
      start_s: Number(start),
      input: inputOf(start, entry),
      output: parsePdf(entry.output_tokens, `${file}: ${start}.output_tokens`),
    }))
    .filter((entry) => entry.input.tokens.length > 0 && entry.output.tokens.length > 0)
    .sort((a, b) => a.start_s - b.start_s);
  if (lengths.length === 0) throw new UserError(`${file}: no token counts in it`);
  return { lengths, hasMedia };
}

/** `{63: 0.18, 64: 0.51}`: numbers only, nothing is evaluated. */
export function parsePdf(text: string, place: string): TokenPdf {
  const inner = /^\s*\{(.*)\}\s*$/s.exec(text)?.[1];
  if (inner === undefined) throw new UserError(`${place}: not a dict of token counts`);
  const pairs: [number, number][] = [];
  for (const item of inner.split(",")) {
    if (item.trim() === "") continue;
    const pair = /^\s*(\d+(?:\.0*)?)\s*:\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)\s*$/i.exec(item);
    if (pair === null)
      throw new UserError(`${place}: "${item.trim().slice(0, 40)}" is not a count and its share`);
    pairs.push([Number(pair[1]), Number(pair[2])]);
  }
  pairs.sort((a, b) => a[0] - b[0]);
  const total = pairs.reduce((sum, [, share]) => sum + share, 0);
  if (pairs.length > 0 && !(total > 0)) throw new UserError(`${place}: the shares add up to nothing`);
  let sum = 0;
  const upTo = pairs.map(([, share]) => (sum += share) / total);
  return { tokens: pairs.map(([tokens]) => tokens), upTo };
}

/**
 * Arrivals window by window, `numJobs` at most. Gaps are of the window's family and shape, their scale set so that their mean
 * is 1 ÷ rate (the file's own scale describes the gaps inside bursts and does not give its rate).
 */
export function drawServegen(
  client: ServegenClient,
  options: GenerateOptions,
  rng: Rng,
): { arrivals: ServegenArrival[]; notes: string[] } {
  const { windows, window_s } = client;
  const busy = windows.find(
    (window) => window.rate > 0 && window.start_s >= (options.servegenFromS ?? -Infinity),
  );
  if (busy === undefined) throw new UserError(`--servegen ${options.servegen}: no window has a rate above 0`);
  const from = options.servegenFromS ?? busy.start_s;
  const arrivals: ServegenArrival[] = [];
  const gaps = rng.fork("gaps");
  const lengths = rng.fork("lengths");
  let at = from;
  for (const window of windows) {
    if (window.start_s + window_s <= from || window.rate === 0) continue;
    const end = window.start_s + window_s;
    at = Math.max(window.start_s, from);
    // A renewal process begun in its middle: the first gap is cut, so that windows do not all begin with an arrival.
    at += drawGap(window, gaps) * gaps.uniform();
    for (; at < end && arrivals.length < options.numJobs; at += drawGap(window, gaps)) {
      const pdf = lengthsAt(client, at);
      arrivals.push({
        start_ms: (at - from) * 1000,
        input_tokens: drawTokens(pdf.input, lengths),
        output_tokens: drawTokens(pdf.output, lengths),
      });
    }
    if (arrivals.length >= options.numJobs) break;
  }
  const covered = (arrivals.at(-1)?.start_ms ?? 0) / 1000;
  const notes = [
    `ServeGen: seconds ${from} to ${Math.round(from + covered)} of the CSV, ${arrivals.length} requests`,
  ];
  if (client.hasMedia) notes.push("ServeGen: requests had images; only their text length is used");
  if (arrivals.length < options.numJobs)
    notes.push(`ServeGen: the CSV ends before ${options.numJobs} requests are reached`);
  return { arrivals, notes };
}

/** Seconds to the next arrival; mean 1 ÷ rate. */
function drawGap(window: ServegenWindow, rng: Rng): Seconds {
  const { rate, shape } = window;
  switch (window.family) {
    case "exponential":
      return rng.exponential(rate);
    case "gamma":
      return rng.gamma(shape, 1 / (rate * shape));
    case "weibull":
      return (-Math.log(1 - rng.uniform())) ** (1 / shape) / (rate * gammaFunction(1 + 1 / shape));
  }
}

/** The counts of the time `at`: of the latest entry that is not after it, else of the first. */
function lengthsAt(client: ServegenClient, at: Seconds): ServegenClient["lengths"][number] {
  let found = client.lengths[0] as ServegenClient["lengths"][number];
  for (const entry of client.lengths) if (entry.start_s <= at) found = entry;
  return found;
}

function drawTokens(pdf: TokenPdf, rng: Rng): Tokens {
  const u = rng.uniform();
  const index = pdf.upTo.findIndex((share) => u < share);
  return Math.max(1, pdf.tokens[index === -1 ? pdf.tokens.length - 1 : index] as Tokens);
}

/** Γ(x) for x > 0 by Lanczos' series (g = 7, n = 9), relative error below 1e-13. */
export function gammaFunction(x: number): number {
  const c = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];
  if (x < 0.5) return Math.PI / (Math.sin(Math.PI * x) * gammaFunction(1 - x));
  const y = x - 1;
  const sum = c.reduce((total, term, i) => (i === 0 ? term : total + term / (y + i)), 0);
  const t = y + 7.5;
  return Math.sqrt(2 * Math.PI) * t ** (y + 0.5) * Math.exp(-t) * sum;
}
