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
    onCrowded() {},
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
      turnedOut: next => void (last = next),
      isMet: () => false,
      since: () => 0,
      recall: async () => {},
      remember() {},
      settled: async () => {},
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

it('knows who has credentials: by the configuration, and whoever is signed in now', async () => {
  const { meetings, signedIn } = await stage(['ada'], () => undefined)
  const known = async () => {
    await meetings.recall()
    return ['ada', 'bob'].filter(meetings.hasCredentials)
  }
  expect(await known()).toEqual(['ada'])
  signedIn.push('bob')
  expect(await known()).toEqual(['ada', 'bob'])
  signedIn.pop()
  expect(await known()).toEqual(['ada'])
})

it('takes no for an answer about one agent only, however it is said', async () => {
  const { meet, asked } = await stage(
    ['ada', 'bob'],
    key => ({ ada: 403, bob: undefined })[key ?? ''] ?? (key ? undefined : 401),
  )
  await meet()
  expect(asked).toEqual(['nobody', 'ada', 'bob'])
})

it('is refused when everybody is', async () => {
  const { meet, asked } = await stage(['ada', 'bob'], () => 401)
  await expect(meet()).rejects.toThrow()
  expect(asked).toEqual(['nobody', 'ada', 'bob'])
})

it('shows no key to a server that does not ask for one, or that is broken', async () => {
  const open = await stage(['ada'], () => undefined)
  await open.meet()
  expect(open).toMatchObject({ asked: ['nobody'] })
  const broken = await stage(['ada', 'bob'], key => (key === undefined ? 401 : 500))
  await expect(broken.meet()).rejects.toThrow()
  expect(broken.asked).toEqual(['nobody', 'ada'])
})

it("knows in whose name it was let in, if it had to be in somebody's", async () => {
  const isOpen = new Set<string>()
  const { meet, meetings } = await stage(['ada', 'bob'], (key = 'nobody') => (isOpen.has(key) ? undefined : 401))
  const names = () => ['ada', 'bob'].filter(meetings.isMetAs)
  isOpen.add('bob')
  await meet()
  expect(names()).toEqual(['bob'])
  isOpen.add('nobody')
  await meet()
  expect(names()).toEqual([])
})

it('hears what the server tells on it as the connection that all know it by, whoever it was let in as', async () => {
  const { meet, told } = await stage(['ada'], key => (key === 'ada' ? undefined : 401))
  await meet()
  await expect.poll(() => told).toEqual(['main'])
})

/** Answers as a server does that speaks nothing before 2026-07-28. */
function answerModern(visit: Visit): void {
  const { id, method } = visit.body
  if (method === 'server/discover')
    return visit.result({ supportedVersions: ['2026-07-28'], capabilities: {}, resultType: 'complete' })
  visit.json(400, { jsonrpc: '2.0', id, error: { code: -32_022, message: 'No.', data: { supported: ['2026-07-28'] } } })
}

it.each([
  ['legacy', 'modern', answerModern],
  ['modern', 'legacy', answerLegacy],
] as const)(
  'finds out at once that a server is no more of the era %s but of the era %s',
  async (known, era, answer) => {
    const server = await stage([], () => undefined, { era: 'auto', known, answer })
    await server.meet()
    expect(server.era()).toBe(era)
  },
)

it('meets one that fails again and again in the era it is known by, and in both only now and then', async () => {
  const methods: unknown[] = []
  const server = await stage([], () => undefined, {
    era: 'auto',
    known: 'legacy',
    answer(visit) {
      methods.push(visit.body.method)
      visit.drop()
    },
  })
  const attempts: unknown[][] = []
  for (let attempt = 0; attempt < 6; attempt++) {
    methods.length = 0
    await expect(server.meet()).rejects.toThrow()
    attempts.push([...new Set(methods)])
  }
  const [known, both] = [['initialize'], expect.arrayContaining(['server/discover'])]
  expect(attempts).toEqual([known, both, known, known, known, both])
  expect(server.era()).toBe('legacy')
})
