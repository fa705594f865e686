/** From an error of a socket to the failure code of METRICS. */
import type { FailureCode } from "../../core/failure.ts";

/** How far the connection had come. */
export type ConnectPhase = "connecting" | "tls" | "open";

/** This machine ran out of something: descriptors, ports, memory. Never the server's fault. */
const OWN_LIMITS = new Set(["EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS", "ENOMEM"]);
const DNS = new Set([
  "ENOTFOUND",
  "ENODATA",
  "EAI_AGAIN",
  "EAI_FAIL",
  "EAI_NODATA",
  "EAI_NONAME",
  "EAI_ADDRFAMILY",
]);
const RESET = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "ETIMEDOUT", "ENOTCONN", "ESHUTDOWN"]);

export interface SocketFailure {
  readonly code: FailureCode;
  readonly message: string;
}

export function socketFailure(error: Error, phase: ConnectPhase): SocketFailure {
  const code = errorCode(error);
  const message = describe(error);
  if (OWN_LIMITS.has(code)) return { code: "client_resource", message };
  if (DNS.has(code)) return { code: "dns", message };
  if (isTls(error, code)) return { code: "tls", message };
  if (phase === "tls")
    return { code: "tls", message: `the connection was lost during the TLS handshake (${message})` };
  if (phase === "connecting") return { code: "connect", message };
  if (RESET.has(code)) return { code: "reset", message: `the connection was lost (${message})` };
  return { code: "reset", message };
}

/** The telling code; of several attempts (IPv6 and IPv4) a refusal says more than an address that is not there. */
function errorCode(error: Error): string {
  if (error instanceof AggregateError) {
    const codes = error.errors.map((one) => (one instanceof Error ? errorCode(one) : ""));
    return codes.find((code) => code === "ECONNREFUSED") ?? codes.find((code) => code !== "") ?? "";
  }
  const code = (error as NodeJS.ErrnoException).code;
  return typeof code === "string" ? code : "";
}

function describe(error: Error): string {
  if (error instanceof AggregateError) {
    const parts = error.errors.map((one) => (one instanceof Error ? describe(one) : String(one)));
    return [...new Set(parts)].join("; ");
  }
  return error.message || errorCode(error) || error.name;
}

function isTls(error: Error, code: string): boolean {
  if (/^(ERR_SSL|ERR_TLS|CERT_|EPROTO$|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH)/.test(code))
    return true;
  return code === "" && /\b(ssl|tls|certificate)\b/i.test(error.message);
}
