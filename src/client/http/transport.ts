/**
 * What carries an HTTP exchange: HTTP/1.1 (http1-transport.ts) or HTTP/2 (http2-transport.ts). It knows sockets and
 * instants and nothing of models. All instants are on the clock it was given.
 */
import type { FailureCode } from "../../core/failure.ts";
import type { Ms } from "../../core/units.ts";
import type { ResponseHeaders } from "./response-headers.ts";

/** A request ready to be written. What is in it besides the size is the transport's own. */
export interface WireRequest {
  readonly bodyBytes: number;
}

export interface RequestParts {
  readonly method: "GET" | "POST";
  /** Path and query, beginning with `/`. */
  readonly target: string;
  /** In the order in which they are sent; `Host` and `Content-Length` are the transport's. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | null;
}

/** Told what happens. After `end` or `fail`, after `Exchange.abort` and after `Exchange.finish` nothing more comes. */
export interface ExchangeHandler {
  /** The first byte was handed to the socket of a ready connection; 0 = the connection was there already. */
  sent(at: Ms, connectMs: Ms): void;
  head(status: number, headers: ResponseHeaders, at: Ms): void;
  /** The bytes are valid during this call only. */
  body(bytes: Buffer, start: number, end: number, at: Ms): void;
  /** All that one read brought has been handed on. */
  readDone(at: Ms): void;
  /** The body is complete. */
  end(at: Ms): void;
  fail(code: FailureCode, message: string, at: Ms): void;
}

export interface Exchange {
  /** Tears the exchange down. */
  abort(): void;
  /**
   * Enough was read. What is left of the body is read and dropped if it comes soon, so that the connection can serve again;
   * a connection that the peer just keeps open is closed.
   */
  finish(): void;
}

export interface Transport {
  prepare(parts: RequestParts): WireRequest;
  /** Starts now. The handler is never called inside this call, except for `sent`. */
  start(request: WireRequest, handler: ExchangeHandler): Exchange;
  /**
   * Opens a connection ahead, which the next request then uses, so that it does not wait for one. Resolves when it is open
   * (also if one was open already), or with what went wrong. Absent where the transport cannot.
   */
  connect?(): Promise<ConnectFailure | null>;
  /** Closes connections that were opened ahead and have served nothing: a server may attend to one at a time. */
  dropUnused?(): void;
  close(): Promise<void>;
}

export interface ConnectFailure {
  readonly code: FailureCode;
  readonly message: string;
}
