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
    testTimeout: 20_000,
    hookTimeout: 20_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'product',
          include: [
            'packages/*/src/**/*.test.ts',
            'packages/*/test/**/*.test.ts',
            'bench/**/*.test.ts',
            'examples/**/*.test.ts',
            'scripts/**/*.test.ts',
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'interop',
          include: ['interop/conformance/**/*.test.ts', 'interop/clients/**/*.test.ts'],
          // Runs only when one of these tests does, so whoever runs others does not install what these need.
          globalSetup: ['interop/install.ts'],
          // After the product's own tests: programs of others, each a process, are slow beside them.
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
