import { describe, expect, it } from "vitest";
import type { Manifest } from "../../record/manifest.ts";
import { benchFileName, pytorchFileName, replayFileName } from "./result-file-name.ts";
import { localStamp } from "./result-settings.ts";

const STARTED = "2026-01-31T12:34:56.000Z";
const at = localStamp(STARTED);

function manifest(options: Manifest["options"], label: string | null = null): Manifest {
  return {
    started_at: STARTED,
    label,
    options,
    target: { url: "http://h", model: "served", backend: "openai-chat", simulated: false, server: null },
  } as unknown as Manifest;
}

describe("names of result files", () => {
  it.each<[Manifest["options"], string | null, string]>([
    [{ request_rate: "inf", model: "m" }, null, `openai-chat-infqps-m-${at}.json`],
    // Their rates are Python floats.
    [{ request_rate: 4, model: "org/name" }, null, `openai-chat-4.0qps-name-${at}.json`],
    [{ request_rate: 0.5, max_concurrency: 16 }, "night", `night-0.5qps-concurrency16-served-${at}.json`],
    [
      {
        ramp_up_strategy: "linear",
        ramp_up_start_rps: 1,
        ramp_up_end_rps: 20,
        max_concurrency: 2,
        model: "/models/a/",
      },
      null,
      `openai-chat-ramp-up-linear-1qps-20qps-concurrency2-a-${at}.json`,
    ],
    // No part of a name makes a folder or leaves one.
    [{ request_rate: "inf", model: "..\\..\\m" }, "../../x", `.._.._x-infqps-m-${at}.json`],
    [{ request_rate: "inf", model: "///" }, "a\u0000b", `a_b-infqps-model-${at}.json`],
  ])("%j %j", (options, label, name) => {
    expect(benchFileName(manifest(options, label))).toBe(name);
  });

  it("of the replayer and of PyTorch", () => {
    expect(replayFileName(manifest({ model: "org/m" }))).toBe(`vllm-m-${at}.json`);
    expect(pytorchFileName("out.d/x.json")).toBe("out.d/x.pytorch.json");
    expect(pytorchFileName("out.d/x")).toBe("out.d/x.pytorch.json");
    expect(pytorchFileName("out.d/.x")).toBe("out.d/.x.pytorch.json");
  });

  it("are stamped in local time", () => {
    const local = new Date(STARTED);
    expect(at).toMatch(/^2026\d{4}-\d{4}56$/);
    expect(Number(at.slice(9, 11))).toBe(local.getHours());
  });
});
