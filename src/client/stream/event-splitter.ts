/**
 * Splits the bytes of a body into events. The range handed on is valid during the call only. Both splitters give the
 * same events for every way of cutting the bytes, which a property test holds them to.
 */
export interface EventSink {
  /**
   * `name` is the SSE event name, `message` if there is none, and empty for a line that belongs to no event and looks like a JSON
   * object or like HTML. The data may be empty where the name is `error`. `whole` is false for what the end of the body cut off: an
   * event without its blank line, a line without its line end.
   */
  event(name: string, bytes: Buffer, start: number, end: number, whole: boolean): void;
}

export interface EventSplitter {
  push(bytes: Buffer, start: number, end: number): void;
  /** The body is over: what is pending is handed on. */
  end(): void;
}
