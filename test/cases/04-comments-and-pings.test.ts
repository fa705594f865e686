import { describe, expect, it } from "vitest";
import { DONE, FIN, R, U } from "../stub/events.ts";
import { observe, tpot } from "../stub/observe.ts";

describe("case 4: comments, pings, empty data", () => {
  it.each([
    ["a comment", ": ping\n\n"],
    ["a ping event with empty data", "event: ping\ndata:\n\n"],
    ["a ping event with data", 'event: ping\ndata: {"type":"ping"}\n\n'],
    ["retry", "retry: 3000\n\n"],
    ["empty data", "data: \n\n"],
    ["two empty data lines", "data:\ndata:\n\n"],
    ["an unknown event that is no JSON", "event: keepalive\ndata: 12:00\n\n"],
    ["an unknown event that is a JSON string", 'event: formatted_prompt\ndata: "hello"\n\n'],
    ["an unknown event that is a list", "event: token_ids\ndata: [1,2]\n\n"],
    ["null", "data: null\n\n"],
    ["an object without anything", "data: {}\n\n"],
    ["an event without data", "event: heartbeat\n\n"],
    ["a bare line of JSON", ': ping\n{"status":"processing"}\n\n'],
    ["all", ": ping\n\nevent: ping\ndata:\n\nretry: 3000\n\n"],
  ])("%s", async (_name, noise) => {
    const seen = await observe([
      [50, noise],
      [100, noise],
      [300, R("A")],
      [350, noise],
      [400, R("B")],
      [401, FIN("stop") + U(2) + DONE],
    ]);
    expect(seen.failure).toBeNull();
    expect(seen.first_token_ms).toBe(300);
    expect(seen.output_tokens).toBe(2);
    expect(tpot(seen)).toBe(100);
  });
});
