import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Columns } from "../../../web/columns.ts";
import { ColumnWriter, MICROSECOND } from "./columns.ts";

async function roundTrip(write: (writer: ColumnWriter) => void): Promise<Columns> {
  const writer = new ColumnWriter();
  write(writer);
  const packed = Buffer.concat((await writer.packed(30)).map((piece) => Buffer.from(piece, "base64")));
  return new Columns(gunzipSync(packed), writer.directory);
}

describe("packed columns", () => {
  it("give back whole microseconds exactly, and what was not measured", async () => {
    const times = [0, 0.001, 1.234, NaN, 5_000_000.017, 12.5, NaN, -0.25, 86_400_000.001];
    const columns = await roundTrip((writer) => {
      writer.numbers("plain", times, MICROSECOND);
      writer.numbers("delta", times, MICROSECOND, "delta");
      writer.text("ids", ["a", "</script>", "\u2028"]);
    });
    expect([...columns.numbers("plain")]).toEqual(times);
    expect([...columns.numbers("delta")]).toEqual(times);
    expect(columns.texts("ids")).toEqual(["a", "</script>", "\u2028"]);
  });

  it("take what no clock can show as not measured, and go on after it", async () => {
    const columns = await roundTrip((writer) =>
      writer.numbers("a", [1, Infinity, 1e300, -1e300, 2], 1, "delta"),
    );
    expect([...columns.numbers("a")]).toEqual([1, NaN, NaN, NaN, 2]);
  });

  it("give back any whole numbers", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.maxSafeInteger().map((n) => Math.trunc(n / 8)),
            fc.constant(NaN),
          ),
        ),
        async (values) => {
          const columns = await roundTrip((writer) => {
            writer.numbers("a", values);
            writer.numbers("b", values, 1, "delta");
          });
          const plain = values.map((value) => (Object.is(value, -0) ? 0 : value));
          expect([...columns.numbers("a")]).toEqual(plain);
          expect([...columns.numbers("b")]).toEqual(plain);
        },
      ),
      { numRuns: 40 },
    );
  });
});
