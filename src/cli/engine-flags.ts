/** Command lines whose unknown flags are those of vLLM's engine: it runs in this process, as in the tool whose flags these are. */
import { inProcessEngine } from "../run/in-process-engine.ts";

/** `--backend vllm` without an address, before the words are parsed. */
export function hasEngineFlags(argv: readonly string[]): boolean {
  const valueOf = (flag: string): string | undefined => {
    const at = argv.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
    const word = argv[at];
    return word === undefined || word === flag ? argv[at + 1] : word.slice(flag.length + 1);
  };
  const given = (flag: string): string | undefined =>
    argv.some((word) => word.replaceAll("_", "-").split("=", 1)[0] === flag) ? "given" : undefined;
  const backend = argv.some((word) => word.split("=", 1)[0] === "--backend")
    ? valueOf("--backend")
    : undefined;
  if (backend === undefined) return false;
  const address = given("--base-url") ?? given("--host") ?? given("--port") ?? given("--endpoint");
  return (
    inProcessEngine({ backend, ...(address === undefined ? {} : { base_url: address }) }, true) === "vllm"
  );
}
