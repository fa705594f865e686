/** Empties a server's prefix cache between runs, as far as the engine offers it. */
import type { HttpCall } from "./http-call.ts";
import type { CacheReset } from "./launchers/launcher.ts";

export interface ResetOutcome {
  readonly done: boolean;
  /** What was done, or why not; one line, for the manifest. */
  readonly how: string;
}

/**
 * vLLM and SGLang have one endpoint; llama.cpp erases slot by slot. `done: false` means that runs may hit what earlier runs left: the
 * caller must restart the server, or see to it that prompts share nothing.
 */
export async function resetCache(call: HttpCall, baseUrl: string, reset: CacheReset): Promise<ResetOutcome> {
  try {
    switch (reset.kind) {
      case "none":
        return { done: false, how: "this engine has no way to empty its prefix cache" };
      case "post": {
        const reply = await call("POST", baseUrl + reset.path);
        if (reply.status === 200) return { done: true, how: `POST ${reset.path}` };
        const why =
          reply.status === 404 && reset.path === "/reset_prefix_cache"
            ? " (needs VLLM_SERVER_DEV_MODE=1)"
            : "";
        return { done: false, how: `POST ${reset.path} answers ${reply.status}${why}` };
      }
      case "try":
        for (const path of ["/reset_prefix_cache", "/flush_cache"]) {
          const reply = await call("POST", baseUrl + path);
          if (reply.status === 200) return { done: true, how: `POST ${path}` };
        }
        return { done: false, how: "neither /reset_prefix_cache nor /flush_cache is there" };
      case "llama-slots":
        return await eraseSlots(call, baseUrl);
    }
  } catch (error) {
    return { done: false, how: (error as Error).message };
  }
}

async function eraseSlots(call: HttpCall, baseUrl: string): Promise<ResetOutcome> {
  const listed = await call("GET", `${baseUrl}/slots`);
  if (listed.status !== 200) return { done: false, how: `/slots answers ${listed.status}` };
  const slots = JSON.parse(listed.body) as unknown;
  if (!Array.isArray(slots)) return { done: false, how: "/slots is not a list" };
  for (const [index, slot] of slots.entries()) {
    const id = typeof slot === "object" && slot !== null && "id" in slot ? Number(slot.id) : index;
    const reply = await call("POST", `${baseUrl}/slots/${id}?action=erase`);
    if (reply.status !== 200) return { done: false, how: `erasing slot ${id} answers ${reply.status}` };
  }
  return { done: true, how: `${slots.length} slots erased` };
}
