/** CUDA-graph batch sizes: a step is padded up to the next captured size, or runs eagerly where there is none. */

/**
 * Captured sizes, ascending. Default as in vLLM: 1, 2, 4, then every 8 up to 256, then every 16, up to
 * min(512, 2 x max_num_seqs). Empty when graphs are off.
 */
export function resolveCaptureSizes(config: {
  readonly enforce_eager: boolean;
  readonly cudagraph_capture_sizes: readonly number[] | null;
  readonly max_num_seqs: number;
}): readonly number[] {
  if (config.enforce_eager) return [];
  if (config.cudagraph_capture_sizes !== null) {
    return [...new Set(config.cudagraph_capture_sizes)].sort((a, b) => a - b);
  }
  const largest = Math.min(512, 2 * config.max_num_seqs);
  const sizes = [1, 2, 4];
  for (let size = 8; size <= largest; size += size < 256 ? 8 : 16) sizes.push(size);
  return sizes.filter((size) => size <= largest);
}

/** The captured size a step of `tokens` is padded to; `null` = none is large enough, the step runs eagerly. */
export function graphSize(sizes: readonly number[], tokens: number): number | null {
  if (tokens > (sizes[sizes.length - 1] ?? 0)) return null;
  let low = 0;
  let high = sizes.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sizes[middle] as number) >= tokens) high = middle;
    else low = middle + 1;
  }
  return sizes[low] as number;
}
