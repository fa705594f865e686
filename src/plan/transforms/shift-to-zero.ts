import { formatDuration } from "../../core/duration.ts";
import { epochUnit } from "../../trace/arrivals.ts";
import { mapOffsets, offsetRange, type Transformed, type Workload } from "../workload.ts";

/** 2001-09-09 in ms; times above it are Unix times, not offsets. */
const EPOCH_MS = 1e12;
const MONTH_MS = 30 * 24 * 3_600_000;
/** Above this many arrivals a millisecond, times in another unit are likelier than such a load. */
const DENSE_PER_MS = 1;
const DENSE_SAMPLE = 10;

/** The first arrival becomes 0 (epoch times become offsets); spans that hint at a wrong unit are said. */
export function shiftToZero(work: Workload): Transformed {
  const range = offsetRange(work);
  if (range === null) return { jobs: work, notes: [] };
  const { first, last, known } = range;
  const span = last - first;
  const notes: string[] = [];
  const spanText = span < 1 ? `${Number(span.toPrecision(3))} ms` : formatDuration(span);
  const unit = epochUnit(first);
  if (first >= EPOCH_MS) notes.push("arrivals are calendar times; the first one is offset 0");
  if (span > 0 && known > 1 && (span < 1 || (known >= DENSE_SAMPLE && known / span > DENSE_PER_MS))) {
    notes.push(
      `warning: ${known} requests in ${spanText}: are these times in seconds, not milliseconds? (--speed 0.001 stretches them)`,
    );
  } else if (unit !== null && known > 1) {
    notes.push(
      `warning: the first arrival looks like Unix time in ${unit.name}, read as milliseconds (--speed ${unit.speed} sets it right)`,
    );
  } else if (span > MONTH_MS) {
    notes.push(`warning: the arrivals span ${spanText}: is the unit right? (--speed shortens them)`);
  }
  if (first === 0) return { jobs: work, notes };
  return { jobs: mapOffsets(work, (offset) => offset - first), notes };
}
