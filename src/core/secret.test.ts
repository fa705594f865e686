import { describe, expect, it } from "vitest";
import { isSecretField, Secrets } from "./secret.ts";

const KEY = "sk-CANARY+/=98(76)&[\\]543210";

describe("secrets", () => {
  const known = new Secrets();
  known.add(KEY);

  it.each([
    ["as they are", KEY],
    ["in a URL", encodeURIComponent(KEY)],
    ["in a URL's path", encodeURI(KEY)],
    ["in a URL, small letters", encodeURIComponent(KEY).replace(/%../g, (code) => code.toLowerCase())],
    ["in a JSON string", JSON.stringify(KEY).slice(1, -1)],
    ["in a JSON string with escaped slashes", JSON.stringify(KEY).slice(1, -1).replaceAll("/", "\\/")],
    ["in a JSON string with \\u escapes", KEY.replaceAll("+", "\\u002b").replaceAll("&", "\\u0026")],
    ["in HTML", KEY.replaceAll("&", "&#38;").replaceAll("+", "&#x2B;")],
    ["as Basic credentials", Buffer.from(KEY).toString("base64")],
    ["masked", "sk-CANAR******3210"],
    ["masked with dots, behind a name", "k=sk-CANARY+/=...3210"],
    ["masked to the end", "sk-CA…"],
  ])("are not shown %s", (_name, form) => {
    const shown = known.redact(`before "${form}" after`);
    expect(shown).toMatch(/^before "(k=)?\[redacted\]" after$/);
  });

  it("leave other text alone, and what looks a little like them", () => {
    for (const text of ["plain", "sk- ...", "sk-CANARD.", "sk-CXX***", "and so on ... sk-C", "a***b"])
      expect(known.redact(text)).toBe(text);
    const short = new Secrets();
    short.add("abc");
    expect(short.redact("abc")).toBe("abc");
  });
});

it("fields are secret by their name", () => {
  const secret = [
    "api_key",
    "apikey",
    "API-KEY",
    "key",
    "token",
    "access_token",
    "client_secret",
    "password",
  ];
  const open = ["tokenizer", "max_tokens", "stop_token", "key_count", "monkey", "author", "top_k", "model"];
  expect(secret.filter((name) => !isSecretField(name))).toEqual([]);
  expect(open.filter(isSecretField)).toEqual([]);
});
