import { defineConfig } from "vitest/config";

export default defineConfig({
  define: { __REPRISE_VERSION__: JSON.stringify("0.0.0-test") },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    setupFiles: ["test/property-seed.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
