/** A server that answers after 310 s, past every built-in limit of HTTP clients: `client-long-wait.mjs` bundles and runs this. */
import { DONE, FIN, R } from "../test/stub/events.ts";
import { send, stubClient } from "../test/stub/send.ts";
import { startStub } from "../test/stub/stub-server.ts";
import { response } from "../test/stub/wire.ts";

const seconds = Number(process.argv[2] ?? 310);
const stub = await startStub(() => [{ at: seconds * 1000, bytes: response([R("A"), FIN("stop"), DONE]) }]);
const client = stubClient(stub.url, { timeoutMs: 600_000 });
const seen = await send(client);
const waited = ((seen.first_token_ms ?? 0) - (seen.sent_ms ?? 0)) / 1000;
console.log(`${seen.failure?.code ?? "ok"}, first token after ${waited.toFixed(3)} s`);
const good = seen.failure === null && Math.abs(waited - seconds) < 1;
await client.close();
await stub.close();
process.exitCode = good ? 0 : 1;
