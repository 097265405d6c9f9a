import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (file: string) => fileURLToPath(new URL(`./packages/quartermaster/src/${file}`, import.meta.url))

const ALONE = 'packages/*/src/**/*.alone.test.ts'

/** What takes long and guards little that the others do not: `npm run test:long`. */
const LONG_TESTS = 'packages/*/{src,test}/**/*.long.test.ts'
const SIMULATION = 'packages/quartermaster/src/core/operations/simulation.test.ts'
/** Our server under the official clients of both eras. The rest of `interop` is long. */
const CLIENTS = 'interop/clients/sdk-v*.test.ts'

/** Little text and much to do. Begun last, one of these would run alone at the end while the other workers have nothing left. */
const LONG =
  /(-contract|docs\/console|simulation|endurance|faults|messaging|inspector|behind|conformance|a2a-agents|clients\/types|sdk-v2|client-20\d\d-\d\d-\d\d)\.test\.ts$/

/**
 * Every Node process reads the certificates that this names before it does anything, which is three quarters of the start of a
 * small program. Nothing here leaves the machine.
 */
const WITHOUT_CERTIFICATES = { NODE_EXTRA_CA_CERTS: '' }

const POSTGRES = 'packages/quartermaster/src/testing/postgres/shared-server.ts'

const INTEROP = {
  // Begins only when one of these tests is to run, so others do not install what these need. They come last: the install is done
  // beside the product's own tests, and they wait for what is left of it.
  globalSetup: ['interop/install.ts'],
  setupFiles: ['interop/installed.ts'],
  // Most of them load the product.
  isolate: false,
  // After the product's own tests: programs of others, each a process, are slow beside them.
  sequence: { groupOrder: 1 },
  testTimeout: 120_000,
  hookTimeout: 120_000,
}

/** The large files first, as vitest has them where it has not seen them before, but for small ones that take long. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter(file => !isLong(file))]
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
    sequence: { sequencer: LongFirst },
    // On a machine that is busy with something else; nothing here is about time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // Where a machine stalls for seconds, a test of other programs can lose a race that nobody runs. It gets one more try there,
    // and the report says that it needed one, which is a fault to be found.
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
          exclude: [...configDefaults.exclude, ALONE, LONG_TESTS],
          env: WITHOUT_CERTIFICATES,
          // Nothing here keeps anything in a module, so files share the modules that a worker has loaded: half of the time.
          isolate: false,
          // Only says where to ask; the server is started for the first test that does.
          globalSetup: [POSTGRES],
        },
      },
      {
        extends: true,
        // For what depends on nothing having been loaded before.
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
          include: ['bench/**/*.test.ts', LONG_TESTS, SIMULATION],
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
