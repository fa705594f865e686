/**
 * ATIF trajectories (Agent Trajectory Interchange Format, JSON): each agent step is a turn. Whether a step's timestamp is its start
 * or its end is not said; with NeMo's invocation times it is known, else it is taken to be the end.
 */
import { basename, join, resolve } from "node:path";
import { readJsonDocument } from "../document.ts";
import { handleDocument } from "../document-rows.ts";
import { readFolder } from "../folder.ts";
import type { ReadOptions, TraceFormat } from "../format.ts";
import { fromFirstArrival, TimeAxis } from "../instant.ts";
import { parsePythonJson } from "../lossless-json.ts";
import { newTrace, toldBy } from "../new-trace.ts";
import { isObject, scalarText } from "../openai-messages.ts";
import { RowAccount } from "../row-account.ts";
import { isFolder, takeSample } from "../sample.ts";
import type { Trace } from "../trace.ts";
import { referredFiles } from "./atif-files.ts";
import { TrajectoryReader } from "./atif-trajectory.ts";

export const atif: TraceFormat = {
  name: "atif",
  title: "ATIF trajectory (JSON, with the files that it refers to, or a folder)",
  readsFolder: true,
  marks: ["schema_version", "steps", "agent"],
  detect(sample) {
    const { document } = sample;
    if (!isObject(document) || !Array.isArray(document["steps"])) return 0;
    if (/^ATIF/i.test(scalarText(document["schema_version"]))) return 1;
    const first: unknown = document["steps"][0];
    return isObject(first) && "step_id" in first && "source" in first ? 0.9 : 0;
  },
  async read(path, options): Promise<Trace> {
    return (await isFolder(path)) ? readRoots(path, options) : readTrajectory(path, options);
  },
};

async function readTrajectory(path: string, options: ReadOptions): Promise<Trace> {
  const account = new RowAccount(path, options);
  const file = options.name ?? path;
  const document = await readJsonDocument(path, options, parsePythonJson);
  const axis = new TimeAxis();
  const { byReference } = isObject(document)
    ? await referredFiles(document, path, file)
    : { byReference: new Map() };
  const reader = new TrajectoryReader(account, axis, byReference);
  handleDocument(account, document, (whole) =>
    reader.trajectory(whole, basename(file).replace(/\.json(\.gz)?$/, ""), file),
  );
  const placed = fromFirstArrival(reader.requests, axis);
  const told = toldBy(placed.requests);
  return newTrace("atif", account, {
    ...placed,
    provenance: {
      ...told,
      arrivals: told.arrivals === "missing" ? "missing" : "inferred",
      order: "recorded",
      think_time: told.think_time === "missing" ? "missing" : "inferred",
    },
    notes: reader.notes(),
  });
}

/** A folder: every trajectory that no other one refers to is a job; the others belong to theirs. */
async function readRoots(folder: string, options: ReadOptions): Promise<Trace> {
  const name = options.name ?? folder;
  const { files } = await takeSample(folder, name);
  const found: { readonly file: string; readonly parts: ReadonlySet<string> }[] = [];
  let others = 0;
  for (const file of files) {
    const path = join(folder, file);
    const document = await readJsonDocument(path, { ...options, name: join(name, file) }, parsePythonJson);
    if (isObject(document) && Array.isArray(document["steps"]))
      found.push({ file, parts: (await referredFiles(document, path, file)).paths });
    else others++;
  }
  // A whole refers to more files than its parts do, and (should they refer back) has the shorter name.
  found.sort((one, two) => two.parts.size - one.parts.size || one.file.length - two.file.length);
  const covered = new Set<string>();
  const roots = found.filter(({ file, parts }) => {
    if (covered.has(resolve(join(folder, file)))) return false;
    for (const part of parts) covered.add(part);
    return true;
  });
  const trace = await readFolder(folder, roots.map(({ file }) => file).sort(), atif, options);
  return others === 0
    ? trace
    : {
        ...trace,
        notes: [...trace.notes, `${others} files of the folder are no trajectories and are not read`],
      };
}
