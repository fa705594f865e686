/** The server's own metrics over time, thinned to what a chart can show. */
import type { EngineSample } from "../../record/engine-rows.ts";
import type { EngineSeries } from "./page-data.ts";

const MOST_SAMPLES = 600;

/** `null` where the run sampled none. Of neighbouring samples that share a place, the mean is shown. */
export async function engineSeries(
  batches: AsyncIterable<readonly EngineSample[]>,
): Promise<EngineSeries | null> {
  let thinned: Bucket[] = [];
  // Samples that one bucket holds: doubled whenever there are too many, so that memory stays bounded.
  let width = 1;
  let samples = 0;
  let failed = 0;
  for await (const batch of batches) {
    for (const sample of batch) {
      if (typeof sample["error"] === "string") failed++;
      const last = thinned[thinned.length - 1];
      if (last === undefined || last.samples >= width) thinned.push(new Bucket());
      thinned[thinned.length - 1]?.add(sample);
      samples++;
      if (thinned.length <= MOST_SAMPLES) continue;
      thinned = thinned.flatMap((bucket, i) => (i % 2 === 0 ? [bucket.with(thinned[i + 1])] : []));
      width *= 2;
    }
  }
  if (samples === 0) return null;
  const names = [...new Set(thinned.flatMap((bucket) => bucket.names))];
  return {
    samples,
    failed,
    ms: thinned.map((bucket) => bucket.ms),
    values: Object.fromEntries(names.map((name) => [name, thinned.map((bucket) => bucket.mean(name))])),
  };
}

/** Rows of `gpus` are joined: utilisation as the mean, power and memory as the sum. */
function numbersOf(sample: EngineSample): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const [key, value] of Object.entries(sample)) {
    if (key !== "ms" && typeof value === "number" && Number.isFinite(value)) numbers.set(key, value);
    if (key !== "gpus" || !Array.isArray(value)) continue;
    for (const gpu of value) {
      if (gpu === null || typeof gpu !== "object" || Array.isArray(gpu)) continue;
      for (const [name, figure] of Object.entries(gpu)) {
        if (typeof figure !== "number" || !/^(utilisation|power_w)$/.test(name)) continue;
        const share = name === "utilisation" ? figure / value.length : figure;
        numbers.set(`gpu_${name}`, (numbers.get(`gpu_${name}`) ?? 0) + share);
      }
    }
  }
  return numbers;
}

class Bucket {
  samples = 0;
  #ms = 0;
  readonly #sums = new Map<string, { sum: number; n: number }>();

  get ms(): number {
    return this.#ms / this.samples;
  }

  get names(): string[] {
    return [...this.#sums.keys()];
  }

  add(sample: EngineSample): void {
    this.samples++;
    this.#ms += sample.ms;
    for (const [name, value] of numbersOf(sample)) this.#put(name, value, 1);
  }

  with(other: Bucket | undefined): this {
    if (other === undefined) return this;
    this.samples += other.samples;
    this.#ms += other.#ms;
    for (const [name, { sum, n }] of other.#sums) this.#put(name, sum, n);
    return this;
  }

  mean(name: string): number | null {
    const found = this.#sums.get(name);
    return found === undefined ? null : found.sum / found.n;
  }

  #put(name: string, sum: number, n: number): void {
    const entry = this.#sums.get(name) ?? { sum: 0, n: 0 };
    this.#sums.set(name, { sum: entry.sum + sum, n: entry.n + n });
  }
}
