import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (file: string) => fileURLToPath(new URL(`./packages/quartermaster/src/${file}`, import.meta.url))

const ALONE = 'packages/*/src/**/*.alone.test.ts'

/** Slow tests, and those of rare situations: `npm run test:long`. */
const LONG_TESTS = ['packages/*/{src,test}/**/*.long.test.ts', 'scripts/**/*.long.test.ts']
const SIMULATION = 'packages/quartermaster/src/core/operations/simulation.test.ts'
/** Our server with the official clients of both eras. The rest of `interop` is slow. */
const CLIENTS = 'interop/clients/sdk-v*.test.ts'

/** Slow files with little text. Started last, one of these would run alone at the end while the other workers are idle. */
const SLOW =
  /(-contract|docs\/console\.long|ensure\.long|simulation|endurance|faults|messaging|inspector|behind|conformance|a2a-agents|clients\/types|sdk-v2|client-20\d\d-\d\d-\d\d|test\/connect|upstreams\.(supervision|lifecycle|import|review)|agreement)\.test\.ts$/

/**
 * Node reads the certificates of this variable at the start of each process, which is three quarters of the start of a small
 * program. No test leaves the machine.
 */
const WITHOUT_CERTIFICATES = { NODE_EXTRA_CA_CERTS: '' }

const POSTGRES = 'packages/quartermaster/src/testing/postgres/shared-server.ts'

const INTEROP = {
  // Installs what these tests need, only when one of them is to run, beside the product's own tests. These wait for the rest of it.
  globalSetup: ['interop/install.ts'],
  setupFiles: ['interop/installed.ts'],
  // Most of them load the product.
  isolate: false,
  // After the product's own tests: these start many processes, which are slow beside others.
  sequence: { groupOrder: 1 },
}

/** Slow files first, then the others by size, as vitest sorts files that it has not run before. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => SLOW.test(moduleId)
    return [...sorted.filter(isSlow), ...sorted.filter(file => !isSlow(file))]
  }
}

export default defineConfig({
  resolve: {
    // Tests run on the sources, so that a stale build can never make one pass.
    alias: [
      { find: /^quartermaster$/, replacement: source('index.ts') },
      { find: /^quartermaster\/(\w+)$/, replacement: source('$1.ts') },
    ],
  },
  test: {
    // The long ones wait for other processes a third of their time, so three of them share two cores well.
    maxWorkers: Math.max(3, availableParallelism()),
    sequence: { sequencer: SlowFirst },
    // Only a test that hangs gets there, also on a busy machine; no test is about time.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    // A machine that stalls for seconds can fail a test that drives other programs. It gets one more try in CI; the report says so,
    // and the test is to be corrected.
    retry: process.env.CI ? 1 : 0,
    projects: [
      {
        extends: true,
        test: {
          name: 'product',
          include: [
            'packages/*/src/**/*.test.ts',
            'packages/*/test/**/*.test.ts',
            'examples/**/*.test.ts',
            'scripts/**/*.test.ts',
          ],
          exclude: [...configDefaults.exclude, ALONE, ...LONG_TESTS],
          env: WITHOUT_CERTIFICATES,
          // Modules keep no state, so test files share the modules that a worker has loaded. That halves the time.
          isolate: false,
          // Only provides an address; the server is started for the first test that connects.
          globalSetup: [POSTGRES],
        },
      },
      {
        extends: true,
        // Tests that need fresh modules.
        test: { name: 'alone', include: [ALONE] },
      },
      {
        extends: true,
        test: { name: 'clients', include: [CLIENTS], ...INTEROP },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: ['bench/**/*.test.ts', ...LONG_TESTS, SIMULATION],
          env: { ...WITHOUT_CERTIFICATES, SIMULATION_SEEDS: '1000' },
          isolate: false,
          globalSetup: [POSTGRES],
        },
      },
      {
        extends: true,
        test: {
          name: 'interop',
          include: ['interop/{conformance,clients,runtimes,upstreams,peers}/**/*.test.ts'],
          exclude: [...configDefaults.exclude, CLIENTS],
          ...INTEROP,
        },
      },
    ],
  },
})
