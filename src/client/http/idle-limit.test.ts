import { describe, expect, it } from "vitest";
import { IdleLimit } from "./idle-limit.ts";

describe("IdleLimit", () => {
  it("trusts half a second at first, and what sockets were seen to survive less half a second", () => {
    const limit = new IdleLimit();
    limit.survived(25);
    expect([limit.mayReuse(0, true), limit.mayReuse(25, true), limit.keeps(true)]).toEqual([
      false,
      false,
      false,
    ]);
    limit.kept(true);
    expect([limit.mayReuse(0, true), limit.keeps(true)]).toEqual([true, true]);
    expect([limit.mayReuse(500, true), limit.mayReuse(501, true)]).toEqual([true, false]);
    limit.survived(3000);
    expect([limit.mayReuse(2500, true), limit.mayReuse(2501, true)]).toEqual([true, false]);
    expect([limit.mayDrop(100_000), limit.mayDrop(121_000)]).toEqual([false, true]);
  });

  it("learns from streamed and whole responses apart", () => {
    const limit = new IdleLimit();
    limit.kept(false);
    expect([limit.mayReuse(0, false), limit.mayReuse(0, true)]).toEqual([true, false]);
  });

  it("takes the server's word, or the shortest idle time after which it closed, whichever is less", () => {
    const limit = new IdleLimit();
    limit.kept(true);
    limit.keepAliveHeader("timeout=5, max=100");
    expect([limit.mayReuse(4500, true), limit.mayReuse(4501, true), limit.mayDrop(4501)]).toEqual([
      true,
      false,
      true,
    ]);
    limit.closed(2000);
    expect([limit.mayReuse(1500, true), limit.mayReuse(1501, true)]).toEqual([true, false]);
    limit.closed(4000);
    expect(limit.mayReuse(1501, true)).toBe(false);
  });

  it("never reuses a socket when the limit is within the margin", () => {
    const limit = new IdleLimit();
    limit.kept(true);
    limit.closed(400);
    expect(limit.mayReuse(0, true)).toBe(false);
  });

  it("does not take the server's word that it keeps connections", () => {
    const limit = new IdleLimit();
    limit.keepAliveHeader("timeout=5, max=100");
    // Not yet, so it is kept for the moment when it may be.
    expect([limit.mayReuse(0, true), limit.mayDrop(0)]).toEqual([false, false]);
    expect(limit.mayReuse(100, true)).toBe(false);
  });

  it("ignores a header without a timeout", () => {
    const limit = new IdleLimit();
    limit.keepAliveHeader("max=100");
    limit.kept(true);
    limit.survived(10_000);
    expect(limit.mayReuse(9500, true)).toBe(true);
  });
});
