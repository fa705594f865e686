import { expect, it } from "vitest";
import { plainJson, plainText } from "./terminal-text.ts";

const HOSTILE = "\u001b[31m\u009b2J\u202e\u2028\u0000\u007f\r\nü";

it("plainText leaves nothing that steers a terminal", () => {
  expect(plainText(HOSTILE)).toBe("\\x1b[31m\\x9b2J\\u202e\\u2028\\x00\\x7f\\r\\nü");
});

it("plainJson neither, and the value stays the same", () => {
  const json = plainJson(JSON.stringify({ [HOSTILE]: HOSTILE }));
  // eslint-disable-next-line no-control-regex
  expect(json).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/);
  expect(JSON.parse(json)).toEqual({ [HOSTILE]: HOSTILE });
});
