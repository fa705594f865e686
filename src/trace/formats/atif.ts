/**
 * ATIF trajectories (Agent Trajectory Interchange Format, JSON): each agent step is a turn. Whether a step's timestamp is its start
 * or its end is not said; with NeMo's invocation times it is known, else it is taken to be the end.
 */
import { basename } from "node:path";
import { readJsonDocument } from "../document.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { newProvenance } from "../new-request.ts";
import { isObject, scalarText } from "../openai-messages.ts";
import { BadRow, RowAccount } from "../row-account.ts";
import { kindOf } from "../row-reader.ts";
import type { Trace } from "../trace.ts";
import { TrajectoryReader } from "./atif-trajectory.ts";

export const atif: TraceFormat = {
  name: "atif",
  title: "ATIF trajectory (JSON)",
  marks: ["schema_version", "steps", "agent"],
  detect(sample) {
    const { document } = sample;
    if (!isObject(document) || !Array.isArray(document["steps"])) return 0;
    if (/^ATIF/i.test(scalarText(document["schema_version"]))) return 1;
    const first: unknown = document["steps"][0];
    return isObject(first) && "step_id" in first && "source" in first ? 0.9 : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const document = await readJsonDocument(path, options);
    const axis = new TimeAxis();
    const reader = new TrajectoryReader(account, axis);
    try {
      if (!isObject(document)) throw new BadRow(`must be a JSON object, not ${kindOf(document)}`);
      reader.trajectory(document, basename(options.name ?? path).replace(/\.json(\.gz)?$/, ""));
    } catch (error) {
      if (!(error instanceof BadRow)) throw error;
      account.refuse(null, error.message);
    }
    const placed = fromFirstArrival(reader.requests, axis);
    const { requests } = placed;
    return {
      format: "atif",
      path,
      header: placed.header,
      requests,
      rows: account.counts(),
      faults: account.faults,
      provenance: newProvenance({
        arrivals: requests.some(({ arrival_ms }) => arrival_ms !== null) ? "inferred" : "missing",
        order: "recorded",
        think_time: requests.some(({ think_ms }) => think_ms !== null) ? "inferred" : "missing",
        prompt_text: "recorded",
        prompt_length: requests.some(({ recorded }) => recorded?.prompt_tokens != null)
          ? "recorded"
          : "missing",
        prefix_sharing: "recorded",
        output_length: requests.some(({ recorded }) => recorded?.output_tokens != null)
          ? "recorded"
          : "missing",
      }),
      notes: reader.notes(),
    };
  },
};
