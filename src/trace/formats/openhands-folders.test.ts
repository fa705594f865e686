/** OpenHands conversations in the folder that the SDK keeps them in, and in an evaluation's output. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonl, linksOf, readWritten } from "../../../test/trace/written-trace.ts";
import { takeSample } from "../sample.ts";
import { openhands } from "./openhands.ts";
import { openhandsSdk } from "./openhands-sdk.ts";

const T0 = Date.UTC(2025, 0, 27);
/** As Python writes it: no zone, microseconds. */
const iso = (ms: number): string => new Date(T0 + ms).toISOString().replace("Z", "000");

describe("openhands kept in folders and outputs", () => {
  const event = (kind: string, at: number, more: object = {}): object => ({
    id: `${kind}${at}`,
    timestamp: iso(at),
    source: "agent",
    kind,
    ...more,
  });

  it("reads a conversation's folder, an event a file, with the usage that its state keeps", async () => {
    const root = mkdtempSync(join(tmpdir(), "reprise-openhands-"));
    const rows = [
      event("SystemPromptEvent", 0, { system_prompt: { type: "text", text: "sys" } }),
      event("MessageEvent", 10, { source: "user", llm_message: { role: "user", content: "go" } }),
      event("MessageEvent", 2000, {
        llm_response_id: "r1",
        llm_message: { role: "assistant", content: "a" },
      }),
      event("MessageEvent", 3000, { source: "user", llm_message: { role: "user", content: "on" } }),
      event("MessageEvent", 4000, {
        llm_response_id: "r2",
        llm_message: { role: "assistant", content: "b" },
      }),
    ];
    const keep = (name: string, state: object | null): void => {
      mkdirSync(join(root, name, "events"), { recursive: true });
      rows.forEach((row, at) =>
        writeFileSync(join(root, name, "events", `event-0000${at}-x.json`), JSON.stringify(row, null, 2)),
      );
      if (state !== null) writeFileSync(join(root, name, "base_state.json"), JSON.stringify(state));
    };
    const one = { prompt_tokens: 20, completion_tokens: 4, cache_read_tokens: 8, response_id: "r1" };
    keep("a", { id: "conv", stats: { usage_to_metrics: { default: { token_usages: [one] } } } });
    const trace = await openhandsSdk.read(join(root, "a"), { skipBad: false });
    expect(linksOf(trace)).toEqual({ "conv/0": [[], null], "conv/1": [["conv/0"], 1000] });
    expect(trace.requests.map(({ recorded }) => recorded)).toMatchObject([
      { sent_ms: 0, end_ms: 1990, prompt_tokens: 20, output_tokens: 4, cached_tokens: 8 },
      { prompt_tokens: null, output_tokens: null, cached_tokens: null },
    ]);
    expect(trace.rows).toEqual({ read: 5, used: 5, skipped: {}, refused: 0 });
    expect(trace.provenance.prompt_length).toBe("recorded");
    // Without a state; beside another one; the events' own folder.
    keep("b", null);
    const both = await openhandsSdk.read(root, { skipBad: false });
    expect(both.requests.map(({ request_id }) => request_id)).toEqual(["conv/0", "conv/1", "b/0", "b/1"]);
    const inner = await openhandsSdk.read(join(root, "b", "events"), { skipBad: false });
    expect(inner.requests).toHaveLength(2);
    for (const path of [join(root, "a"), join(root, "b", "events"), root])
      expect(openhandsSdk.detect(await takeSample(path))).toBe(1);
    writeFileSync(join(root, "b", "events", "event-00009-x.json"), "[]");
    await expect(openhandsSdk.read(root, { skipBad: false })).rejects.toThrow(
      /b\/events\/event-00009-x\.json: event: must be a JSON object/,
    );
    rmSync(root, { recursive: true });
  });

  it("reads an evaluation's output: a line an instance, older histories in pairs", async () => {
    const say = (at: number, source: string, content: string): object => ({
      id: at,
      timestamp: iso(at),
      source,
      action: "message",
      args: { content },
    });
    const answered = (at: number): object => ({
      timestamp: iso(at),
      source: "agent",
      observation: "run",
      content: "out",
    });
    const rows = [
      { instance_id: "x", history: [say(0, "user", "go"), say(2000, "agent", "a")] },
      {
        instance_id: "x",
        history: [
          [say(0, "user", "go"), answered(0)],
          [say(3000, "agent", "b"), answered(4000)],
        ],
      },
      { instance_id: "y", history: [], error: "it died" },
      { instance_id: "z", history: null },
    ];
    const trace = await readWritten(openhands, jsonl(rows), { name: "output.jsonl" });
    expect(linksOf(trace)).toEqual({ "x/0": [[], null], "x#2/0": [[], null] });
    expect(trace.rows).toEqual({
      read: 10,
      used: 5,
      skipped: { instance: 2, "instance without a history": 2, "observation run": 1 },
      refused: 0,
    });
    await expect(
      readWritten(openhands, jsonl([rows[0], { instance_id: "w", history: [say(0, "user", "go"), {}] }]), {
        name: "output.jsonl",
      }),
    ).rejects.toThrow(/output\.jsonl: line 2: history\[1\]: neither "action" nor "observation"/);
    // One instance alone is one document.
    const alone = await readWritten(openhands, jsonl([rows[0]]), { name: "output.jsonl" });
    expect(alone.requests.map(({ request_id }) => request_id)).toEqual(["x/0"]);
  });
});
