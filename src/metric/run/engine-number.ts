import type { Manifest } from "../../record/manifest.ts";

/** A number of the run's engine block (what the server's own metrics said over the run); `null` where it has none. */
export function engineNumber({ end }: Manifest, key: string): number | null {
  const engine = end?.engine;
  if (engine === null || typeof engine !== "object" || Array.isArray(engine)) return null;
  const value = (engine as Record<string, unknown>)[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
