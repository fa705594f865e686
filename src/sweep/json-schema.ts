/** The published JSON Schema of `reprise.yaml`: made of the same definitions that check the file and the flags. */
import { z } from "zod";
import type { JsonObject } from "../core/json.ts";
import { benchOptions } from "../run/options/bench-options.ts";
import { jsonSchemaOf, type OptionTable } from "../run/options/option.ts";
import { replayOptions } from "../run/options/replay-options.ts";
import { sweepSchema } from "./config-schema.ts";

/** JSON Schema (2020-12) for editors: all that replay, bench and sweep read. */
export function configJsonSchema(): JsonObject {
  return wholeFile(unionOf(jsonSchemaOf(replayOptions), jsonSchemaOf(benchOptions as OptionTable)));
}

/** Both tables' options; one that takes other values in the two takes either. */
function unionOf(a: JsonObject, b: JsonObject): JsonObject {
  const first = a["properties"] as JsonObject;
  const properties: Record<string, JsonObject[string]> = { ...(b["properties"] as JsonObject), ...first };
  for (const [key, other] of Object.entries(b["properties"] as JsonObject)) {
    const mine = first[key] as JsonObject | undefined;
    if (mine === undefined || JSON.stringify(mine) === JSON.stringify(other)) continue;
    const { description, ...rest } = mine;
    properties[key] = { ...(description === undefined ? {} : { description }), anyOf: [rest, other ?? {}] };
  }
  return { properties, $defs: { ...(a["$defs"] as JsonObject), ...(b["$defs"] as JsonObject) } };
}

/** Sweep sections plus the options of `optionSchema`, alone or in groups. */
function wholeFile(optionSchema: JsonObject): JsonObject {
  const own = z.toJSONSchema(sweepSchema, { io: "input" }) as unknown as {
    properties: JsonObject;
    $defs?: JsonObject;
  };
  const options = (optionSchema["properties"] ?? {}) as JsonObject;
  const trace = options["trace_file"];
  const grouped = {
    type: "object",
    additionalProperties: false,
    properties: { ...options, trace: trace ?? {} },
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "reprise.yaml",
    type: "object",
    additionalProperties: false,
    $defs: { ...(optionSchema["$defs"] as JsonObject | undefined), ...own.$defs },
    properties: {
      trace: trace ?? {},
      ...options,
      ...own.properties,
      target: grouped,
      workload: grouped,
      objectives: { anyOf: [{ type: "array", items: { type: "string" } }, grouped] },
    },
  };
}
