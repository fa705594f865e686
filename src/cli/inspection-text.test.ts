import { expect, it } from "vitest";
import { parseGenerateOptions } from "../generate/generate-options.ts";
import { generateTrace, toTrace } from "../generate/generate-trace.ts";
import { inspectTrace } from "../trace/inspect.ts";
import { inspectionText } from "./inspection-text.ts";

it("tells what was made up, and the time budgets", async () => {
  const options = parseGenerateOptions({ numJobs: 3, budgetMs: 30_000 });
  const text = inspectionText(inspectTrace(toTrace(await generateTrace(options))));
  expect(text).toMatch(
    /^made up +arrivals, order, think time, prompt length, prefix sharing, output length$/m,
  );
  expect(text).toMatch(/^missing +prompt text, sampling$/m);
  expect(text).toMatch(/^time budgets +3 jobs, 30 s$/m);
});
