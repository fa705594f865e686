/** File names as those tools make them up. Nothing in a name makes a folder. */
import type { JsonObject } from "../../core/json.ts";
import type { Manifest } from "../../record/manifest.ts";
import { resultSettings } from "./result-settings.ts";

/** `{label}-{rate}qps[-concurrency{N}]-{model}-{date}.json`, with a ramp `{label}-ramp-up-{strategy}-{a}qps-{b}qps…`. */
export function benchFileName(manifest: Manifest): string {
  const { options } = manifest;
  const { model, date, backend } = resultSettings(manifest, {});
  const cap = options["max_concurrency"];
  const traffic =
    options["ramp_up_strategy"] === undefined
      ? `${pythonFloat(options["request_rate"])}qps`
      : `ramp-up-${textOf(options["ramp_up_strategy"])}-${rps(options, "start")}qps-${rps(options, "end")}qps`;
  const concurrency = typeof cap === "number" ? `-concurrency${cap}` : "";
  return onePart(`${manifest.label ?? backend}-${traffic}${concurrency}-${lastPart(model)}-${date}.json`);
}

/** `vllm-{model}-{date}.json`. */
export function replayFileName(manifest: Manifest): string {
  const { model, date } = resultSettings(manifest, {});
  return onePart(`vllm-${lastPart(model)}-${date}.json`);
}

/** `result.json` → `result.pytorch.json`. */
export function pytorchFileName(path: string): string {
  return `${path.replace(/(?<=[^/])\.[^./]*$/, "")}.pytorch.json`;
}

function rps(options: JsonObject, which: "start" | "end"): string {
  const value = options[`ramp_up_${which}_rps`];
  return typeof value === "number" ? String(value) : "";
}

/** Their rates are Python floats, and are named as such: `4.0`, `0.5`, `inf`. */
function pythonFloat(value: unknown): string {
  if (typeof value !== "number") return "inf";
  return Number.isInteger(value) && value < 1e16 ? value.toFixed(1) : String(value);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function lastPart(model: string): string {
  return (
    model
      .split(/[/\\]/)
      .filter((part) => part !== "")
      .at(-1) ?? "model"
  );
}

function onePart(name: string): string {
  // eslint-disable-next-line no-control-regex
  return name.replace(/[/\\\u0000-\u001f]/g, "_");
}
