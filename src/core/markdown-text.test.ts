import { expect, test } from "vitest";
import { markdownText } from "./markdown-text.ts";

test("no character of a text is markup", () => {
  expect(markdownText("~~a~~ | [b](c) `d` *e* _f_ \\ &amp; <g>\n# h")).toBe(
    "\\~\\~a\\~\\~ \\| \\[b\\](c) \\`d\\` \\*e\\* \\_f\\_ \\\\ &amp;amp; &lt;g&gt;\\\\n# h",
  );
  expect(markdownText("ttft p99 +12.5 %")).toBe("ttft p99 +12.5 %");
});
