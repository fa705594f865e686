/**
 * Units carried in types. A flavoured number takes plain arithmetic results, but a value already known to be
 * in one unit cannot be passed where another unit is meant: handing `Seconds` to a parameter of type `Ms` does
 * not compile. See docs/adr/0005-flavoured-units.md.
 *
 * Inside Reprise every time is in milliseconds, a double, on one monotonic clock. Other units exist at the edges only.
 */
declare const unit: unique symbol;

/** Milliseconds; as an instant: on the monotonic clock of the run. */
export type Ms = number & { readonly [unit]?: "ms" };
/** Seconds: only at edges (flags, files of other tools). */
export type Seconds = number & { readonly [unit]?: "s" };
/** A count of tokens. */
export type Tokens = number & { readonly [unit]?: "tokens" };
/** Requests a second. */
export type PerSecond = number & { readonly [unit]?: "1/s" };

/** Seconds → milliseconds. */
export function msFromSeconds(s: Seconds): Ms {
  return (s as number) * 1000;
}

/** Milliseconds → seconds. */
export function secondsFromMs(ms: Ms): Seconds {
  return (ms as number) / 1000;
}
