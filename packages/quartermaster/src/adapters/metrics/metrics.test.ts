import { describe, expect, it, onTestFinished } from 'vitest'
import type { AuditEntry } from '../../contracts/index.ts'
import { createEmitter } from '../../core/kernel/index.ts'
import { createMetrics, type MetricsSources } from './index.ts'

const STORE = { commits: 10, refused: 1, groups: 4, busyMs: 1_500, reads: 7, errors: 0, waiting: 3, restarts: 0 }

function metricsWith(more: Partial<MetricsSources> = {}) {
  const emitter = createEmitter({ onError: error => expect.fail(String(error)) })
  const metrics = createMetrics({
    emitter,
    sources: {
      capabilityOf: tool => (tool === 'add' ? 'sums' : undefined),
      running: () => 2,
      waiting: async () => ({ approval: 1, retry: 4 }),
      externalPeers: async () => ({ reached: 2, unreached: 1 }),
      front: () => ({ sessions: 1, streams: 3, requests: 5 }),
      generation: () => 7,
      tools: () => ({ active: 9, disabled: 2 }),
      dependencies: () => [{ name: 'mail', state: 'down' }],
      store: () => STORE,
      ...more,
    },
  })
  onTestFinished(() => metrics.stop())
  return { emitter, metrics, read: async () => parse(await metrics.text()) }
}

const settled = (entry: Partial<AuditEntry>): AuditEntry => ({
  at: 0,
  operationId: 'op_1',
  caller: { kind: 'agent', organisation: 'default', name: 'worker', workspace: 'worker' },
  tool: 'add',
  digest: '',
  decision: 'allowed',
  outcome: 'succeeded',
  mutates: false,
  durationMs: 4,
  ...entry,
})

const HEAD = /^# (HELP|TYPE) ([a-z_]+) (.+)$/
const SAMPLE = /^([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (-?[\d.e+-]+|[+-]Inf|NaN)$/

/** Reads the format as strictly as Prometheus does, and gives the value of each series. */
function parse(text: string): Map<string, number> {
  const series = new Map<string, number>()
  const families: string[] = []
  for (const line of text.trimEnd().split('\n')) {
    const [, keyword, family = '', rest] = HEAD.exec(line) ?? []
    if (keyword === 'HELP') {
      expect(families).not.toContain(family)
      families.push(family)
    } else if (keyword === 'TYPE') {
      expect(family).toBe(families.at(-1))
      expect(['counter', 'gauge', 'histogram']).toContain(rest)
    } else {
      expect(line).toMatch(SAMPLE)
      const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? []
      expect(name.replace(/_(bucket|sum|count)$/, '')).toBe(families.at(-1))
      expect([...series.keys()]).not.toContain(name + labels)
      series.set(name + labels, Number(value))
    }
  }
  return series
}

describe('the metrics', () => {
  it('count calls by capability, outcome and code', async () => {
    const { emitter, read } = metricsWith()
    emitter.emit('call.settled', settled({}))
    emitter.emit('call.settled', settled({ durationMs: 20 }))
    emitter.emit('call.settled', settled({ outcome: 'failed', code: 'DEADLINE_EXCEEDED', durationMs: 100_000 }))
    const series = await read()
    expect(series.get('quartermaster_calls_total{capability="sums",outcome="succeeded",code=""}')).toBe(2)
    expect(series.get('quartermaster_calls_total{capability="sums",outcome="failed",code="DEADLINE_EXCEEDED"}')).toBe(1)
    const duration = 'quartermaster_call_duration_seconds'
    expect(series.get(`${duration}_bucket{capability="sums",le="0.005"}`)).toBe(1)
    expect(series.get(`${duration}_bucket{capability="sums",le="0.025"}`)).toBe(2)
    expect(series.get(`${duration}_bucket{capability="sums",le="60"}`)).toBe(2)
    expect(series.get(`${duration}_bucket{capability="sums",le="+Inf"}`)).toBe(3)
    expect(series.get(`${duration}_count{capability="sums"}`)).toBe(3)
    expect(series.get(`${duration}_sum{capability="sums"}`)).toBeCloseTo(100.024)
  })

  it('take no label from what a caller invents', async () => {
    const { emitter, metrics } = metricsWith()
    for (const tool of ['made up', 'a"b', 'c\nd']) {
      emitter.emit('call.settled', settled({ tool, outcome: 'notRun', code: 'INVENTED' }))
    }
    metrics.request({ route: 'other', method: 'BREW', status: 404, durationMs: 1 })
    const text = await metrics.text()
    expect(text).toContain('quartermaster_calls_total{capability="none",outcome="notRun",code="other"} 3')
    expect(text).toContain('{route="other",method="other",status="4xx"} 1')
    expect(text).not.toMatch(/made up|INVENTED|BREW/)
  })

  it('tell what is so now', async () => {
    const series = await metricsWith().read()
    expect(Object.fromEntries(series)).toMatchObject({
      quartermaster_calls_running: 2,
      'quartermaster_operations_waiting{for="approval"}': 1,
      'quartermaster_operations_waiting{for="retry"}': 4,
      'quartermaster_external_peers{state="reached"}': 2,
      'quartermaster_external_peers{state="unreached"}': 1,
      quartermaster_sessions: 1,
      quartermaster_streams: 3,
      quartermaster_requests_in_flight: 5,
      quartermaster_generation: 7,
      'quartermaster_tools{state="active"}': 9,
      'quartermaster_tools{state="disabled"}': 2,
      'quartermaster_dependency_state{dependency="mail",state="down"}': 1,
      'quartermaster_dependency_state{dependency="mail",state="up"}': 0,
      quartermaster_store_commits_total: 10,
      quartermaster_store_commit_seconds_total: 1.5,
      quartermaster_store_waiting: 3,
    })
    expect(series.get('process_resident_memory_bytes')).toBeGreaterThan(1_000_000)
    expect(series.get('process_cpu_seconds_total')).toBeGreaterThan(0)
    expect(series.get('nodejs_eventloop_lag_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0)
  })

  it('count refused tokens, reloads and changes of dependencies, from zero', async () => {
    const { emitter, metrics, read } = metricsWith()
    expect((await read()).get('quartermaster_reloads_total')).toBe(0)
    metrics.request({ route: '/mcp', method: 'POST', status: 401, durationMs: 1 })
    emitter.emit('generation.swapped', { generation: 1, added: [], changed: [], removed: [] })
    emitter.emit('dependency.changed', { name: 'ma"il\\', from: 'up', to: 'down', reason: 'gone' })
    const series = await read()
    expect(series.get('quartermaster_tokens_refused_total{route="/mcp"}')).toBe(1)
    expect(series.get('quartermaster_reloads_total')).toBe(1)
    expect(series.get('quartermaster_dependency_changes_total{dependency="ma\\"il\\\\",state="down"}')).toBe(1)
  })

  it('are told without what waits while the store does not answer', async () => {
    const { read } = metricsWith({ waiting: () => Promise.reject(new Error('no store')) })
    const series = await read()
    expect([...series.keys()].filter(name => name.startsWith('quartermaster_operations_waiting'))).toEqual([])
    expect(series.get('quartermaster_calls_running')).toBe(2)
  })
})
