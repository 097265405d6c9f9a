import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { isRequest, type Message } from '../../mcp-wire/index.ts'
import { NO_EVENTS } from '../testing/bare-session.ts'
import { openSilentServer } from '../testing/silent-server.ts'
import { type ChannelEnd, type ChannelEvents, type OpenChannel, SendFailure } from './channel.ts'
import { openSession } from './open-session.ts'

const EXITED: ChannelEnd = { kind: 'exited', reason: 'It ended with exit code 3.', said: 'wrong key' }
const CANNOT = { form: false, url: false, model: false, roots: false }
const WAYS = [
  ['auto', false],
  ['legacy', false],
  ['modern', true],
  ['modern', false],
] as const

/** Programs that read nothing, or only what they are asked first, each of which may have ended when that is found out. */
function stage({
  era,
  isRemembered,
  reads = 0,
}: {
  era: 'auto' | 'legacy' | 'modern'
  isRemembered: boolean
  reads?: number
}) {
  const clock = createFakeClock()
  const programs: { readonly asked: string[]; readonly events: ChannelEvents }[] = []
  const open: OpenChannel = async events => {
    const asked: string[] = []
    programs.push({ asked, events })
    return {
      hasExchanges: false,
      pids: () => [],
      async send(message: Message) {
        if ('method' in message) asked.push(message.method)
        if (asked.length > reads) throw new SendFailure('The program does not read any more.', { wasSent: 'maybe' })
      },
      close: async () => {},
    }
  }
  const client = { name: 'test', version: '1' }
  const options = { open, era, isRemembered, clock, client, events: NO_EVENTS }
  const failure = openSession(options, AbortSignal.timeout(10_000)).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { clock, programs, failure }
}

/** Some servers keep what they answer by its id alone, of all who speak with them. */
it('gives no two requests the same id, whatever sessions they are made in', async () => {
  const servers = [await openSilentServer(), await openSilentServer()]
  const requester = { caller: 'ada', canAnswer: CANNOT, ask: async () => ({ action: 'decline' }) as const, log() {} }
  for (const { session, say, idsOf } of servers) {
    const { signal } = new AbortController()
    const answer = session.ask('tools/call', { name: 'pay' }, { signal, requester, onProgress() {} })
    say({ id: idsOf('tools/call')[0], result: { content: [] } })
    expect(await answer).toEqual({ content: [] })
  }
  const ids = servers.flatMap(({ sent }) => sent.filter(isRequest).map(({ id }) => id))
  expect(ids).toHaveLength(4)
  expect(new Set(ids).size).toBe(4)
  expect(ids.every(Number.isSafeInteger)).toBe(true)
})

it.each(WAYS)('says how a program ended that reads nothing, however it is met (%s)', async (era, isRemembered) => {
  const { clock, programs, failure } = stage({ era, isRemembered })
  // One of which nobody knows the era is started once more, and asked the older way.
  for (let start = 1; start <= (era === 'auto' ? 2 : 1); start++) {
    await expect.poll(() => programs.length).toBe(start)
    await clock.advance(300)
    programs.at(-1)?.events.onEnd(EXITED)
  }
  expect(await failure).toMatchObject({ end: EXITED })
})
