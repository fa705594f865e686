/** The notation of the cases: events as servers write them. */

/** A completions chunk. */
export function R(text: string, more: object = {}): string {
  return event({ choices: [{ index: 0, text, ...more }] });
}

/** A chat chunk. */
export function C(delta: object, more: object = {}): string {
  return event({ choices: [{ index: 0, delta, ...more }] });
}

export function usage(completion: number, more: object = {}): object {
  return { prompt_tokens: 7, completion_tokens: completion, total_tokens: 7 + completion, ...more };
}

/** The usage chunk. */
export function U(completion: number, more: object = {}): string {
  return event({ choices: [], usage: usage(completion, more) });
}

export function FIN(reason: string): string {
  return event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
}

export const DONE = "data: [DONE]\n\n";

export function event(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
