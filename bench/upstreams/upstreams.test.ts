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
})

const started = (name: string) => [`${name}, first answer`, `${name}, idle after N calls, resident memory`]

/** How many calls there was time for says nothing. */
const named = (what: string) => what.replace(/\d+ calls/, 'N calls')

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

  it('holds every goal that is set for servers behind against what it has measured', () => {
    const goals = rows
      .filter(({ goal, measured }) => goal !== undefined && typeof measured === 'number')
      .map(({ part, what, goal, unit }) => `${part}: ${named(what)}: ${goal} ${unit}`)
    const processorTime = (part: string, inFlight: number) =>
      `${part}: ${inFlight} in flight, Quartermaster, processor time of each: 500 µs`
    const visible = (fault: string) =>
      ['client of 2026-07-28', 'client in a session'].flatMap(client =>
        ['told', 'called'].map(done => `repaired: ${fault} for 0.5 s, ${client}, ${done}: 2000 ms`),
      )
    expect(goals.toSorted()).toEqual(
      [
        processorTime('stdio', 1),
        processorTime('stdio', 4),
        processorTime('sessions', 4),
        processorTime('http', 1),
        processorTime('http', 4),
        'stdio: 1 in flight, Quartermaster against bridge by hand, p50: 1.2 times',
        'stdio: 1 in flight, Quartermaster against bridge by hand with the SDK, p50: 1.2 times',
        'http: 1 in flight, Quartermaster against direct HTTP, p50 beyond it: 0.6 ms',
        'wide: 1 in flight, Quartermaster with 20 tools, processor time of each: 500 µs',
        'wide: 1 in flight, Quartermaster with 20 tools against Quartermaster with 2 tools, p50: 1.5 times',
        "killed: Quartermaster, back beyond the server's own start: 150 ms",
        'killed: Quartermaster, failed of N calls: 0 calls',
        'killed: Quartermaster, three in a row, failed of N calls: 0 calls',
        ...visible('its program is missing'),
        ...visible('its port is closed'),
        'crash-loop: Quartermaster, another server meanwhile, failed: 0 calls',
        'hang: Quartermaster, another server meanwhile, failed: 0 calls',
      ].toSorted(),
    )
  })

  it.each([
    ['stdio', ['Quartermaster', 'direct stdio', 'bridge by hand'], [1, 4]],
    ['sessions', ['Quartermaster', 'direct stdio', 'bridge by hand'], [4]],
    ['http', ['Quartermaster', 'direct HTTP', 'bridge by hand'], [1, 4]],
  ])('measures latency, throughput and processor time of each in %s', (part, names, levels) => {
    const measured = inPart(part).map(({ what, unit }) => `${what}: ${unit}`)
    const expected = levels.flatMap(inFlight =>
      names.flatMap(name =>
        [', p50: ms', ', p99: ms', ': calls/s', ', processor time of each: µs'].map(
          figure => `${inFlight} in flight, ${name}${figure}`,
        ),
      ),
    )
    expect(measured).toEqual(expect.arrayContaining(expected))
  })

  it.each([
    ['stdio', ['1 in flight, Quartermaster against direct stdio, p50']],
    ['http', ['1 in flight, Quartermaster against bridge by hand, p50']],
    ['start', ['Quartermaster', 'bridge by hand', 'direct stdio'].flatMap(started)],
    ['broken', ['Quartermaster, ready', 'Quartermaster, ready, beside 4 that do not work against none']],
    ['crash-loop', ['Quartermaster, starts in 1 s and its own', 'Quartermaster, another server meanwhile, p99']],
    ['hang', ['Quartermaster, until calls work again', 'Quartermaster, another server meanwhile, p99']],
  ])('says in %s what else people ask of it', (part, whats) => {
    expect(inPart(part).map(({ what }) => named(what))).toEqual(expect.arrayContaining(whats))
  })

  it('loses no call that only reads when the server is killed, and tells clients of a repaired one', () => {
    const failed = inPart('killed').filter(({ what }) => what.startsWith('Quartermaster') && what.includes('failed of'))
    expect(failed.map(({ measured }) => measured)).toEqual([0, 0])
    const repaired = inPart('repaired').filter(({ what }) => what.includes('client'))
    expect(repaired).toHaveLength(8)
    expect(repaired.filter(({ reason }) => reason !== undefined)).toEqual([])
  })
})
