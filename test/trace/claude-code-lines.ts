/** Lines of a Claude Code log, `at` ms after {@link T0}. */
export const T0 = Date.UTC(2026, 5, 1, 10);
export interface Line {
  at: number;
  uuid: string;
  parent?: string | null;
  content: unknown;
  /** message.id: makes the line an assistant's. */
  id?: string;
  usage?: object;
  more?: object;
}
export const line = ({ at, uuid, parent, content, id, usage, more }: Line): object => ({
  type: id === undefined ? "user" : "assistant",
  timestamp: new Date(T0 + at).toISOString(),
  sessionId: "s",
  uuid,
  parentUuid: parent ?? null,
  isSidechain: false,
  message:
    id === undefined ? { role: "user", content } : { role: "assistant", id, model: "m", content, usage },
  ...more,
});
export const usage = (input: number, created: number, read: number, output: number): object => ({
  input_tokens: input,
  cache_creation_input_tokens: created,
  cache_read_input_tokens: read,
  output_tokens: output,
});
export const use = (id: string, name = "Bash", input: object = {}): object => ({
  type: "tool_use",
  id,
  name,
  input,
});
export const result = (id: string, content = "r"): object => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});
export const text = (value: string): object => ({ type: "text", text: value });
