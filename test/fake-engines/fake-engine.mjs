/**
 * A stand-in for an engine's server, for tests of launching: `node fake-engine.mjs --port N [flags]`.
 *
 *   --model NAME        what /v1/models and replies say (fake-model)
 *   --health CODE       status of /health (200); "none" = 404
 *   --completion CODE   status of completions (200)
 *   --slow-start MS     listens only after this time
 *   --exit-after MS     ends with status 1 after this time
 *   --exit-line TEXT    written before ending
 *   --noise N           lines of log written at the start
 *   --ignore-term       ignores SIGTERM
 *   --no-reset          has no way to empty its cache
 *   --metrics FILE      body of /metrics
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const text = (fallback) => ({ type: "string", default: fallback });
const { values: flags } = parseArgs({
  strict: false,
  options: {
    port: text("0"),
    host: text("127.0.0.1"),
    model: text("fake-model"),
    health: text("200"),
    completion: text("200"),
    "slow-start": text("0"),
    "exit-after": text(""),
    "exit-line": text(""),
    noise: text("0"),
    "ignore-term": { type: "boolean" },
    "no-reset": { type: "boolean" },
    metrics: text(""),
  },
});

if (flags["ignore-term"]) process.on("SIGTERM", () => console.log("SIGTERM ignored"));
for (let line = 0; line < Number(flags.noise); line++) console.log(`noise ${line} ${"x".repeat(200)}`);
if (flags["exit-after"] !== "") {
  setTimeout(() => {
    if (flags["exit-line"] !== "") console.error(flags["exit-line"]);
    process.exit(1);
  }, Number(flags["exit-after"]));
}

let resets = 0;
const server = createServer((request, response) => {
  const json = (status, body) => {
    response.writeHead(status, { "content-type": "application/json", server: "fake-engine" });
    response.end(JSON.stringify(body));
  };
  const path = (request.url ?? "").split("?")[0];
  request.resume();
  if (path === "/health") json(flags.health === "none" ? 404 : Number(flags.health), {});
  else if (path === "/v1/models")
    json(200, { object: "list", data: [{ id: flags.model, max_model_len: 4096 }] });
  else if (path === "/reset_prefix_cache" && !flags["no-reset"]) json(200, { resets: ++resets });
  else if (path === "/metrics" && flags.metrics !== "") response.end(readFileSync(flags.metrics));
  else if (path === "/v1/completions" && flags.completion === "200")
    json(200, {
      object: "text_completion",
      model: flags.model,
      choices: [{ index: 0, text: "x", finish_reason: "length" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
  else if (path === "/v1/completions") json(Number(flags.completion), { error: { message: "fake trouble" } });
  else json(404, { error: { message: "no such path" } });
});
server.on("error", (error) => {
  console.error(`cannot listen: ${error.code}`);
  process.exit(1);
});
setTimeout(() => server.listen(Number(flags.port), String(flags.host)), Number(flags["slow-start"]));
