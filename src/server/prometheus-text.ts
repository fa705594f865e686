/** The text format of Prometheus and OpenMetrics, read leniently: a line that is not a sample is left out. */

export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LABEL = /\s*([A-Za-z_][\w]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?/gy;

/**
 * All samples, in order. NaN and ±Inf values are left out: they are not measurements. So are the buckets of histograms: nobody here asks
 * for them, they are most of the text, and the load generator's loop stands still while it is read.
 */
export function parsePrometheusText(text: string): MetricSample[] {
  const samples: MetricSample[] = [];
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#") || isBucket(line)) continue;
    const sample = parseLine(line);
    if (sample !== null) samples.push(sample);
  }
  return samples;
}

function isBucket(line: string): boolean {
  const brace = line.indexOf("{");
  return brace > 7 && line.startsWith("_bucket", brace - 7);
}

function parseLine(line: string): MetricSample | null {
  const name = /^[A-Za-z_:][\w:.]*/.exec(line)?.[0];
  if (name === undefined) return null;
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith("{")) {
    LABEL.lastIndex = 1;
    let at = 1;
    for (let match = LABEL.exec(rest); match !== null; match = LABEL.exec(rest)) {
      labels[match[1] as string] = unescapeLabel(match[2] as string);
      at = LABEL.lastIndex;
    }
    const close = /^\s*\}/.exec(rest.slice(at));
    if (close === null) return null;
    rest = rest.slice(at + close[0].length);
  }
  // A timestamp or an exemplar may follow the value.
  const word = rest.trim().split(/\s+/)[0] ?? "";
  const value = word === "" ? NaN : Number(word);
  return Number.isFinite(value) ? { name, labels, value } : null;
}

function unescapeLabel(text: string): string {
  return text.replace(/\\(.)/g, (_match, char: string) => (char === "n" ? "\n" : char));
}
