/** `--profile`: the server's profiler runs while the load does. */
import type { Target } from "./target.ts";

export interface Profiler {
  /** Stops it; says so where the server does not. */
  stop(): Promise<void>;
}

/** `POST /start_profile`. A server that refuses is warned of; the run goes on. */
export async function startProfile(target: Target, warn: (text: string) => void): Promise<Profiler> {
  const ask = async (path: string): Promise<void> => {
    try {
      const status = await target.poke?.(path);
      if (status !== undefined && status >= 200 && status < 300) return;
      warn(`--profile: the server answered ${status ?? "nothing"} to POST ${path}`);
    } catch (error) {
      warn(`--profile: POST ${path} failed: ${(error as Error).message}`);
    }
  };
  await ask("/start_profile");
  return { stop: () => ask("/stop_profile") };
}
