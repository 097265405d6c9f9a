import { expect, it } from 'vitest'
import { createSchemaCompiler } from '../../adapters/json-schema/index.ts'
import { sha256 } from '../../adapters/system/index.ts'
import { DEFAULT_SETTINGS } from '../../contracts/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { simpleCapability, simpleTool } from '../../testing/hub.ts'
import { createLoader } from './sources.ts'

it('lets others have their turn every few milliseconds while it checks', async () => {
  const tools = Array.from({ length: 1_000 }, (_, index) => simpleTool(`tool_${index}`))
  const definitions = { capabilities: [simpleCapability('many', tools)], dependencies: [], injections: [] }
  const clock = createFakeClock()
  let now = 0
  let turns = 0
  const loader = createLoader({
    sources: [{ id: 'project', kind: 'code', load: async () => [{ id: 'many.ts', hash: '1', definitions }] }],
    // Every look at the clock costs a millisecond, so that the count below does not depend on the machine.
    clock: { ...clock, now: () => now++, breathe: async () => void turns++ },
    patienceMs: 1_000_000,
    onLate: () => {},
    onDependencies: () => {},
    deps: {
      compiler: createSchemaCompiler(),
      digest: sha256,
      settings: DEFAULT_SETTINGS,
      effectKinds: new Map(),
      ownEffectKind: () => ({ check: () => [] }),
    },
  })
  const { units } = await loader.load(new AbortController().signal)
  expect(units[0]?.capabilities[0]?.tools.length).toBe(1_000)
  expect(turns).toBeGreaterThan(100)
})
