/** `--save-detailed`: what each request sent, kept until its record is written. */
import type { ModelPrompt } from "../client/client.ts";
import type { RequestRecord } from "../record/request-record.ts";

export interface InputTexts {
  keep(requestId: string, prompt: ModelPrompt): void;
  /** The record with its input; the input is then forgotten. */
  annotate(record: RequestRecord): RequestRecord;
}

export function createInputTexts(): InputTexts {
  const sent = new Map<string, string>();
  return {
    keep: (requestId, prompt) => sent.set(requestId, promptText(prompt)),
    annotate: (record) => {
      const text = sent.get(record.request_id);
      if (text === undefined) return record;
      sent.delete(record.request_id);
      return { ...record, input_text: text };
    },
  };
}

/** A prompt as a result file shows it: its text; ids and messages as JSON. */
function promptText(prompt: ModelPrompt): string {
  switch (prompt.kind) {
    case "text":
      return prompt.text;
    case "ids":
      return JSON.stringify(prompt.ids);
    case "messages": {
      const [only, ...more] = prompt.messages;
      const content = only?.["content"];
      return more.length === 0 && typeof content === "string" ? content : JSON.stringify(prompt.messages);
    }
  }
}
