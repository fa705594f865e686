/**
 * Property tests draw the same examples in every run, so that a red run means a change and not luck. To look for new
 * counterexamples: `REPRISE_PROPERTY_SEED=random npm test`, or a number.
 */
import fc from "fast-check";

const asked = process.env["REPRISE_PROPERTY_SEED"];
if (asked !== "random") fc.configureGlobal({ seed: asked === undefined ? 20_261_130 : Number(asked) });
