/** tau-bench results: an array of trajectories of OpenAI messages, without times or token counts; τ²-bench's have both. */
import type { JsonObject } from "../../core/json.ts";
import { turnsOfConversation } from "../conversation-turns.ts";
import { readJsonDocument } from "../document.ts";
import { handleItem } from "../document-rows.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject, toOpenAiMessages } from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { kindOf } from "../row-reader.ts";
import { idField, optionalId } from "../row-fields.ts";
import type { TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";
import { unusedName } from "../unused-name.ts";
import { isTau2, tau2Requests } from "./tau2-bench.ts";

export const tauBench: TraceFormat = {
  name: "tau-bench",
  title: "tau-bench and tau2-bench results (JSON)",
  marks: ["task_id", "traj"],
  detect(sample) {
    if (isTau2(sample.document)) return 1;
    const first: unknown = Array.isArray(sample.document) ? sample.document[0] : undefined;
    return isObject(first) && Array.isArray(first["traj"]) && first["task_id"] !== undefined ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const document = await readJsonDocument(path, options);
    if (isTau2(document)) return timedTrace(document, account);
    const requests: TraceRequest[] = [];
    const jobs = new Set<string>();
    if (Array.isArray(document)) {
      document.forEach((item: unknown, at) =>
        handleItem(account, `[${at}]`, item, (row) => {
          const turns = readTrajectory(row, jobs);
          if (turns.length === 0) return "trajectory without an answer";
          requests.push(...turns);
          return undefined;
        }),
      );
    } else account.refuse(null, `must be an array of trajectories, not ${kindOf(document)}`);
    return newTrace("tau-bench", account, {
      requests,
      provenance: { order: "recorded", prompt_text: "recorded", prefix_sharing: "recorded" },
      notes: [
        "tool definitions, times and token counts are not in the file: think times are unknown and output lengths free",
      ],
    });
  },
};

function timedTrace(document: JsonObject, account: RowAccount): Trace {
  const axis = new TimeAxis();
  const placed = fromFirstArrival(tau2Requests(document, account, axis), axis);
  return newTrace("tau-bench", account, {
    ...placed,
    provenance: {
      ...toldBy(placed.requests),
      arrivals: "inferred",
      order: "recorded",
      think_time: "inferred",
    },
    notes: [
      "requests are taken to have been sent when their last input was logged, unless the model's own time is told",
      "of the system prompt only the policy is in the file, and no tool definitions: prompts sent are shorter than the recorded ones",
    ],
  });
}

function readTrajectory(row: JsonObject, jobs: Set<string>): TraceRequest[] {
  const task = idField(row, "task_id");
  const trial = optionalId(row, "trial");
  const traj = row["traj"];
  if (!Array.isArray(traj)) throw new BadRow(`"traj" must be an array of messages, not ${kindOf(traj)}`);
  const wrong = traj.findIndex((message) => !isObject(message) || typeof message["role"] !== "string");
  if (wrong !== -1) throw new BadRow(`traj[${wrong}] is no message with a role`);
  const wanted = trial === null ? `task-${task}` : `task-${task}-trial-${trial}`;
  const job_id = unusedName(wanted, jobs);
  // One by one: two answers in a row stay two turns.
  const messages = traj.flatMap((message: unknown) => toOpenAiMessages(message));
  return turnsOfConversation({ job_id, messages, tools: null });
}
