import { expect, it, onTestFinished } from 'vitest'
import { UpstreamConfig } from '../../../contracts/index.ts'
import { createSystemClock } from '../../system/index.ts'
import type { Era, SessionEvents } from '../peer/session.ts'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { answerLegacy } from '../testing/legacy-answers.ts'
import { openHttpChannel } from '../transport/http-channel.ts'
import { createConnector } from './connect-as.ts'

const FOREVER = new AbortController().signal
const CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }

interface Situation {
  readonly era?: 'legacy' | 'auto'
  /** The era it was of when it was last met. */
  readonly known?: Era
  answer?(visit: Visit): void
}

/** A server that lets some in and refuses others, and agents with the keys of these names. */
async function stage(
  agents: readonly string[],
  refuse: (key: string | undefined) => number | undefined,
  { era = 'legacy', known, answer = answerLegacy }: Situation = {},
) {
  const asked: string[] = []
  const server = await httpEndpoint((visit: Visit) => {
    const key = visit.headers.authorization
    if (visit.body.method === 'initialize') asked.push(key ?? 'nobody')
    const status = refuse(key)
    if (status !== undefined) return visit.json(status)
    if (visit.method === 'GET') return visit.events()(`data: ${JSON.stringify(CHANGED)}\n\n`)
    answer(visit)
  })
  const clock = createSystemClock()
  const keys = Object.fromEntries(agents.map(agent => [agent, { headers: { authorization: agent } }]))
  const config = UpstreamConfig.parse({ url: server.url, era, agents: keys })
  const told: string[] = []
  let isSeparate = false
  let last = known
  const events: SessionEvents = {
    onListChanged: () => void told.push('main'),
    onResourceUpdated() {},
    onLog() {},
    onAmbiguousQuestion() {},
  }
  const signedIn: string[] = []
  const meetings = createConnector({
    target: {
      transport: 'http',
      text: server.url,
      open: agent =>
        openHttpChannel({
          name: 'far',
          url: server.url,
          headers: agent === undefined ? {} : { authorization: agent },
          clock,
          log() {},
        }),
      fingerprint: async () => '',
      hasForAll: async () => false,
      agentsSignedIn: async () => signedIn,
    },
    client: { name: 'test', version: '1' },
    clock,
    serverFacts: {
      era: () => last,
      setEra: next => void (last = next),
      hasAnswered: () => false,
      knownSince: () => 0,
      load: async () => {},
      save() {},
      saved: async () => {},
    },
    config: () => config,
    separate: () => void (isSeparate = true),
  })
  async function meet(): Promise<void> {
    const session = await meetings.asShared(events, FOREVER)
    onTestFinished(() => session.close())
  }
  return { meet, meetings, signedIn, asked, told, isSeparate: () => isSeparate, era: () => last }
}

it('is let in with whichever key is good, and begins with that one the next time', async () => {
  const { meet, asked, isSeparate } = await stage(['ada', 'bob', 'cy'], key => (key === 'bob' ? undefined : 401))
  await meet()
  expect(asked).toEqual(['nobody', 'ada', 'bob'])
  expect(isSeparate()).toBe(true)
  await meet()
  expect(asked.slice(3)).toEqual(['nobody', 'bob'])
})
it('shows no key to a server that does not ask for one, or that is broken', async () => {
  const open = await stage(['ada'], () => undefined)
  await open.meet()
  expect(open).toMatchObject({ asked: ['nobody'] })
  const broken = await stage(['ada', 'bob'], key => (key === undefined ? 401 : 500))
  await expect(broken.meet()).rejects.toThrow()
  expect(broken.asked).toEqual(['nobody', 'ada'])
})
