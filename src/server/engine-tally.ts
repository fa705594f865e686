/** Readings of one run, added up: a row of `engine.jsonl` for each, and one summary of the whole interval. */
import type { JsonObject } from "../core/json.ts";
import type { Ms } from "../core/units.ts";
import {
  type EngineInterval,
  type EngineReading,
  intervalBetween,
  NO_READING,
  withoutFallen,
} from "./engine-metrics.ts";
import type { GpuReading } from "./gpu-metrics.ts";

/** The whole run, first reading to last, of everything that the server did in it, whoever asked for it. */
export interface EngineSummary extends EngineInterval {
  readonly engine: string;
  /** What these numbers are of: not of single requests. */
  readonly scope: "whole server, first to last sample";
  /** First and last sample, ms after t0. */
  readonly from_ms: Ms;
  readonly until_ms: Ms;
  readonly samples: number;
  readonly failed_samples: number;
  readonly kv_usage_mean: number | null;
  readonly kv_usage_max: number | null;
  readonly running_mean: number | null;
  readonly running_max: number | null;
  readonly waiting_mean: number | null;
  readonly waiting_max: number | null;
  readonly gpu_utilisation_mean: number | null;
  readonly gpu_power_w_mean: number | null;
}

export class EngineTally {
  #first: EngineReading | null = null;
  #last: EngineReading | null = null;
  #from: Ms | null = null;
  #until: Ms = 0;
  #samples = 0;
  #failed = 0;
  readonly #kv = new Spread();
  readonly #running = new Spread();
  readonly #waiting = new Spread();
  readonly #gpu = new Spread();
  readonly #power = new Spread();

  /** Takes a reading at `ms` after t0; what the row tells of it. `weight`: how many samples its gauges stand for, 0 = none. */
  add(ms: Ms, reading: EngineReading, weight: number): JsonObject {
    this.#sampled(ms);
    const since = this.#last === null ? null : intervalBetween(this.#last, reading);
    this.#first ??= reading;
    if (this.#last !== null) this.#first = withoutFallen(this.#first, this.#last, reading);
    this.#last = reading;
    this.gauges(reading, weight);
    const { running, waiting, kv_usage, preemptions, cache_queries, cache_hits } = reading;
    return {
      running,
      waiting,
      kv_usage,
      hit_rate: since?.hit_rate ?? null,
      queue_mean_ms: since?.queue_mean_ms ?? null,
      prefill_mean_ms: since?.prefill_mean_ms ?? null,
      decode_mean_ms: since?.decode_mean_ms ?? null,
      preemptions,
      cache_queries,
      cache_hits,
    };
  }

  /** Gauges alone, as of `weight` samples. */
  gauges(reading: EngineReading, weight: number): void {
    this.#kv.add(reading.kv_usage, weight);
    this.#running.add(reading.running, weight);
    this.#waiting.add(reading.waiting, weight);
  }

  /** A sample that got no reading of the engine; `failed`: it should have. */
  none(ms: Ms, failed: boolean): void {
    this.#sampled(ms);
    if (failed) this.#failed++;
  }

  gpus(readings: readonly GpuReading[]): void {
    for (const gpu of readings) {
      this.#gpu.add(gpu.utilisation, 1);
      this.#power.add(gpu.power_w, 1);
    }
  }

  /** `null` if nothing was ever read. */
  summary(engine: string): EngineSummary | null {
    if (this.#from === null || (this.#first === null && this.#gpu.n === 0)) return null;
    const interval = intervalBetween(this.#first ?? NO_READING, this.#last ?? NO_READING);
    return {
      engine,
      scope: "whole server, first to last sample",
      from_ms: this.#from,
      until_ms: this.#until,
      samples: this.#samples,
      failed_samples: this.#failed,
      ...interval,
      kv_usage_mean: this.#kv.mean,
      kv_usage_max: this.#kv.max,
      running_mean: this.#running.mean,
      running_max: this.#running.max,
      waiting_mean: this.#waiting.mean,
      waiting_max: this.#waiting.max,
      gpu_utilisation_mean: this.#gpu.mean,
      gpu_power_w_mean: this.#power.mean,
    };
  }

  #sampled(ms: Ms): void {
    this.#samples++;
    this.#from ??= ms;
    this.#until = ms;
  }
}

class Spread {
  n = 0;
  #sum = 0;
  #max = -Infinity;

  add(value: number | null, weight: number): void {
    if (value === null || weight <= 0) return;
    this.n += weight;
    this.#sum += value * weight;
    this.#max = Math.max(this.#max, value);
  }

  get mean(): number | null {
    return this.n === 0 ? null : this.#sum / this.n;
  }

  get max(): number | null {
    return this.n === 0 ? null : this.#max;
  }
}
