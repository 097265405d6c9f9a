import { describe, expect, it } from 'vitest'
import { httpEndpoint } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import type { CallAnswer } from '../src/contracts/index.ts'
import { openFixture, textOf } from './support/upstream-fixture.ts'

const DAY_MS = 86_400_000
const POST = { name: 'post', description: 'Posts a letter.', inputSchema: { type: 'object', properties: {} } }
const OFFICE = { name: 'office', version: '1' }
/** A call does not wait for the server by itself, and what is tried again waits as long as the server says. */
const SETTINGS = { restartWaitSeconds: 0, retryFirstSeconds: 5, retryLongestSeconds: 5 }

interface Pause {
  readonly least: number
  readonly most: number
}

/** A server that lists its tool and is too busy to do anything. */
async function busyOffice(tool: object = {}) {
  let refusal = { status: 429, header: '' }
  const server = await httpEndpoint(visit => {
    if (visit.body['method'] === 'tools/call')
      return visit.json(refusal.status, undefined, { 'retry-after': refusal.header })
    answerLegacy(visit, { 'tools/list': () => ({ tools: [POST] }) })
  })
  const tools = { post: { consent: [], idempotent: true, ...tool } }
  const fixture = await openFixture({ mcpServers: { office: { url: server.url, tools } }, settings: SETTINGS })
  await expect.poll(async () => (await fixture.status('office'))?.tools.offered).toBe(1)
  const refuse = (status: number, header: string) => {
    refusal = { status, header }
  }
  return {
    fixture,
    refuse,
    /** How long after its answer the call is tried again: between what this is by the clock after the call and before it. */
    async pauseAfter(status: number, header: string): Promise<Pause> {
      refuse(status, header)
      const before = Date.now()
      // The earlier refusal has the server listed again, which is not tested here.
      const call = { agent: 'default', tool: 'office_post', evenIfDisabled: true, waits: true }
      const { waiting } = await fixture.control<CallAnswer>('call', call)
      expect(waiting).toMatchObject({ status: 'waiting', for: 'retry' })
      const dueAt = waiting?.nextAttemptAt ?? Number.NaN
      return { least: dueAt - Date.now(), most: dueAt - before }
    },
  }
}

function expectPause({ least, most }: Pause, ms: number): void {
  expect(least).toBeLessThanOrEqual(ms)
  expect(most).toBeGreaterThanOrEqual(ms)
}

describe('a call of a server that is busy', () => {
  it('is tried again when the server wants to be asked again, and no absurd wish counts', async () => {
    const office = await busyOffice({ retry: 'replay' })
    expectPause(await office.pauseAfter(429, '300'), 300_000)
    expectPause(await office.pauseAfter(503, '7200'), 7_200_000)

    const at = Math.ceil(Date.now() / 1000) * 1000 + 600_000
    const asked = Date.now()
    const { least, most } = await office.pauseAfter(503, new Date(at).toUTCString())
    expect(most).toBeGreaterThanOrEqual(at - Date.now())
    expect(least).toBeLessThanOrEqual(at - asked)

    for (const years of ['99999999999', 'Fri, 31 Dec 9999 23:59:59 GMT'])
      expectPause(await office.pauseAfter(429, years), DAY_MS)
    for (const nothing of ['-300', 'soon', '1.5e9', 'Sun, 06 Nov 1994 08:49:37 GMT', '']) {
      const usual = await office.pauseAfter(429, nothing)
      // Five seconds, and a fifth of it more or less by chance.
      expect(usual.least).toBeLessThanOrEqual(6_000)
      expect(usual.most).toBeGreaterThanOrEqual(4_000)
    }
  })

  it('says in its text when to try again', async () => {
    const { fixture, refuse } = await busyOffice()
    refuse(429, '300')
    const answer = await (await fixture.connect()).callTool({ name: 'office_post', arguments: {} })
    const said = 'The tool "post" of "office" cannot be reached: The server is busy (HTTP 429). Try again in 300 s.'
    expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(said) }] })
  })

  it.each([429, 503])('is answered by that same call when the server has time soon (HTTP %i)', async status => {
    const offices = { older: await closedOffice(status, 'legacy'), newer: await closedOffice(status, 'modern') }
    const fixture = await openFixture({ mcpServers: { older: offices.older.entry, newer: offices.newer.entry } })
    for (const name of ['older', 'newer'])
      await expect.poll(async () => (await fixture.status(name))?.tools.offered).toBe(1)
    const client = await fixture.connect()
    const posted = await Promise.all([textOf(client, 'older_post'), textOf(client, 'newer_post')])
    expect(posted).toEqual(['posted', 'posted'])
    // A call that does not wait is refused again.
    expect([offices.older.calls(), offices.newer.calls()]).toEqual([2, 2])
    expect(await fixture.status('older')).toMatchObject({ state: 'up', restarts: 0 })
  })
})

/** A little less than the second that it asks for: timers are not exact. */
const CLOSED_MS = 900

/** A server that turns everybody away from the first call on, for a second. */
async function closedOffice(status: number, era: 'legacy' | 'modern') {
  let opensAt: number | undefined
  const server = await httpEndpoint(visit => {
    if (visit.body['method'] === 'tools/call') {
      opensAt ??= Date.now() + CLOSED_MS
      if (Date.now() < opensAt) return visit.json(status, undefined, { 'retry-after': '1' })
    }
    answerLegacy(visit, {
      'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: OFFICE }),
      'tools/list': () => ({ tools: [POST] }),
      'tools/call': () => ({ content: [{ type: 'text', text: 'posted' }] }),
    })
  })
  const calls = () => server.visits.filter(({ body }) => body['method'] === 'tools/call').length
  return { entry: { url: server.url, era }, calls }
}
