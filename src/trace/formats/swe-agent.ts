/**
 * SWE-agent trajectories (`.traj`): the messages of one task, and how long each command ran; no other times. mini-SWE-agent's
 * (`.traj.json`) have times and usage.
 */
import { basename } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import { readJsonDocument } from "../document.ts";
import { arrayAt, handleDocument, handleItem } from "../document-rows.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { newRequest } from "../new-request.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject, scalarText, textOf, toOpenAiMessages } from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { optionalNumber } from "../row-fields.ts";
import type { TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";
import { chainedTurn } from "../turn-chain.ts";
import { isMiniSweAgent, miniRequests } from "./mini-swe-agent.ts";

export const sweAgent: TraceFormat = {
  name: "swe-agent",
  title: "SWE-agent or mini-SWE-agent trajectory (.traj, .traj.json)",
  marks: ["trajectory", "history"],
  detect(sample) {
    const { document } = sample;
    if (!isObject(document)) return 0;
    if (isMiniSweAgent(document)) return 1;
    if (!Array.isArray(document["trajectory"])) return isHistory(document["history"]) ? 0.7 : 0;
    const first: unknown = document["trajectory"][0];
    return isObject(first) && "observation" in first && ("response" in first || "action" in first) ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const document = await readJsonDocument(path, options);
    const requests: TraceRequest[] = [];
    const notes: string[] = [];
    if (isMiniSweAgent(document))
      return miniTrace(document, jobName(document, options.name ?? path), account);
    handleDocument(account, document, (whole) =>
      requests.push(...readSteps(whole, jobName(whole, options.name ?? path), account, notes)),
    );
    return newTrace("swe-agent", account, {
      requests,
      provenance: {
        order: "recorded",
        think_time: "recorded",
        prompt_text: "recorded",
        prefix_sharing: "recorded",
        sampling: toldBy(requests).sampling,
      },
      notes: [...notes, "the only times in the file are those of the commands; token counts are not in it"],
    });
  },
};

function miniTrace(document: JsonObject, job: string, account: RowAccount): Trace {
  const axis = new TimeAxis();
  const placed = fromFirstArrival(miniRequests(document, job, account, axis), axis);
  const times = placed.requests.some(({ recorded }) => recorded?.end_ms != null) ? "inferred" : "missing";
  return newTrace("swe-agent", account, {
    ...placed,
    provenance: { ...toldBy(placed.requests), arrivals: times, order: "recorded", think_time: times },
    notes: [
      "requests are taken to have been sent when their last input was logged; the log stamps answers only",
    ],
  });
}

function isHistory(history: unknown): boolean {
  return (
    Array.isArray(history) && history.some((entry) => isObject(entry) && "role" in entry && "agent" in entry)
  );
}

function jobName(document: JsonObject, file: string): string {
  const told = scalarText(document["instance_id"]);
  if (told !== "") return told;
  const config = replayConfig(document);
  const problem = isObject(config?.["problem_statement"]) ? config["problem_statement"]["id"] : undefined;
  return typeof problem === "string" && problem !== ""
    ? problem
    : basename(file).replace(/(\.traj)?(\.json)?(\.gz)?$/, "");
}

/** `replay_config` is an object or, in most versions, its JSON text. */
function replayConfig(document: JsonObject): JsonObject | null {
  const config: unknown = document["replay_config"];
  if (isObject(config)) return config;
  if (typeof config !== "string") return null;
  try {
    const parsed: unknown = JSON.parse(config);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

interface Sampling {
  readonly temperature: number | null;
  readonly params: JsonObject | null;
  readonly model: string | null;
}

function sampling(document: JsonObject): Sampling {
  const config = replayConfig(document);
  const agent = isObject(config?.["agent"]) ? config["agent"] : null;
  const model = isObject(agent?.["model"]) ? agent["model"] : {};
  const { temperature, top_p, name } = model as JsonObject;
  return {
    temperature: typeof temperature === "number" ? temperature : null,
    params: typeof top_p === "number" ? { top_p } : null,
    model: typeof name === "string" ? name : null,
  };
}

function readSteps(
  document: JsonObject,
  job_id: string,
  account: RowAccount,
  notes: string[],
): TraceRequest[] {
  const history = Array.isArray(document["history"]) ? document["history"].filter(isObject) : [];
  // Demonstrations are shown to the model, not made by it.
  const answers = history.flatMap((entry, at) =>
    entry["role"] === "assistant" && entry["is_demo"] !== true ? [at] : [],
  );
  // A demonstration may be a history alone.
  const steps =
    document["trajectory"] === undefined && answers.length > 0
      ? answers.map((at) => ({ response: history[at]?.["content"], action: history[at]?.["action"] }))
      : arrayAt(document["trajectory"], "trajectory");
  const told = history.map((entry) => toOpenAiMessages(entry));
  const places = placesOf(steps, history, answers);
  const lost = places.filter((place) => place === null).length;
  /** The prompt of a step that the history does not hold: that of the step before, its answer, what it saw. */
  let rebuilt: readonly JsonObject[] = told.slice(0, answers[0] ?? told.length).flat();
  let asked = 0;
  if (lost > 0 && history.length > 0)
    notes.push(
      `the history does not hold ${lost} of ${steps.length} steps: their prompts are rebuilt from the steps`,
    );
  const { temperature, params, model } = sampling(document);
  const turns: TraceRequest[] = [];
  let think_ms: number | null = null;
  let tool: TraceRequest["tool"] = null;
  steps.forEach((step, at) =>
    handleItem(account, `trajectory[${at}]`, step, (row) => {
      const seconds = optionalNumber(row, "execution_time");
      const query = Array.isArray(row["query"]) ? toOpenAiMessages(row["query"]) : [];
      if (query.length > 0) asked++;
      const place = places[at] ?? null;
      const messages = query.length > 0 ? query : place === null ? rebuilt : told.slice(0, place).flat();
      if (messages.length === 0)
        throw new BadRow('no messages before this step: neither "query" nor "history" has them');
      const turn = turns.length;
      turns.push(
        newRequest({
          ...chainedTurn(job_id, turn),
          think_ms: turn === 0 ? null : think_ms,
          tool: turn === 0 ? null : tool,
          prompt: { kind: "messages", messages, tools: null },
          temperature,
          params,
          response_text: textOf(row["response"]) || null,
          metadata: model === null ? null : { model },
        }),
      );
      think_ms = seconds === null ? null : seconds * 1000;
      tool = think_ms === null ? null : [{ name: commandName(textOf(row["action"])), ms: think_ms }];
      rebuilt = [
        ...messages,
        { role: "assistant", content: textOf(row["response"]) },
        { role: "user", content: textOf(row["observation"]) },
      ];
      return undefined;
    }),
  );
  if (asked === 0 && lost === 0 && history.length > 0)
    notes.push(
      "prompts are the whole history: whether the agent shortened older observations is not in the file",
    );
  return turns;
}

/** Where in the history each step's answer stands: one by one, or (some are missing) those that say the same, in order. */
function placesOf(
  steps: readonly unknown[],
  history: readonly JsonObject[],
  answers: readonly number[],
): (number | null)[] {
  if (answers.length === steps.length) return [...answers];
  let next = 0;
  return steps.map((step) => {
    const response = isObject(step) ? textOf(step["response"]).trim() : "";
    const found = answers.findIndex(
      (place, at) => at >= next && textOf(history[place]?.["content"]).trim() === response,
    );
    if (found === -1 || response === "") return null;
    next = found + 1;
    return answers[found] ?? null;
  });
}

function commandName(action: string): string {
  return /^\s*(\S+)/.exec(action)?.[1] ?? "command";
}
