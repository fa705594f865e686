/** tau-bench results: an array of trajectories of OpenAI messages, without times or token counts. */
import type { JsonObject } from "../../core/json.ts";
import { turnsOfConversation } from "../conversation-turns.ts";
import { readJsonDocument } from "../document.ts";
import { handleItem } from "../document-rows.ts";
import type { TraceFormat } from "../format.ts";
import { newProvenance } from "../new-request.ts";
import { isObject, toOpenAiMessages } from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { kindOf } from "../row-reader.ts";
import { idField, optionalId } from "../row-fields.ts";
import type { TraceRequest } from "../trace-request.ts";
import type { Trace } from "../trace.ts";

export const tauBench: TraceFormat = {
  name: "tau-bench",
  title: "tau-bench results (JSON array of trajectories)",
  marks: ["task_id", "traj"],
  detect(sample) {
    const first: unknown = Array.isArray(sample.document) ? sample.document[0] : undefined;
    return isObject(first) && Array.isArray(first["traj"]) && first["task_id"] !== undefined ? 1 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const document = await readJsonDocument(path, options);
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
    return {
      format: "tau-bench",
      path,
      header: null,
      requests,
      rows: account.counts(),
      faults: account.faults,
      provenance: newProvenance({ order: "recorded", prompt_text: "recorded", prefix_sharing: "recorded" }),
      notes: [
        "tool definitions, times and token counts are not in the file: think times are unknown and output lengths free",
      ],
    };
  },
};

function readTrajectory(row: JsonObject, jobs: Set<string>): TraceRequest[] {
  const task = idField(row, "task_id");
  const trial = optionalId(row, "trial");
  const traj = row["traj"];
  if (!Array.isArray(traj)) throw new BadRow(`"traj" must be an array of messages, not ${kindOf(traj)}`);
  const wrong = traj.findIndex((message) => !isObject(message) || typeof message["role"] !== "string");
  if (wrong !== -1) throw new BadRow(`traj[${wrong}] is no message with a role`);
  const wanted = trial === null ? `task-${task}` : `task-${task}-trial-${trial}`;
  let job_id = wanted;
  for (let copy = 2; jobs.has(job_id); copy++) job_id = `${wanted}#${copy}`;
  jobs.add(job_id);
  // One by one: two answers in a row stay two turns.
  const messages = traj.flatMap((message: unknown) => toOpenAiMessages(message));
  return turnsOfConversation({ job_id, messages, tools: null });
}
