import { describe, expect, it } from "vitest";
import { resolveEndpoint, serverUrl } from "./endpoint.ts";

const CHAT = "/v1/chat/completions";

describe("resolveEndpoint", () => {
  it.each([
    ["http://h:1", null, "http://h:1/v1/chat/completions"],
    ["http://h:1/", null, "http://h:1/v1/chat/completions"],
    ["http://h:1/v1", null, "http://h:1/v1/chat/completions"],
    ["http://h:1/v1/", null, "http://h:1/v1/chat/completions"],
    ["http://h:1//v1//", null, "http://h:1/v1/chat/completions"],
    [" h:1 ", null, "http://h:1/v1/chat/completions"],
    ["localhost:8000/v1", null, "http://localhost:8000/v1/chat/completions"],
    ["[::1]:8000", null, "http://[::1]:8000/v1/chat/completions"],
    ["http://::1:8000", null, "http://[::1]:8000/v1/chat/completions"],
    ["::1:34849/v1", null, "http://[::1]:34849/v1/chat/completions"],
    ["http://fe80::1", null, "http://[fe80::1]/v1/chat/completions"],
    ["https://2001:db8::5:8443", null, "https://[2001:db8::5]:8443/v1/chat/completions"],
    ["https://api.example.com/openai/v1", null, "https://api.example.com/openai/v1/chat/completions"],
    ["https://api.example.com/openai", null, "https://api.example.com/openai/v1/chat/completions"],
    ["https://api.example.com/api/v3", null, "https://api.example.com/api/v3/chat/completions"],
    ["http://h:1/v1/chat/completions", null, "http://h:1/v1/chat/completions"],
    ["http://h:1", "/v1/completions", "http://h:1/v1/completions"],
    ["http://h:1/v1", "/v1/completions", "http://h:1/v1/completions"],
    ["http://h:1/v1", "completions", "http://h:1/v1/completions"],
    ["http://h:1/x", "/generate", "http://h:1/x/generate"],
    ["http://h:1/api/v3", "/v1/foo", "http://h:1/api/v3/v1/foo"],
    ["http://h:1", "http://other:2/a/b", "http://other:2/a/b"],
    ["http://h:1", "/", "http://h:1/"],
  ])("%s with --endpoint %s", (base, endpoint, display) => {
    expect(resolveEndpoint(base, CHAT, endpoint).display).toBe(display);
  });

  it.each([
    ["http://h:1/v1", "/api/generate", "http://h:1/api/generate"],
    ["http://h:1/api", "/api/generate", "http://h:1/api/generate"],
    ["http://h:1/sub/v1/", "/generate_stream", "http://h:1/sub/generate_stream"],
    ["http://h:1/v1/completions", CHAT, "http://h:1/v1/chat/completions"],
    ["http://h:1/v1/chat/completions", "/v1/completions", "http://h:1/v1/completions"],
    ["http://h:1/v1/models", CHAT, "http://h:1/v1/chat/completions"],
    ["http://h:1/api/v3/chat/completions", "/v1/completions", "http://h:1/api/v3/completions"],
    ["http://h:1/v1/chat/completions", "/completion", "http://h:1/completion"],
    ["http://h:1/v1/other", CHAT, "http://h:1/v1/other/v1/chat/completions"],
    ["http://h:1/v2", "/v2/models/ensemble/generate_stream", "http://h:1/v2/models/ensemble/generate_stream"],
  ])("%s for a protocol at %s", (base, path, display) => {
    expect(resolveEndpoint(base, path).display).toBe(display);
  });

  it("keeps a query, and shows none of it", () => {
    const endpoint = resolveEndpoint("https://h/openai?api-version=2", CHAT);
    expect([endpoint.target, endpoint.display]).toEqual([
      "/openai/v1/chat/completions?api-version=2",
      "https://h/openai/v1/chat/completions",
    ]);
    expect(resolveEndpoint("https://h/?a=1", CHAT, "/x?b=2").target).toBe("/x?a=1&b=2");
  });

  it("makes Basic of credentials, undoing the escapes", () => {
    const endpoint = resolveEndpoint("http://us%40er:p%3Ass@h:1/v1", CHAT);
    expect(endpoint.authorization).toBe(`Basic ${Buffer.from("us@er:p:ss").toString("base64")}`);
    expect([endpoint.display, endpoint.origin.href]).toEqual([
      "http://h:1/v1/chat/completions",
      "http://h:1/",
    ]);
  });

  it.each([
    "",
    "ftp://h",
    "ws://h:1",
    "http://",
    "http://h:99999",
    "http://a b",
    "http:/127.0.0.1:1",
    "https:h:1",
    "http://http://h:1",
    "http://h/:8000",
    "h/:8000",
  ])("refuses %j", (base) => {
    expect(() => resolveEndpoint(base, CHAT)).toThrow(/is not the URL of a server/);
  });

  it("takes a host that is called http", () => {
    expect(resolveEndpoint("http:8000", CHAT).display).toBe("http://http:8000/v1/chat/completions");
  });

  it("shows no password of a URL that it refuses", () => {
    expect(() => resolveEndpoint("http://user:hunter2@h:99999", CHAT)).toThrow(/^(?!.*hunter2)/);
  });
});

describe("serverUrl", () => {
  it.each([
    ["http://h:1", "/health", "http://h:1/health"],
    ["http://h:1/v1/", "/health", "http://h:1/health"],
    ["http://u:p@h:1/sub/v1", "/health", "http://h:1/sub/health"],
    ["http://h:1/v1/chat/completions", "/health", "http://h:1/health"],
    ["http://h:1/v1", "/v1/models", "http://h:1/v1/models"],
    ["http://h:1", "/v1/models", "http://h:1/v1/models"],
    ["http://h:1/api/v3", "/v1/models", "http://h:1/api/v3/models"],
  ])("%s %s", (base, path, url) => expect(serverUrl(base, path)).toBe(url));
});
