import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { inTurns } from '../../../core/kernel/index.ts'
import { type ReviewedListing, readListing } from '../../../core/upstreams/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { RpcError, SendFailure } from '../peer/channel.ts'
import { listedSession } from '../testing/bare-session.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { createOwnDefinitions } from './own-definitions.ts'

const FOREVER = new AbortController().signal
const digest = (text: string) => createHash('sha256').update(text).digest('hex')
const tool = (name: string, description: string) => ({ name, description, inputSchema: { type: 'object' } })

type Shown = ReturnType<typeof tool>

/** A server that shows an agent something, and what of it a person has accepted. */
async function stage(...shown: Shown[]) {
  const clock = createFakeClock()
  const server = { shown, lists: 0, answers: true, refuses: false, breaks: false }
  const session = listedSession(async (_kind, _cursor, signal) => {
    server.lists++
    if (server.breaks) throw new SendFailure('The connection broke.', { wasSent: 'maybe' })
    if (server.refuses) throw new RpcError({ code: -32_603, message: 'No list for you.' })
    return server.answers ? { tools: server.shown } : untilAborted(signal)
  })
  let verdict: ReviewedListing | undefined
  const own = createOwnDefinitions({ upstream: 'desk', clock, digest, listMs: () => 30_000, verdict: () => verdict })
  return {
    clock,
    server,
    own,
    session,
    check: async (name: string, signal = FOREVER) => own.check(session, { kind: 'tool', name, signal }),
    async accept(...tools: Shown[]) {
      const { definitions } = await inTurns(
        readListing('desk', { server: session.facts.server, tools }, { digest }),
        clock,
      )
      verdict = { offered: definitions, held: [], problems: [] } as unknown as ReviewedListing
    },
    hold(name: string, kind: 'tool' | 'resource' = 'tool') {
      verdict = { offered: [], held: [{ kind, name, state: 'changed', reason: '' }], gone: [], problems: [] }
    },
  }
}

const DISABLED = { code: 'TOOL_DISABLED', message: expect.stringContaining('upstreams review desk') }

it('lets an agent use what its connection shows as it was accepted, and nothing that it shows differently', async () => {
  const { own, session, check, accept } = await stage(tool('a', 'A.'), tool('b', 'Another B.'))
  await accept(tool('a', 'A.'), tool('b', 'B.'))
  expect(await own.compare(session, FOREVER)).toBe(false)
  await check('a')
  await expect(check('b')).rejects.toMatchObject(DISABLED)
})
it('lets an agent use nothing of a connection that does not list it, until it does', async () => {
  const { own, clock, server, session, check, accept } = await stage(tool('a', 'A.'))
  await accept(tool('a', 'A.'))
  server.refuses = true
  expect(await own.compare(session, FOREVER, 'bob')).toBe(false)
  for (let call = 0; call < 10; call++)
    await expect(check('a')).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining('does not list all that it has'),
    })
  expect(server.lists).toBe(1)
  expect(own.differing()).toEqual([])
  server.refuses = false
  await clock.advance(10_000)
  await Promise.all([check('a'), check('a')])
  expect(server.lists).toBe(2)
})

it('lets nobody use either what the connection by which it is known refuses to list, until it does', async () => {
  const { own, clock, server, session, check, accept } = await stage(tool('a', 'A.'))
  await accept(tool('a', 'A.'))
  const others = { server: session.facts.server, prompts: [], resources: [], templates: [] }
  expect(await own.onMainListed(session, others)).toBe(false)
  await expect(check('a')).rejects.toMatchObject({
    code: 'TOOL_DISABLED',
    message: expect.stringContaining('does not list all that it has'),
  })
  expect(server.lists).toBe(0)
  // Whoever needs it looks again.
  await clock.advance(10_000)
  await check('a')
  expect(server.lists).toBe(1)
  await own.onMainListed(session, others)
  expect(await own.onMainListed(session, { ...others, tools: [tool('a', 'A.')] })).toBe(true)
  await check('a')
  expect(server.lists).toBe(1)
})

it('refuses of resources only what is held back, however they differ, and of templates what differs', async () => {
  const { own, session, accept, hold } = await stage()
  const use = async (kind: 'resource' | 'template') => own.check(session, { kind, name: 'x://1', signal: FOREVER })
  await accept()
  await use('resource')
  await expect(use('template')).rejects.toMatchObject({ code: 'TOOL_DISABLED' })
  hold('x://1', 'resource')
  await expect(use('resource')).rejects.toMatchObject(DISABLED)
})
it('lets nobody use what is not accepted any more over the connection by which it is known', async () => {
  const { check, accept, hold } = await stage()
  await accept(tool('a', 'A.'))
  await check('a')
  await expect(check('b')).rejects.toMatchObject({
    code: 'TOOL_DISABLED',
    message: expect.stringContaining('not offered any more'),
  })
  hold('a')
  await expect(check('a')).rejects.toMatchObject(DISABLED)
})
