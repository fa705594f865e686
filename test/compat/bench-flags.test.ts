/** Every flag of COMPAT B: its effect on the wire, on the schedule or in the file, which a run without it does not show. */
import { afterAll, describe, expect, it } from "vitest";
import { removeFolder, runCompat } from "../support/compat-stub.ts";
import { FILE_ROWS } from "./bench-file-rows.ts";
import { LOAD_ROWS } from "./bench-load-rows.ts";
import { ADDRESS, DATASET, REST } from "./bench-row.ts";
import { WIRE_ROWS } from "./bench-wire-rows.ts";

afterAll(removeFolder);

const ROWS = { ...WIRE_ROWS, ...LOAD_ROWS, ...FILE_ROWS };

/** COMPAT B, line by line, and a flag of vLLM's that changes what is sent. */
const FLAGS =
  "--backend --base-url --host --port --endpoint --header --dataset-name --dataset-path --num-prompts --no-oversample --seed --shuffle --model --served-model-name --tokenizer --request-rate --burstiness --max-concurrency --ramp-up-strategy --ramp-up-start-rps --ramp-up-end-rps --logprobs --top-p --top-k --min-p --temperature --ignore-eos --use-beam-search --extra-body --hyperparameter-path --lora-modules --lora-assignment --profile --goodput --percentile-metrics --metric-percentiles --request-id-prefix --ready-check-timeout-sec --num-warmups --probe-request-rate --label --save-result --save-detailed --append-result --metadata --result-dir --result-filename --disable-tqdm --debug --random-input-len --random-output-len --random-prefix-len --random-range-ratio --no-normalize".split(
    " ",
  );

describe("bench: every flag of COMPAT B is in force", () => {
  const usual = runCompat("bench", [...DATASET, ...ADDRESS, ...REST]);

  it("the table holds them all", () => {
    expect(Object.keys(ROWS).sort()).toEqual([...FLAGS].sort());
  });

  it.each(Object.entries(ROWS))("%s", async (_flag, row) => {
    const around = [...(row.dataset ?? DATASET), ...(row.address ?? ADDRESS), ...(row.rest ?? REST)];
    const options = row.existing === undefined ? {} : { existing: row.existing };
    const run = await runCompat("bench", [...around, ...row.argv], options);
    expect(run.code, run.err).toBe(0);
    await row.check(run);
    const without =
      row.without === undefined
        ? await usual
        : await runCompat("bench", [...around, ...row.without], options);
    expect(without.code, without.err).toBe(0);
    await expect((async () => row.check(without))()).rejects.toThrow();
  });
});
