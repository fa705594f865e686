/** Seeded faults, for tests of clients: which request fails, which stream breaks, when the server goes away. */
import { createRng, type Rng } from "../core/random.ts";
import type { FaultConfig } from "./config.ts";
import type { SimEngine } from "./engine.ts";

export interface Fault {
  /** Answer with this status instead. */
  readonly status: number | null;
  /** Close the socket after this many tokens. */
  readonly truncate_after: number | null;
  /** Close everything once this request has come. */
  readonly crash: boolean;
}

const NONE: Fault = { status: null, truncate_after: null, crash: false };

export class FaultInjection {
  readonly #config: FaultConfig | null;
  readonly #rng: Rng;
  #seen = 0;

  constructor(engine: SimEngine) {
    this.#config = engine.sim.config.faults;
    this.#rng = createRng(`sim-fault/${engine.seed}`);
  }

  get slow_start_ms(): number {
    return this.#config?.slow_start_ms ?? 0;
  }

  /** What happens to the next request. Both draws are always made, so that one rate does not shift the other. */
  next(): Fault {
    const config = this.#config;
    if (config === null) return NONE;
    this.#seen++;
    const fails = this.#rng.uniform() < config.fail_rate;
    const breaks = this.#rng.uniform() < config.truncate_rate;
    const crash = config.crash_after !== null && this.#seen > config.crash_after;
    if (this.#seen <= config.first_failures) return { ...NONE, status: 503, crash };
    return {
      status: fails ? config.fail_status : null,
      truncate_after: breaks ? config.truncate_after_tokens : null,
      crash,
    };
  }
}
