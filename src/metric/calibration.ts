/** What a calibration pass (each request alone on the server) told. */
import type { Ms } from "../core/units.ts";
import type { RequestRecord } from "../record/request-record.ts";
import type { PrefillPoint } from "./job/prefill-point.ts";

export interface Calibration {
  /** `sent` → `end` of each request, by request id. */
  readonly service_ms: ReadonlyMap<string, Ms>;
  readonly prefills: readonly PrefillPoint[];
}

/** Collects the ok records of a calibration pass. */
export async function readCalibration(
  records: AsyncIterable<readonly RequestRecord[]>,
): Promise<Calibration> {
  const service = new Map<string, Ms>();
  const prefills: PrefillPoint[] = [];
  for await (const batch of records) {
    for (const record of batch) {
      const { status, sent_ms, first_token_ms, end_ms, prompt_tokens, cached_tokens } = record;
      if (status !== "ok" || sent_ms === null || end_ms === null) continue;
      service.set(record.request_id, end_ms - sent_ms);
      if (first_token_ms !== null && prompt_tokens !== null)
        prefills.push({
          tokens: Math.max(0, prompt_tokens - (cached_tokens ?? 0)),
          ttft_ms: first_token_ms - sent_ms,
        });
    }
  }
  return { service_ms: service, prefills };
}
