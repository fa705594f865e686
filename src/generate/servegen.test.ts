import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createRng } from "../core/random.ts";
import { parseGenerateOptions } from "./generate-options.ts";
import { generateTrace } from "./generate-trace.ts";
import {
  drawServegen,
  gammaFunction,
  parseLengths,
  parsePdf,
  parseWindows,
  type ServegenClient,
} from "./servegen.ts";

const data = join(
  dirname(fileURLToPath(import.meta.url)),
  "../../../shared/data/servegen/chunk-13-trace.csv",
);

function client(line: string): ServegenClient {
  return {
    windows: parseWindows(line, "w.csv"),
    window_s: 600,
    ...parseLengths(
      '{"0": {"input_tokens": "{10: 0.25, 20: 0.75}", "output_tokens": "{5: 2.0, 7: 2}"}}',
      "d.json",
    ),
  };
}

describe("ServeGen parameters", () => {
  it.each([
    ["no family", "0,40,1,,0,0", 1],
    // CV of a gamma is 1/√shape; of a Weibull of shape 2, √(4/π − 1).
    ["Gamma", "0,40,2,Gamma,0.25,1", 2],
    ["Weibull", "0,40,0.5227,Weibull,2,1", Math.sqrt(4 / Math.PI - 1)],
  ])("give arrivals at the window's rate and of its family: %s", (_name, line, cv) => {
    const options = parseGenerateOptions({ numJobs: 1_000_000, servegen: "w.csv" });
    const { arrivals } = drawServegen(client(line), options, createRng(3));
    expect(arrivals.length).toBeGreaterThan(24_000 * 0.95);
    expect(arrivals.length).toBeLessThan(24_000 * 1.05);
    const gaps = arrivals.slice(1).map((arrival, at) => arrival.start_ms - (arrivals[at]?.start_ms ?? 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const measured = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length) / mean;
    expect(Math.abs(measured - cv)).toBeLessThan(cv * 0.06);
    const share = arrivals.filter((arrival) => arrival.input_tokens === 20).length / arrivals.length;
    expect(share).toBeCloseTo(0.75, 1);
    const outputs = arrivals.filter((arrival) => arrival.output_tokens === 5).length / arrivals.length;
    expect(outputs).toBeCloseTo(0.5, 1);
  });

  it("of a client that sends images: the text's length, and that is said", () => {
    const lengths = parseLengths(
      '{"0": {"text_tokens": "{41: 1}", "image_tokens": "{900: 1}", "output_tokens": "{7: 1}"}}',
      "d.json",
    );
    const options = parseGenerateOptions({ numJobs: 1, servegen: "w.csv" });
    const drawn = drawServegen({ ...client("0,40,1,,0,0"), ...lengths }, options, createRng(3));
    expect(drawn.arrivals).toMatchObject([{ input_tokens: 41, output_tokens: 7 }]);
    expect(drawn.notes).toContain("ServeGen: requests had images; only their text length is used");
    expect(() => parseLengths('{"0": {"output_tokens": "{7: 1}"}}', "d.json")).toThrow(
      "d.json: 0.input_tokens is missing",
    );
  });

  it("read dict literals as numbers and evaluate nothing", () => {
    expect(parsePdf("{}", "x")).toEqual({ tokens: [], upTo: [] });
    expect(parsePdf("{64: 0.5, 63: 1.5e0,}", "x")).toEqual({ tokens: [63, 64], upTo: [0.75, 1] });
    for (const bad of ["", "[1]", "{1: __import__('os')}", "{'a': 1}", "{1: -0.5}", "{1 2}", "{1: 0}"])
      expect(() => parsePdf(bad, "d.json: 0.input_tokens")).toThrow(/^d\.json: 0\.input_tokens: /);
  });

  it.each([
    ["0,1,1,Gamma,1", /w\.csv:1: 5 columns/],
    ["0,x,1,Gamma,1,1", /w\.csv:1: "x" is not a rate/],
    ["0,1,1,Zipf,1,1", /w\.csv:1: "Zipf" is no family/],
    ["0,1,1,Gamma,0,1", /w\.csv:1: shape 0/],
    ["0,1,1,,0,0\n\n0,1,1,,0,0", /w\.csv:3: windows are not in order/],
    ["", /no window/],
  ])("refuse a bad line by its place: %j", (text, message) => {
    expect(() => parseWindows(text, "w.csv")).toThrow(message);
  });

  it("know Γ", () => {
    for (const [x, value] of [
      [1, 1],
      [5, 24],
      [0.5, Math.sqrt(Math.PI)],
      [1.5, Math.sqrt(Math.PI) / 2],
    ] as const)
      expect(gammaFunction(x)).toBeCloseTo(value, 10);
  });

  it.skipIf(!existsSync(data))(
    "of a real client make a trace (skipped without the sample data)",
    async () => {
      const trace = await generateTrace(parseGenerateOptions({ numJobs: 3000, servegen: data }));
      const requests = [...trace.requests()];
      expect(requests.length).toBe(3000);
      // First busy window: 3.655 requests a second for 600 s.
      const first = requests.filter((request) => (request.arrival_ms as number) < 600_000).length;
      expect(first).toBeGreaterThan(2193 * 0.9);
      expect(first).toBeLessThan(2193 * 1.1);
      expect(trace.notes[0]).toMatch(/seconds 36600 to/);
      const own = await generateTrace(
        parseGenerateOptions({ numJobs: 50, servegen: data, preset: "rewriter" }),
      );
      expect([...own.requests()].length).toBeGreaterThan(300);
    },
  );
});
