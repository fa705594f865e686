/**
 * Inspect AI logs: JSON, or the `.eval` archive. Each sample is a job, its model events are turns. A sample without events (older
 * logs, or those written without a transcript) is read from its messages.
 */
import { isZip, ZipArchive } from "../../core/zip.ts";
import { readJsonDocument } from "../document.ts";
import { arrayAt, handleDocument } from "../document-rows.ts";
import type { TraceFormat } from "../format.ts";
import { fromFirstArrival } from "../instant.ts";
import { parsePythonJson } from "../lossless-json.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject } from "../openai-messages.ts";
import { linkCalls } from "../recorded-calls.ts";
import { RowAccount } from "../row-account.ts";
import type { Trace } from "../trace.ts";
import { readArchivedSamples } from "./inspect-ai-archive.ts";
import { SampleReader } from "./inspect-ai-sample.ts";

export const inspectAi: TraceFormat = {
  name: "inspect-ai",
  title: "Inspect AI log (JSON, or a .eval archive)",
  marks: ["eval", "samples", "status", "version"],
  detect(sample) {
    if (isObject(sample.document)) {
      const { document } = sample;
      if (!isObject(document["eval"]) || !("version" in document)) return 0;
      // An archive's first record, while the evaluation runs, has a plan and no status yet.
      return "status" in document || "plan" in document ? 1 : 0;
    }
    return /^\s*\{\s*"version"\s*:/.test(sample.head) &&
      /"status"\s*:/.test(sample.head) &&
      /"eval"\s*:\s*\{/.test(sample.head)
      ? 0.9
      : 0;
  },
  async read(path, options): Promise<Trace> {
    const account = new RowAccount(path, options);
    const reader = new SampleReader(account);
    const notes: string[] = [];
    if (await isZip(path)) {
      const archive = await ZipArchive.open(path, options.name ?? path);
      try {
        const isDone = await readArchivedSamples(archive, account, reader);
        if (!isDone) notes.push("the evaluation had not ended when this log was written");
      } finally {
        await archive.close();
      }
    } else {
      const document = await readJsonDocument(path, options, parsePythonJson);
      handleDocument(account, document, (log) =>
        arrayAt(log["samples"] ?? [], "samples").forEach((sample, at) =>
          reader.sample(sample, `samples[${at}]`),
        ),
      );
    }
    const { calls, conversations, tools, axis } = reader;
    const linked = linkCalls(calls, tools);
    const placed = fromFirstArrival([...linked.requests, ...conversations], axis);
    const isTold = calls.length > 0;
    return newTrace("inspect-ai", account, {
      ...placed,
      provenance: {
        ...toldBy(placed.requests),
        order: isTold ? "inferred" : "recorded",
        think_time: isTold ? "inferred" : "missing",
      },
      notes: [...notes, ...linked.notes, ...reader.notes()],
    });
  },
};
