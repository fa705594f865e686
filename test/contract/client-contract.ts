/** What every {@link Client} owes its caller, whatever is behind it. Run it by `describeClientContract(name, makeHarness)`. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Client, ModelRequest } from "../../src/client/client.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { Ms } from "../../src/core/units.ts";
import type { Observation } from "../../src/record/observation.ts";
import { modelRequest } from "../stub/observe.ts";

export interface ClientHarness {
  readonly client: Client;
  readonly clock: Clock;
  readonly model: string;
  /** Waits, and makes virtual time pass where there is any. */
  until<T>(promise: Promise<T>): Promise<T>;
  dispose(): Promise<void>;
}

/** The server behind the harness streams exactly `max_tokens` tokens, some ms apart, and says usage. */
export function describeClientContract(name: string, makeHarness: () => Promise<ClientHarness>): void {
  describe(`the client contract: ${name}`, () => {
    let harness: ClientHarness;
    beforeEach(async () => {
      harness = await makeHarness();
    });
    afterEach(() => harness.dispose());

    const request = (more: Partial<ModelRequest> = {}): ModelRequest =>
      modelRequest({ model: harness.model, max_tokens: 5, force_length: true, temperature: 0, ...more });
    const ask = (more: Partial<ModelRequest> = {}): Promise<Observation> =>
      harness.until(
        new Promise((resolve) => harness.client.send(harness.client.prepare(request(more)), resolve)),
      );
    const sleep = (ms: Ms): Promise<void> =>
      harness.until(new Promise((resolve) => harness.clock.at(harness.clock.now() + ms, resolve)));

    it("observes instants in order and counts", async () => {
      const before = harness.clock.now();
      const seen = await ask();
      expect([seen.failure, seen.output_tokens, seen.output_tokens_source, seen.attempts]).toEqual([
        null,
        5,
        "server",
        1,
      ]);
      expect([seen.prompt_tokens_source, seen.finish_reason]).toEqual(["server", "length"]);
      expect(seen.prompt_tokens as number).toBeGreaterThan(0);
      const instants = [
        before,
        seen.sent_ms,
        seen.first_token_ms,
        seen.last_token_ms,
        seen.end_ms,
        harness.clock.now(),
      ];
      expect(instants).toEqual([...instants].sort((a, b) => (a as number) - (b as number)));
      expect(seen.chunk_ms.length).toBe(seen.chunks);
      expect([seen.chunk_ms[0], seen.chunk_ms.at(-1)]).toEqual([seen.first_token_ms, seen.last_token_ms]);
      expect(seen.first_output_ms).toBe(seen.first_token_ms);
      expect((seen.text ?? "").length).toBeGreaterThan(0);
    });

    it("keeps no text and no chunks unless asked", async () => {
      const seen = await ask({ keep_text: false, keep_chunks: false });
      expect([seen.failure, seen.text, seen.chunk_ms]).toEqual([null, null, []]);
      expect(seen.chunks).toBeGreaterThan(0);
    });

    it("without streaming there is no first token", async () => {
      const seen = await ask({ stream: false });
      expect([seen.failure, seen.output_tokens, seen.first_token_ms, seen.chunk_ms]).toEqual([
        null,
        5,
        null,
        [],
      ]);
    });

    it("calls done once, never inside send, and tells the listener of each chunk", async () => {
      let inside = true;
      let calls = 0;
      let firsts = 0;
      const chunks: Ms[] = [];
      const { client } = harness;
      const prepared = client.prepare(request());
      const seen = await harness.until(
        new Promise<Observation>((resolve) => {
          client.send(
            prepared,
            (observation) => {
              expect(inside).toBe(false);
              calls++;
              resolve(observation);
            },
            { onFirstToken: () => firsts++, onChunk: (at) => chunks.push(at) },
          );
          inside = false;
        }),
      );
      await sleep(30);
      expect([calls, firsts, chunks]).toEqual([1, 1, seen.chunk_ms]);
    });

    it("sends one prepared request several times", async () => {
      const prepared = harness.client.prepare(request());
      const both = await harness.until(
        Promise.all(
          [1, 2].map(() => new Promise<Observation>((resolve) => harness.client.send(prepared, resolve))),
        ),
      );
      expect(both.map((seen) => [seen.failure, seen.output_tokens])).toEqual([
        [null, 5],
        [null, 5],
      ]);
    });

    it.each(["aborted", "timeout"] as const)(
      "cancel(%s) ends the exchange once, with what was seen",
      async (code) => {
        let calls = 0;
        const seen = await harness.until(
          new Promise<Observation>((resolve) => {
            const flight = harness.client.send(
              harness.client.prepare(request({ max_tokens: 400 })),
              (observation) => {
                calls++;
                resolve(observation);
              },
              {
                onFirstToken: () =>
                  harness.clock.at(harness.clock.now(), () => flight.cancel(code, "enough")),
              },
            );
          }),
        );
        await sleep(30);
        expect([calls, seen.failure]).toMatchObject([1, { code, message: "enough" }]);
        expect(seen.first_token_ms).not.toBeNull();
        expect(seen.chunks).toBeLessThan(400);
      },
    );

    it("cancel after the end does nothing; the client still serves", async () => {
      let calls = 0;
      let cancel = (): void => {};
      await harness.until(
        new Promise<void>((resolve) => {
          const flight = harness.client.send(harness.client.prepare(request()), () => {
            calls++;
            resolve();
          });
          cancel = () => flight.cancel("aborted", "late");
        }),
      );
      cancel();
      await sleep(20);
      expect(calls).toBe(1);
      expect((await ask()).failure).toBeNull();
    });

    it("close cuts what is in flight", async () => {
      const seen = await harness.until(
        new Promise<Observation>((resolve) => {
          harness.client.send(harness.client.prepare(request({ max_tokens: 400 })), resolve, {
            onFirstToken: () => harness.clock.at(harness.clock.now(), () => void harness.client.close()),
          });
        }),
      );
      expect(seen.failure?.code).toBe("aborted");
    });

    it("a refused request is a failed one, with the server's reason", async () => {
      const seen = await ask({ params: { max_tokens: -1 } });
      expect(seen.failure).toMatchObject({ code: "http_4xx", http_status: 400 });
      expect(seen.failure?.message).toMatch(/max_tokens/);
      expect([seen.first_token_ms, seen.output_tokens, seen.chunks]).toEqual([null, null, 0]);
    });
  });
}
