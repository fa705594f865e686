/** MLflow's spans under the names that the others have: its attributes are JSON text, whole requests and responses among them. */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { isObject } from "../openai-messages.ts";

const OPERATIONS: Readonly<Record<string, string>> = {
  CHAT_MODEL: "chat",
  LLM: "chat",
  TOOL: "execute_tool",
};

export function fromMlflow(attributes: JsonObject): JsonObject {
  const type = parsed(attributes["mlflow.spanType"]);
  if (typeof type !== "string") return attributes;
  const told = (key: string): JsonObject => {
    const value = parsed(attributes[key]);
    return isObject(value) ? value : {};
  };
  const inputs = told("mlflow.spanInputs");
  const request = isObject(inputs["params"]) ? { ...inputs, ...inputs["params"] } : inputs;
  const usage = told("mlflow.chat.tokenUsage");
  const model = request["model"] ?? parsed(attributes["mlflow.llm.model"]);
  return {
    "gen_ai.operation.name": OPERATIONS[type] ?? type.toLowerCase(),
    "gen_ai.usage.input_tokens": usage["input_tokens"],
    "gen_ai.usage.output_tokens": usage["output_tokens"],
    ...(model === undefined ? {} : { "gen_ai.request.model": model }),
    "llm.invocation_parameters": request,
    "input.value": attributes["mlflow.spanInputs"],
    "output.value": langChainAnswer(told("mlflow.spanOutputs")) ?? attributes["mlflow.spanOutputs"],
    ...attributes,
  };
}

/** `{generations: [[{message}]]}` */
function langChainAnswer({ generations }: JsonObject): JsonValue | undefined {
  const first = Array.isArray(generations) ? (generations as JsonValue[]).flat()[0] : undefined;
  return isObject(first) ? (first["message"] ?? first["text"]) : undefined;
}

function parsed(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return value;
  }
}
