import { expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { openOrganisation } from '../../testing/organisation-fixture.ts'
import { update } from '../store/index.ts'

/** A workspace with a token, and what it looks like to others. */
async function open() {
  const at = await openOrganisation({ settings: { awaySeconds: 90, offlineSeconds: 600 } })
  const { id } = await at.ask('createWorkspace', { body: { name: 'ada' } })
  const { token } = await at.ask('createToken', { params: { id }, body: {} })
  const visitor = await at.organisation.identify(token)
  const beat = () => at.ask('heartbeat', {}, visitor)
  const seen = async () => (await at.ask('showWorkspace', { params: { id } })).presence
  const steps = () => at.told.map(({ name, from, to }) => `${name} ${from} ${to}`)
  return { ...at, id, visitor, beat, seen, steps }
}

it('is online while it is heard of, then away, then offline; each change is told once', async () => {
  const { beat, seen, clock, steps, organisation, id } = await open()
  expect(await seen()).toBe('offline')
  expect(await beat()).toEqual({ presence: 'online', nextWithinSeconds: 30 })
  await clock.advance(60_000)
  await beat()
  await clock.advance(89_999)
  expect([await seen(), steps()]).toEqual(['online', ['ada offline online']])
  await clock.advance(1)
  expect([await seen(), steps()]).toEqual(['away', ['ada offline online', 'ada online away']])
  await clock.advance(510_000)
  expect([await seen(), steps().at(-1)]).toEqual(['offline', 'ada away offline'])
  await beat()
  expect([await seen(), steps().at(-1)]).toEqual(['online', 'ada offline online'])
  await organisation.stop()
  expect((await organisation.workspaces.find('default', id))?.lastSeenAt).toBe(clock.now())
})

it('is written in batches, not for each heartbeat', async () => {
  const { beat, clock, storage, id, store } = await open()
  const commits: number[] = []
  storage.fault = writes => void commits.push(writes.length)
  for (let n = 0; n < 50; n++) {
    await beat()
    await clock.advance(100)
  }
  await clock.advance(10_000)
  expect(commits).toHaveLength(1)
  expect((await store.get('workspaces', id))?.lastSeenAt).toBe(1_700_000_004_900)
})

it('never goes back on record when another process has heard of it later', async () => {
  const { beat, clock, id, store } = await open()
  await beat()
  const later = clock.now() + 5_000
  await store.commit([update('workspaces', { where: { id }, set: { lastSeenAt: later } })])
  await clock.advance(10_000)
  expect((await store.get('workspaces', id))?.lastSeenAt).toBe(later)
})

it('is written later where it could not be written at once', async () => {
  const { beat, clock, storage, id, store } = await open()
  storage.fault = () => ({ error: new AppError('STORE_UNAVAILABLE', 'The disk is full.') })
  await beat()
  await clock.advance(10_000)
  storage.fault = () => undefined
  await clock.advance(10_000)
  expect((await store.get('workspaces', id))?.lastSeenAt).toBe(1_700_000_000_000)
})

it('goes on after a restart, and is told when it ends', async () => {
  const { beat, clock, organisation, reopen, id } = await open()
  await beat()
  await organisation.stop()
  const again = await reopen()
  const told: string[] = []
  again.events.on('presence.changed', ({ to }) => void told.push(to))
  const row = await again.workspaces.pick('default', id)
  expect(again.presence.of(row)).toBe('online')
  await clock.advance(600_000)
  expect(told).toEqual(['away', 'offline'])
})

it('is what another process has heard of, too', async () => {
  const { beat, clock, reopen, visitor, steps } = await open()
  await beat()
  const other = await reopen()
  await clock.advance(60_000)
  if (visitor?.kind === 'workspace') other.presence.beat(visitor.workspace)
  await clock.advance(60_000)
  expect(steps()).toEqual(['ada offline online'])
})

it('is known with what the workspace says when it registers', async () => {
  const { ask, visitor, seen, id, clock } = await open()
  const answer = await ask('register', { body: { delivery: 'push', capacity: 3 } }, visitor)
  expect(answer).toMatchObject({
    presence: 'online',
    workspace: { delivery: 'push', capacity: 3, registeredAt: clock.now() },
  })
  await ask('register', { body: { capacity: null } }, visitor)
  expect(await ask('showWorkspace', { params: { id } })).toMatchObject({ delivery: 'push', capacity: null })
  expect(await seen()).toBe('online')
})
