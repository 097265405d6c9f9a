import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { failureOf, simpleTool } from '../../../testing/hub.ts'
import { workerHub } from '../../../testing/worker-hub.ts'
import type { Connection, TakeOptions } from '../connection/connection.ts'
import { createRevokedAgents } from '../connection/connections.ts'
import { SendFailure } from '../peer/channel.ts'
import type { Session } from '../peer/session.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { createLatencies, createUpstreamCalls, type Serving, type UpstreamCalls } from './upstream-calls.ts'

const MAYBE_SENT = new SendFailure('It exited.', { wasSent: 'maybe' })
const BUSY = new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs: 5_000 })
const NOT_FOUND = new SendFailure('HTTP 404.', { wasSent: 'turnedAway', status: 404 })

/** A tool that changes something and may take 4 s, of a server with which its call meets these in turn. The last one stays. */
async function stage(...meetings: ('is held back' | 'is at work' | Error)[]) {
  const facts = { mayRepeat: true, mutates: true, ownerTimeoutMs: undefined, needsTask: false, isKeyed: false }
  const served = { name: 'write', inputSchema: {}, ...facts }
  const meet = () => (meetings.length > 1 ? meetings.shift() : meetings[0])
  const session: Pick<Session, 'ask'> = {
    async ask() {
      const met = meet()
      if (met instanceof Error) throw met
      return new Promise(() => {})
    },
  }
  const connection: Partial<Connection> = {
    takeNow: () => undefined,
    session: () => undefined,
    async take({ signal }: TakeOptions) {
      if (meetings[0] === 'is held back') await untilAborted(signal)
      return session as Session
    },
    verifyAlive: async () => {},
  }
  const write = simpleTool('s_write', {
    mutates: true,
    timeoutMs: 4_000,
    handler: (input, context) => calls.call(served)(input, context),
  })
  const hub = await workerHub([write])
  const calls = createUpstreamCalls({
    upstream: 's',
    clock: hub.clock,
    budgetMs: 10_000,
    latencies: createLatencies(),
    revokedAgents: createRevokedAgents(),
    serving: () => ({ connectionOf: () => connection as Connection, check: () => undefined }),
  })
  const caller = new AbortController()
  const ended = failureOf(hub.callAs('worker', 's_write', {}, { signal: caller.signal }))
  await hub.clock.advance(0)
  return { hub, caller, ended }
}

const NOTHING_DONE = 'It waited for "s" and was never sent, so nothing was done.'
const NOT_TAKEN_IN = 'It waited for "s" because it was not taken in, so nothing was done.'

it.each([
  ['was only held back', NOTHING_DONE, ['is held back'] as const],
  ['was not taken in by a busy server', NOT_TAKEN_IN, [BUSY] as const],
])('has done nothing, and says so, when its time is over and it %s', async (_, why, meetings) => {
  const { hub, ended } = await stage(...meetings)
  await hub.clock.advance(4_000)
  const message = `"s_write" did not finish within 4000 ms. ${why}`
  expect(await ended).toMatchObject({ code: 'DEADLINE_EXCEEDED', message })
})
it.each([
  ['was sent', ['is at work'] as const],
  ['waits to be sent once more', [MAYBE_SENT, 'is held back'] as const],
  ['waits for a new session after a 404', [NOT_FOUND, 'is held back'] as const],
])('may have done its work when its time is over and it %s', async (_, meetings) => {
  const { hub, ended } = await stage(...meetings)
  await hub.clock.advance(4_000)
  expect(await ended).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { because: 'DEADLINE_EXCEEDED' } })
})

it.each([
  ['a prompt', ['prompt greet'], calls => calls.prompt('greet')({}, READING)],
  [
    'a resource of a template',
    ['template x://{n}', 'resource x://1'],
    calls => calls.read('x://1', 'x://{n}', READING),
  ],
  ['what may stand in a template', ['template x://{n}'], calls => calls.suggest(NUMBERED, 'n')('', READING)],
] satisfies [string, string[], (calls: UpstreamCalls) => Promise<unknown>][])(
  'asks a server for %s only as far as that is what was accepted, and it was not taken away meanwhile',
  async (_, wanted, use) => {
    const seen: string[] = []
    let refuses = ''
    let isTaken = false
    const revokedAgents = createRevokedAgents()
    const session = { ask: async () => (seen.push('asked'), {}) } as unknown as Session
    const serving: Pick<Serving, 'connectionOf' | 'check'> = {
      connectionOf: () => ({ takeNow: () => session, noteSuccess() {} }) as unknown as Connection,
      async check(_session, { kind, name }) {
        seen.push(`${kind} ${name}`)
        if (refuses === `${kind} ${name}`) throw new AppError('TOOL_DISABLED', 'It is held back.')
        if (isTaken) revokedAgents.add('ada', 's')
      },
    }
    const calls = createUpstreamCalls({
      upstream: 's',
      clock: createFakeClock(),
      budgetMs: 10_000,
      latencies: createLatencies(),
      revokedAgents,
      serving: () => serving,
    })
    await use(calls)
    expect(seen).toEqual([...wanted, 'asked'])
    for (const one of wanted) {
      refuses = one
      await expect(use(calls)).rejects.toMatchObject({ code: 'TOOL_DISABLED' })
    }
    refuses = ''
    isTaken = true
    await expect(use(calls)).rejects.toMatchObject({ message: expect.stringContaining('"ada" no longer has "s"') })
    expect(seen.filter(what => what === 'asked')).toHaveLength(1)
  },
)

const NUMBERED = { kind: 'template', name: 'x://{n}' } as const
const READING = {
  caller: { name: 'ada' },
  client: 'one',
  signal: new AbortController().signal,
  canAnswer: () => false,
  arguments: {},
} as never
