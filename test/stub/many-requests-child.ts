/** Run with few descriptors: sends 200 requests at once and prints how each ended. */
import { send, stubClient } from "./send.ts";

const client = stubClient(process.argv[2] as string, { timeoutMs: 10_000 });
const all = await Promise.all(Array.from({ length: 200 }, () => send(client)));
const codes: Record<string, number> = {};
for (const seen of all) codes[seen.failure?.code ?? "ok"] = (codes[seen.failure?.code ?? "ok"] ?? 0) + 1;
process.stdout.write(JSON.stringify(codes));
await client.close();
