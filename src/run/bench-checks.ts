/** What cannot be meant together in a bench: refused before anything is sent. */
import { UserError } from "../core/failure.ts";
import { checkRamp, type Ramp } from "../plan/arrivals/ramp.ts";
import { parseGoodput } from "../metric/index.ts";
import { type BenchGiven, GOODPUT_NAMES } from "./options/bench-options.ts";
import { checkTarget } from "./open-target.ts";
import { protocolNameOf } from "./sampling-fields.ts";

/** {@link UserError} for the first mistake. */
export function checkBench(given: BenchGiven, backend: string): void {
  checkTarget(given);
  checkRampFlags(given);
  checkGoodput(given);
  checkEndpoint(given, backend);
  if (given.lora_assignment !== undefined && given.lora_modules === undefined)
    throw new UserError("--lora-assignment needs --lora-modules");
  if (given.warmup !== undefined && given.duration !== undefined && given.warmup >= given.duration)
    throw new UserError("--warmup leaves nothing of --duration to measure", {
      hint: "make the warm-up shorter",
    });
  if (given.profile === true && (backend === "sim" || backend === "llama-cpp"))
    throw new UserError(
      `--profile: ${backend === "sim" ? "the simulated engine" : "llama.cpp in this process"} has no profiler`,
    );
  if (given.self_timed === true && given.request_rate !== undefined && given.request_rate !== Infinity)
    throw new UserError("--self-timed and --request-rate contradict each other", {
      hint: "the trace has its own times: leave one of them out",
    });
}

/** The ramp that the flags ask for; `null` for none. */
export function rampOf(given: BenchGiven): Ramp | null {
  const { ramp_up_strategy: strategy, ramp_up_start_rps: start, ramp_up_end_rps: end } = given;
  if (strategy === undefined || start === undefined || end === undefined) return null;
  return { strategy, start, end };
}

function checkRampFlags(given: BenchGiven): void {
  const { ramp_up_strategy: strategy, ramp_up_start_rps: start, ramp_up_end_rps: end } = given;
  if (strategy === undefined) {
    if (start !== undefined || end !== undefined)
      throw new UserError("--ramp-up-start-rps and --ramp-up-end-rps need --ramp-up-strategy", {
        hint: "linear or exponential",
      });
    return;
  }
  if (given.request_rate !== undefined && given.request_rate !== Infinity)
    throw new UserError("--ramp-up-strategy and --request-rate contradict each other", {
      hint: "the ramp sets the rate: leave --request-rate out",
    });
  if (start === undefined || end === undefined)
    throw new UserError("--ramp-up-strategy needs both --ramp-up-start-rps and --ramp-up-end-rps");
  checkRamp({ strategy, start, end });
}

function checkGoodput({ goodput }: BenchGiven): void {
  if (goodput === undefined) return;
  for (const { name } of parseGoodput(goodput))
    if (!GOODPUT_NAMES.some((known) => known === name))
      throw new UserError(`--goodput: "${name}" is not one of ${GOODPUT_NAMES.join(", ")}`, {
        hint: "objectives on other metrics: --slo",
      });
}

/** The endpoint names the other OpenAI protocol: every request would be refused. */
function checkEndpoint({ endpoint }: BenchGiven, backend: string): void {
  if (endpoint === undefined || backend === "sim") return;
  const name = protocolNameOf(backend);
  const isChat = /\/chat\/completions\/?(\?|$)/.test(endpoint);
  const isCompletions = !isChat && /\/completions\/?(\?|$)/.test(endpoint);
  if ((name === "openai" && isChat) || (name === "openai-chat" && isCompletions))
    throw new UserError(`--backend ${backend} and --endpoint ${endpoint} contradict each other`, {
      hint: `use --backend ${name === "openai" ? "openai-chat" : "openai"}, or leave --endpoint out`,
    });
}
