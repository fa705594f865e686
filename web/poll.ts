/** Asks the page's own server again and again, while the page is in sight. */
import { useEffect, useState } from "preact/hooks";

export interface Polled<T> {
  readonly value: T | null;
  readonly error: string | null;
}

export function usePoll<T>(
  path: string,
  every: number,
  done: (value: T) => boolean = () => false,
): Polled<T> {
  const [polled, setPolled] = useState<Polled<T>>({ value: null, error: null });
  useEffect(() => {
    let stopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      let next = every;
      if (document.visibilityState === "visible") {
        try {
          const reply = await fetch(path);
          const text = await reply.text();
          if (stopped) return;
          if (!reply.ok) setPolled((before) => ({ ...before, error: text }));
          else {
            const value = JSON.parse(text) as T;
            setPolled({ value, error: null });
            if (done(value)) return;
          }
        } catch {
          if (!stopped)
            setPolled((before) => ({
              ...before,
              error: "the server does not answer; is reprise ui still running?",
            }));
          next = every * 3;
        }
      }
      if (!stopped) timer = setTimeout(() => void ask(), next);
    };
    void ask();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [path]);
  return polled;
}
