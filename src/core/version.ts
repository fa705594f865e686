declare const __REPRISE_VERSION__: string | undefined;

/** The package's version; `0.0.0-source` when run unbundled. */
export const VERSION: string = typeof __REPRISE_VERSION__ === "string" ? __REPRISE_VERSION__ : "0.0.0-source";
