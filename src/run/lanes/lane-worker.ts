/** One lane of load: a worker thread with a client, connections and prompts of its own, which executes its part of the plan. */
import { parentPort, workerData } from "node:worker_threads";
import { monotonicOffset } from "../../core/clock-anchor.ts";
import { startLoopMonitor } from "../../core/loop-monitor.ts";
import { RealClock } from "../../core/real-clock.ts";
import { secrets } from "../../core/secret.ts";
import type { Ms } from "../../core/units.ts";
import { dispatch } from "../../dispatch/dispatch.ts";
import type { DispatchCounts, DispatchRun } from "../../dispatch/dispatch-env.ts";
import { jobIdAt } from "../../plan/planned-requests.ts";
import { clientOfSpec } from "../client-spec.ts";
import { within } from "../load.ts";
import { liveAnswers } from "../live-answers.ts";
import { createInputTexts } from "../input-texts.ts";
import { countingClient, createOutputCounter } from "../output-counter.ts";
import { promptToolsOfSpec } from "../prompt-tools.ts";
import { createRequestMaker, makerOptions } from "../request-maker.ts";
import { createWarmupGuard } from "../warmup-guard.ts";
import {
  COUNTS,
  type FromLane,
  type LaneShared,
  type LaneStart,
  SENT,
  type ToLane,
} from "./lane-messages.ts";
import { RecordPost } from "./record-post.ts";

/** A connection that takes longer is opened when the first request is due. */
const CONNECT_MS = 1000;

const port = parentPort;
if (port === null) throw new Error("a lane runs on a worker thread");
const post = (message: FromLane): void => port.postMessage(message);

/** Orders that came before there was a run to give them to. */
const early: ToLane[] = [];
let take = (order: ToLane): void => void early.push(order);
port.on("message", (order: ToLane) => take(order));

try {
  await runLane(workerData as LaneStart);
} catch (error) {
  post({ type: "bug", text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
port.close();

async function runLane(start: LaneStart): Promise<void> {
  const { spec, plan, shared } = start;
  for (const secret of start.secrets) secrets.add(secret);
  const clock = new RealClock();
  const offset = monotonicOffset();
  const tools = await promptToolsOfSpec(spec.tools);
  const counter = createOutputCounter(tools.tokenizer);
  const guard = createWarmupGuard(spec.warmups);
  const inputs = spec.keepInput ? createInputTexts() : null;
  const own = clientOfSpec(spec.client, clock);
  const client = countingClient(own, counter);
  const make = createRequestMaker(
    makerOptions(spec.facts, {
      ...tools,
      needsText: () => counter.needsText(),
      jobIdOf: (planned) => jobIdAt(plan.jobs, planned.job),
    }),
  );
  const records = new RecordPost(shared, post, (run) => clock.at(clock.now(), run));
  // Whatever ends this thread: what has finished is handed over.
  process.on("exit", () => records.flush(true));
  const monitor = startLoopMonitor(() => own.openStreams, true);
  let t0: Ms = 0;
  const agreed = new Promise<Ms>((resolve) => {
    take = (order) => {
      if (order.type === "start") {
        // The one from before may have waited too long for the other lanes.
        void own.connect();
        resolve(order.monotonic_ms - offset);
      } else obey(run, order, records);
    };
  });
  const run = dispatch(plan, {
    clock,
    client,
    prepare: (planned, history) => {
      const model = make(planned, liveAnswers(history, plan));
      guard.measured(model.prompt);
      inputs?.keep(planned.request_id, model.prompt);
      return own.prepare(model);
    },
    history: start.history,
    keep: { keepChunks: start.keepChunks, keepText: start.saveText },
    agreeStart: async () => {
      await within(clock, CONNECT_MS, own.connect());
      post({ type: "ready" });
      return agreed;
    },
    onStart: (instant) => {
      t0 = instant.t0;
    },
    onSend: (index, intended, slot) => {
      shared.times[3 * index] = intended;
      shared.times[3 * index + 1] = slot;
      shared.times[3 * index + 2] = clock.now() - t0;
      shared.state[index] = SENT;
      tell(shared, run.counts);
    },
    onRecord: (record, index) => {
      records.add(inputs?.annotate(record) ?? record, index);
      tell(shared, run.counts);
    },
    ...(start.stop === null ? {} : { stop: start.stop }),
  });
  for (const order of early.splice(0)) take(order);
  try {
    const result = await run.done;
    tell(shared, run.counts);
    records.flush(true);
    post({ type: "done", result, health: monitor.stop(), warmupDuplicates: guard.duplicates() });
  } finally {
    records.flush(true);
    monitor.stop();
    await own.close();
  }
}

function obey(run: DispatchRun, order: Exclude<ToLane, { type: "start" }>, records: RecordPost): void {
  if (order.type === "drain") run.drain(order.graceMs ?? undefined);
  else if (order.type === "abort") run.abort();
  else records.flush();
}

function tell(shared: LaneShared, counts: DispatchCounts): void {
  for (let at = 0; at < COUNTS.length; at++)
    shared.counts[at] = counts[COUNTS[at] as (typeof COUNTS)[number]];
}
