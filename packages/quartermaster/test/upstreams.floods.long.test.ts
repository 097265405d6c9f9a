import { describe, expect, it } from 'vitest'
import { httpEndpoint, type Visit } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { createFootprintScale, type FootprintScale } from './support/process-footprint.ts'
import type { UpProcess } from './support/product.ts'
import {
  ILL_SERVER,
  openProcessFixture,
  program,
  SDK_SERVER,
  textOf,
  type UpstreamFixture,
} from './support/upstream-fixture.ts'

/** What `up` holds with two upstreams, several times over. */
const MOST_HEAP = 80 * 1024 * 1024

/** A client of an ordinary server beside loud ones. */
interface Neighbour {
  readonly fixture: UpstreamFixture<UpProcess>
  readonly scale: FootprintScale
  /** Many calls at a time; answers those that were not answered with their text. */
  call(): Promise<string[]>
}

async function besides(loud: Record<string, unknown>): Promise<Neighbour> {
  const scale = await createFootprintScale()
  const fixture = await openProcessFixture({ mcpServers: { ...loud, desk: program(SDK_SERVER) }, env: scale.env })
  const client = await fixture.connect()
  await expect.poll(() => textOf(client, 'desk_echo', { text: 'hi' })).toBe('hi')
  const isWrong = async (text: string) => ((await textOf(client, 'desk_echo', { text })) === text ? [] : [text])
  const call = async () => (await Promise.all(Array.from({ length: 10 }, (_, index) => isWrong(`${index}`)))).flat()
  return { fixture, scale, call }
}

async function expectUnhurt({ fixture, scale, call }: Neighbour): Promise<void> {
  for (let round = 0; round < 8; round++) expect(await call()).toEqual([])
  expect((await fetch(`${fixture.up.url}/health`)).status).toBe(200)
  expect((await fixture.status('desk'))?.restarts).toBe(0)
  if (process.platform !== 'linux') return
  const heap = async () => (await scale.measure(Number(fixture.up.child.pid))).heap
  // While it reads what came it holds that, and nothing of it afterwards.
  expect(await heap()).toBeLessThan(2 * MOST_HEAP)
  await expect.poll(heap).toBeLessThan(MOST_HEAP)
}

/** What people are told of a server. */
async function toldOf(fixture: UpstreamFixture, name: string): Promise<Record<string, unknown>> {
  return { ...(await fixture.status(name)), log: (await fixture.run('logs', name)).stdout }
}

const BABBLES = expect.stringContaining('It writes lines that are no messages')

describe('a program that says too much', () => {
  it.each<[string, string, Record<string, unknown>]>([
    // What it says after that line is heard.
    ['a line of a gigabyte', '--huge-line=1000000000', { state: 'up', tools: { offered: 12 } }],
    ['lines that are no messages without end', '--garbage=1000000000', { lastError: { message: BABBLES } }],
    ['notifications without end', '--flood=0', { log: expect.stringMatching(/flood \d{5}/) }],
    ['lines on standard error without end', '--stderr-flood=0', { log: expect.stringMatching(/noise \d{5}/) }],
    ['a hundred thousand tools', '--tools=100000', { state: 'up', isCut: true }],
    ['pages without end', '--pages=0', { state: 'up', isCut: true }],
  ])('as %s hurts no other server', async (_, flag, outcome) => {
    const neighbour = await besides({ loud: program(ILL_SERVER, flag) })
    const wrong: string[] = []
    const meanwhile = async () => {
      wrong.push(...(await neighbour.call()))
      return toldOf(neighbour.fixture, 'loud')
    }
    await expect.poll(meanwhile).toMatchObject(outcome)
    expect(wrong).toEqual([])
    await expectUnhurt(neighbour)
  })
})

const toolOf = (name: string) => ({ name, description: `Does ${name}.`, inputSchema: { type: 'object' } })
const NEWS = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'flood' } }
const EVENTS = `data: ${JSON.stringify(NEWS)}\n\n`.repeat(100)

/** Answers with this again and again, for as long as it is read. */
function pour({ response }: Visit, contentType: string, piece: string): void {
  response.writeHead(200, { 'content-type': contentType })
  const more = () => {
    if (response.destroyed) return
    if (response.write(piece)) setImmediate(more)
    else response.once('drain', () => setImmediate(more))
  }
  more()
}

type Answering = (visit: Visit) => unknown
const toLists = (answer: Answering) => (visit: Visit) =>
  visit.body['method'] === 'tools/list' ? answer(visit) : answerLegacy(visit)

/** By what each does too much of: how it answers, and what people are told of it. */
const LOUD: Record<string, { readonly answer: Answering; readonly outcome: Record<string, unknown> }> = {
  body: {
    answer: toLists(visit => pour(visit, 'application/json', 'x'.repeat(65_536))),
    outcome: { isLeft: true },
  },
  events: {
    answer: toLists(visit => pour(visit, 'text/event-stream', EVENTS)),
    outcome: { log: expect.stringContaining('info: flood') },
  },
  stream: {
    answer: visit => (visit.method === 'GET' ? pour(visit, 'text/event-stream', EVENTS) : answerLegacy(visit)),
    outcome: { tools: { offered: 1 }, log: expect.stringContaining('info: flood') },
  },
  garbage: {
    answer: ({ response }) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('garbage '.repeat(100_000)),
    outcome: { lastError: { message: expect.stringContaining('no answer to the request') } },
  },
  pages: {
    answer: visit =>
      answerLegacy(visit, {
        'tools/list': ({ cursor = 0 }) => ({ tools: [toolOf(`on_${cursor}`)], nextCursor: `${Number(cursor) + 1}` }),
      }),
    outcome: { state: 'up', isCut: true },
  },
  tools: {
    answer: visit =>
      answerLegacy(visit, {
        'tools/list': () => ({ tools: Array.from({ length: 100_000 }, (_, i) => toolOf(`t_${i}`)) }),
      }),
    outcome: { state: 'up', isCut: true },
  },
}

describe('servers by HTTP that say too much', () => {
  it('hurt no other server, all of them together', async () => {
    const opened = Object.entries(LOUD).map(async ([name, { answer }]) => ({ name, ...(await httpEndpoint(answer)) }))
    const servers = await Promise.all(opened)
    const neighbour = await besides(Object.fromEntries(servers.map(({ name, url }) => [name, { url, era: 'legacy' }])))
    const wrong: string[] = []
    const toldOfAll = servers.map(({ name, visits }) => async () => {
      const isLeft = visits.some(({ response }) => response.destroyed && !response.writableFinished)
      return [name, { ...(await toldOf(neighbour.fixture, name)), isLeft }] as const
    })
    const meanwhile = async () => {
      wrong.push(...(await neighbour.call()))
      return Object.fromEntries(await Promise.all(toldOfAll.map(told => told())))
    }
    const outcomes = Object.fromEntries(Object.entries(LOUD).map(([name, { outcome }]) => [name, outcome]))
    await expect.poll(meanwhile).toMatchObject(outcomes)
    expect(wrong).toEqual([])
    await expectUnhurt(neighbour)
  })
})
