import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (file: string) => fileURLToPath(new URL(`./packages/quartermaster/src/${file}`, import.meta.url))

export default defineConfig({
  resolve: {
    // Tests run on the sources, so that a stale build can never make one pass.
    alias: [
      { find: /^quartermaster$/, replacement: source('index.ts') },
      { find: /^quartermaster\/probes$/, replacement: source('probes.ts') },
    ],
  },
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/*/test/**/*.test.ts',
      'bench/**/*.test.ts',
      'examples/**/*.test.ts',
      'scripts/**/*.test.ts',
    ],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
