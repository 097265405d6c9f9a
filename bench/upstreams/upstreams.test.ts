import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PARTS = [
  'stdio',
  'sessions',
  'http',
  'everything',
  'wide',
  'start',
  'broken',
  'killed',
  'repaired',
  'crash-loop',
  'hang',
]
const OTHERS = ['mcp-proxy', 'supergateway', 'mcp-hub']
const TIMEOUT_MS = 240_000

interface Row {
  readonly part: string
  readonly what: string
  readonly measured?: number
  readonly unit?: string
  readonly goal?: number
  readonly reason?: string
}

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

let rows: readonly Row[]

// Every part starts servers, so one run shows everything. The other gateways are not there for tests.
beforeAll(async () => {
  await node('scripts/ensure.mjs')
  const { stdout } = await node('--expose-gc', 'bench/upstreams/index.mjs', '--quick', '--no-peers', '--json')
  rows = (JSON.parse(stdout) as { figures: Row[] }).figures
}, TIMEOUT_MS)

const inPart = (part: string) => rows.filter(row => row.part === part)

describe('the benchmark of upstreams', () => {
  it('measures every part and prints the figures as JSON', () => {
    expect([...new Set(rows.map(({ part }) => part))]).toEqual(PARTS)
    for (const row of rows) expect('reason' in row || typeof row.measured === 'number').toBe(true)
  })

  it('says of every other gateway why it was not measured', () => {
    const told = OTHERS.filter(name => rows.some(({ what, reason }) => what.includes(name) && reason !== undefined))
    expect(told).toEqual(OTHERS)
  })

  it('sets the product against the same server alone and against a bridge written by hand', () => {
    const goals = rows
      .filter(({ goal }) => goal !== undefined)
      .map(({ what, goal, unit }) => `${what}: ${goal} ${unit}`)
    expect(goals).toContain('1 in flight, Quartermaster against bridge by hand, p50: 1.2 times')
    expect(goals).toContain('1 in flight, Quartermaster against direct HTTP, p50 beyond it: 0.6 ms')
    expect(inPart('stdio').some(({ what }) => what.includes('against direct stdio'))).toBe(true)
    expect(inPart('http').some(({ what }) => what.includes('against bridge by hand'))).toBe(true)
  })

  it('loses no call that only reads when the server is killed, and tells clients of a repaired one', () => {
    const failed = inPart('killed').filter(({ what }) => what.startsWith('Quartermaster') && what.includes('failed of'))
    expect(failed.map(({ measured }) => measured)).toEqual([0, 0])
    const repaired = inPart('repaired').filter(({ what }) => what.includes('client'))
    expect(repaired).toHaveLength(8)
    expect(repaired.filter(({ reason }) => reason !== undefined)).toEqual([])
  })
})
