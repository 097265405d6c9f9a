import { expect, it, onTestFinished } from 'vitest'
import { createMetrics } from '../../src/adapters/metrics/index.ts'
import { createEmitter } from '../../src/core/kernel/index.ts'
import { readPage, tableBelow } from './pages.ts'

it('docs/observability.md has every metric with its type, and no other', async () => {
  const metrics = createMetrics({
    emitter: createEmitter({ onError: () => {} }),
    sources: {
      capabilityOf: () => undefined,
      running: () => 0,
      waiting: async () => ({ approval: 0, retry: 0 }),
      externalPeers: async () => ({ reached: 0, unreached: 0 }),
      front: () => ({ sessions: 0, streams: 0, requests: 0 }),
      generation: () => 0,
      tools: () => ({ active: 0, disabled: 0 }),
      dependencies: () => [],
      store: () => ({ commits: 0, refused: 0, groups: 0, busyMs: 0, reads: 0, errors: 0, waiting: 0, restarts: 0 }),
    },
  })
  onTestFinished(() => metrics.stop())
  const measured = [...(await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type])
  const rows = tableBelow(readPage('docs/observability.md'), '## Metrics')
  expect(rows.map(([name = '', type]) => [name.replaceAll('`', ''), type])).toEqual(measured)
})
