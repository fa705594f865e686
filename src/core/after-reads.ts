/** Runs `run` once the event loop has read what sockets have by now. */
export function afterReads(run: () => void): void {
  // Called while sockets are read, this is behind them; called later, behind the next reads.
  setImmediate(run);
}
