/** A stub that speaks like trtllm-serve: per-request times come after the run, by a door of their own, and reach the summary. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { replay } from "../../src/cli/commands/replay.ts";
import { report } from "../../src/cli/commands/report.ts";
import { scratch, traceFile } from "../cli/run-cli.ts";
import { recordsOf, runCommand, summaryOf } from "../support/run-command.ts";
import { turn } from "./exact-run.ts";

const chunk = (text: string, finish: string | null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, text, finish_reason: finish }] })}\n\n`;
let told: object[] = [];
let served = 0;

/** First token after 60 ms, the second 20 ms later; it says that 40 of the 60 were queueing. */
function complete(res: ServerResponse): void {
  const arrival = 5000 + served++;
  const entry = (timing: object): object => ({
    request_id: served,
    perf_metrics: { timing_metrics: timing },
  });
  res.writeHead(200, { "content-type": "text/event-stream" });
  setTimeout(() => res.write(chunk("a", null)), 60);
  setTimeout(() => {
    told.push(
      entry({
        arrival_time: arrival,
        first_scheduled_time: arrival + 0.04,
        first_token_time: arrival + 0.06,
        last_token_time: arrival + 0.08,
      }),
    );
    res.end(
      `${chunk("b", "length")}data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })}\n\ndata: [DONE]\n\n`,
    );
  }, 80);
}

const server = createServer((req, res) => {
  req.resume();
  if (req.url === "/v1/completions") complete(res);
  else if (req.url === "/prometheus/metrics")
    res.end(
      "trtllm_num_requests_running 0\ntrtllm_num_requests_waiting 0\ntrtllm_kv_cache_utilization 0.5\n",
    );
  else if (req.url === "/perf_metrics") {
    res.end(JSON.stringify(told));
    told = [];
  } else if (req.url === "/v1/models") res.end(JSON.stringify({ data: [{ id: "m" }] }));
  else res.writeHead(404).end();
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

it("queue and prefill of each turn come from /perf_metrics, and add up with the client's times", async () => {
  const rows = [
    turn("a", "j", 2, { arrival_ms: 0, after: [], prompt_tokens: undefined, prompt: "one" }),
    turn("b", "j", 2, { after: ["a"], think_ms: 50, prompt_tokens: undefined, prompt: "two" }),
  ];
  const trace = traceFile(rows);
  // What earlier requests left behind is not ours.
  told = [{ request_id: 0, perf_metrics: { timing_metrics: { arrival_time: 1 } } }];
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const out = join(scratch(), "run");
  const words = [trace, "--base-url", base, "--model", "m", "--engine-metrics", "auto", "-q", "--json"];
  const { code, out: text } = await runCommand(replay, [...words, "--out", out]);
  expect(code).toBe(0);
  const { jobs } = summaryOf(text);
  expect(jobs.engine_split).toMatchObject({
    basis: "server",
    server: 2,
    estimated: 0,
    sources: ["trtllm perf_metrics, by arrival"],
  });
  const records = [...recordsOf(out).values()];
  const ttft = records.map((r) => (r.first_token_ms as number) - (r.sent_ms as number));
  // 20 ms each are prefill by the server's word; the rest of the client's time to the first token is queue.
  expect(jobs.breakdown_ms.prefill).toBeCloseTo(40, 6);
  expect(jobs.breakdown_ms.engine_queue).toBeCloseTo(ttft.reduce((a, b) => a + b, 0) - 40, 6);
  const again = await runCommand(report, [out, "--format", "json"]);
  expect(summaryOf(again.out).jobs.breakdown_ms).toEqual(jobs.breakdown_ms);
});
