import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Apart from the other tests: what these need is nearly a gigabyte, which nobody else should wait for. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('.', import.meta.url)),
    include: ['*.test.ts'],
    globalSetup: ['install.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
