import { describe, expect, it, onTestFinished } from 'vitest'
import { DEFAULT_ORGANISATION, DEFAULT_SETTINGS } from '../../contracts/index.ts'
import { delegationHandlers } from '../../core/delegation/index.ts'
import { messageHandlers, readerOf } from '../../core/messages/index.ts'
import { createApiService } from '../../core/organisation/index.ts'
import type { Store } from '../../core/store/index.ts'
import { openDelegations } from '../../testing/delegation-fixture.ts'
import { startHttpServer } from '../../testing/http-server.ts'
import { createMemoryStore } from '../../testing/memory-store.ts'

const TTL_MS = 1_500

/** Bob, who waits for something; Ada, who sends it; and a second token of Bob's that stays good. */
async function open() {
  const hooked = hookedStore()
  const at = await openDelegations({ store: hooked.store })
  const { organisation, delegations, messages, clock } = at
  const looks = new Set<() => void>()
  let begun = 0
  const server = await startHttpServer({
    api: {
      service: createApiService({
        ...messageHandlers({ messages, organisation }),
        ...delegationHandlers({ delegations, organisation }),
      }),
      clock,
      identify: organisation.identify,
      expectOrganisation: organisation.organisations.expect,
      onAccessChange(look) {
        begun++
        looks.add(look)
        const off = organisation.onAccessChange(look)
        return () => {
          looks.delete(look)
          off()
        }
      },
      releaseMessages: tokenId => messages.inbox.leave(readerOf(tokenId)),
      settings: DEFAULT_SETTINGS,
    },
  })
  onTestFinished(() => server.close(0))
  const { ada, bob } = await at.workspaces('ada', 'bob')
  const ask = async (path: string, token: string) => {
    const answer = await fetch(`${server.url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  const { token: another } = await organisation.tokens.create({ agent: 'bob' })
  return { ...at, ...hooked, ada, bob, another, get: ask, looks, begun: () => begun }
}

type At = Awaited<ReturnType<typeof open>>

/** A store in which something can be made to happen just when a message has become somebody's. */
function hookedStore() {
  const store = createMemoryStore()
  let then: (() => Promise<unknown>) | undefined
  const commit: Store['commit'] = async writes => {
    const outcome = await store.commit(writes)
    const isLease = writes.some(
      write => write.kind === 'update' && write.table === 'inbox' && 'leaseOwner' in write.set,
    )
    const now = isLease ? then : undefined
    if (now) then = undefined
    await now?.()
    return outcome
  }
  return {
    store: { ...store, commit } as Store,
    whenLeased: (what: () => Promise<unknown>) => {
      then = what
    },
  }
}

/** The ways in which access ends, and what undoes it for those who still have a token. */
const ENDS = {
  'its token is revoked': {
    end: ({ organisation: { tokens } }: At, id: string): Promise<unknown> => tokens.revoke(id),
  },
  'the time of its token is over': { ttlMs: TTL_MS, end: ({ clock }: At) => clock.advance(TTL_MS) },
  'its workspace is archived': {
    end: ({ organisation: { workspaces }, bob }: At) => workspaces.archive(DEFAULT_ORGANISATION, bob.id),
    undo: ({ organisation: { workspaces }, bob }: At) =>
      workspaces.change(DEFAULT_ORGANISATION, bob.id, { status: 'active' }),
  },
} as const

interface End {
  readonly ttlMs?: number
  end(at: At, tokenId: string): Promise<unknown>
  undo?(at: At): Promise<unknown>
}

const REFUSED = { status: 401, body: { code: 'TOKEN_INVALID' } }

describe.each(Object.entries<End>(ENDS))('a request that waits while %s', (_, { ttlMs, end, undo }) => {
  const tokenIn = ({ organisation }: At) => organisation.tokens.create({ agent: 'bob', ttlMs })

  it('is refused, and the message that comes next is for others', async () => {
    const at = await open()
    const { token, facts } = await tokenIn(at)
    const waiting = at.get('/inbox?waitSeconds=60', token)
    await expect.poll(() => at.looks.size).toBe(1)
    await end(at, facts.id)
    expect(await waiting).toMatchObject(REFUSED)
    await undo?.(at)
    await at.messages.sending.toPeer(at.ada, at.bob.id, { text: 'a secret' })
    const { body } = await at.get('/inbox', at.another)
    expect(body).toEqual({ messages: [expect.objectContaining({ text: 'a secret' })], nextCursor: null })
    expect(at.looks.size).toBe(0)
  })

  it('is refused the message that it was just about to get, which is free at once', async () => {
    const at = await open()
    const { token, facts } = await tokenIn(at)
    const waiting = at.get('/inbox?waitSeconds=60', token)
    await expect.poll(() => at.looks.size).toBe(1)
    at.whenLeased(() => end(at, facts.id))
    await at.messages.sending.toPeer(at.ada, at.bob.id, { text: 'a secret' })
    expect(JSON.stringify(await waiting)).not.toContain('a secret')
    expect(await waiting).toMatchObject(REFUSED)
    await undo?.(at)
    const { body } = await at.get('/inbox', at.another)
    expect(body).toEqual({ messages: [expect.objectContaining({ text: 'a secret' })], nextCursor: null })
  })

  it('is refused, though it waits for the end of a task', async () => {
    const at = await open()
    const { token, facts } = await tokenIn(at)
    const { id } = await at.ask(at.bob, at.ada)
    const waiting = at.get(`/delegations/${id}?waitSeconds=60`, token)
    await expect.poll(() => at.looks.size).toBe(1)
    await end(at, facts.id)
    expect(await waiting).toMatchObject(REFUSED)
    expect(at.looks.size).toBe(0)
  })
})

it('refuses a person who waits and is removed', async () => {
  const at = await open()
  const { issued } = await at.organisation.persons.create(DEFAULT_ORGANISATION, { name: 'pat' })
  const { id } = await at.ask(at.bob, at.ada)
  const waiting = at.get(`/delegations/${id}?waitSeconds=60`, issued.token)
  await expect.poll(() => at.looks.size).toBe(1)
  await at.organisation.persons.remove(DEFAULT_ORGANISATION, 'pat')
  expect(await waiting).toMatchObject(REFUSED)
})

it('lets others wait on when somebody’s access ends, and looks after nobody who does not wait', async () => {
  const at = await open()
  const { id } = await at.ask(at.bob, at.ada)
  const { token, facts } = await at.organisation.tokens.create({ agent: 'bob' })
  const waiting = at.get('/inbox?waitSeconds=60', at.another)
  await expect.poll(() => at.looks.size).toBe(1)
  for (const path of ['/inbox', '/inbox?waitSeconds=0', `/delegations/${id}`, '/activity']) {
    expect((await at.get(path, token)).status).toBe(200)
  }
  expect(at.begun()).toBe(1)
  await at.organisation.tokens.revoke(facts.id)
  await at.messages.sending.toPeer(at.ada, at.bob.id, { text: 'a word' })
  expect(await waiting).toMatchObject({ status: 200, body: { messages: [{ text: 'a word' }] } })
})
