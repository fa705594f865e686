/** The word after `--name` on a bench's command line; `null` where it was not given. */
export function flag(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? null : process.argv[at + 1];
}
