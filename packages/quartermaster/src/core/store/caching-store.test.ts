import { describe, expect, it } from 'vitest'
import { DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { workspaceRow } from '../../testing/memory-fixture.ts'
import { createMemoryStore } from '../../testing/memory-store.ts'
import { sharedStorages } from '../../testing/shared-storage.ts'
import { createCachingStore, insert, mustExist, type Store, type StoreNews, update } from './index.ts'

const BOB = workspaceRow('ws_bob', { organisation: DEFAULT_ORGANISATION, parentId: 'ws_root' })

const archive = update('workspaces', { where: { id: BOB.id }, set: { status: 'archived' } })

/** A store that counts what it is asked, and one over it that remembers. */
function counted(base: Store, news?: StoreNews) {
  const asked = { count: 0 }
  const store: Store = {
    ...base,
    get: (table, id) => (asked.count++, base.get(table, id)),
    find: (table, query) => (asked.count++, base.find(table, query)),
  }
  const remembering = createCachingStore({ store, news })
  const byId = async () => (await remembering.get('workspaces', BOB.id))?.status
  const byName = async (workspace = 'bob') =>
    (await remembering.find('workspaces', { where: { organisation: DEFAULT_ORGANISATION, workspace }, limit: 1 }))[0]
      ?.status
  return { asked, store: remembering, byId, byName }
}

async function withBob(base = createMemoryStore()) {
  await base.commit([insert('workspaces', BOB)])
  return counted(base)
}

describe('a workspace', () => {
  it('is read once, by its id and by its name, for as long as nothing changes', async () => {
    const { asked, byId, byName } = await withBob()
    for (let i = 0; i < 3; i++) expect([await byId(), await byName()]).toEqual(['active', 'active'])
    expect(asked.count).toBe(2)
  })

  it('is as it was written as soon as that is answered', async () => {
    const { store, byId, byName } = await withBob()
    expect([await byId(), await byName()]).toEqual(['active', 'active'])
    await store.commit([archive])
    expect([await byId(), await byName()]).toEqual(['archived', 'archived'])
  })

  it('is read again after a write of which nobody knows what became', async () => {
    const base = createMemoryStore()
    const { store, byId } = await withBob({
      ...base,
      async commit(writes) {
        const outcome = await base.commit(writes)
        if (writes[0]?.kind === 'update') throw new Error('The answer got lost.')
        return outcome
      },
    })
    expect(await byId()).toBe('active')
    await expect(store.commit([archive])).rejects.toThrow('lost')
    expect(await byId()).toBe('archived')
  })

  it('is not remembered as it was when it changed while it was read', async () => {
    const base = createMemoryStore()
    const slow = deferred<void>()
    await base.commit([insert('workspaces', BOB)])
    const get: Store['get'] = async (table, id) => {
      const row = await base.get(table, id)
      await slow.promise
      return row
    }
    const store = createCachingStore({ store: { ...base, get } })
    const early = store.get('workspaces', BOB.id)
    await store.commit([archive])
    slow.resolve()
    expect((await early)?.status).toBe('active')
    expect((await store.get('workspaces', BOB.id))?.status).toBe('archived')
  })

  it('is asked for every time by a name that nobody has', async () => {
    const { asked, byName, store } = await withBob()
    expect([await byName('eve'), await byName('eve'), asked.count]).toEqual([undefined, undefined, 2])
    await store.commit([insert('workspaces', { ...BOB, id: 'ws_eve', workspace: 'eve' })])
    expect(await byName('eve')).toBe('active')
  })

  it('cannot be changed by whoever was handed it', async () => {
    const { store, byId } = await withBob()
    const row = await store.get('workspaces', BOB.id)
    expect(() => Object.assign(row ?? {}, { status: 'archived' })).toThrow(TypeError)
    expect(await byId()).toBe('active')
  })
})

describe('a workspace that another process changes', () => {
  async function twoProcesses() {
    const clock = createFakeClock()
    const [there, line] = await sharedStorages(['there', 'here'], { clock })
    if (!there || !line) throw new Error('Two were asked for.')
    await there.store.commit([insert('workspaces', BOB)])
    return { there: there.store, line, heard: clock.breathe, here: counted(line.store, line.news) }
  }

  it('is read again when that is heard', async () => {
    const { there, here, heard } = await twoProcesses()
    await heard()
    expect([await here.byId(), await here.byName()]).toEqual(['active', 'active'])
    await there.commit([archive])
    await heard()
    expect([await here.byId(), await here.byName()]).toEqual(['archived', 'archived'])
  })

  it('is alone in being read again: a heartbeat leaves all others remembered, here and there', async () => {
    const { there, here, heard } = await twoProcesses()
    const beat = (at: number) => update('workspaces', { where: { id: 'ws_eve' }, set: { lastSeenAt: at } })
    const eve = async () => (await here.store.get('workspaces', 'ws_eve'))?.lastSeenAt
    expect(await here.store.get('workspaces', 'ws_eve')).toBeUndefined()
    await there.commit([insert('workspaces', { ...BOB, id: 'ws_eve', workspace: 'eve' })])
    await heard()
    expect([await here.byId(), await here.byName(), await eve(), here.asked.count]).toEqual([
      'active',
      'active',
      null,
      4,
    ])
    await there.commit([beat(5)])
    await heard()
    expect([await here.byId(), await here.byName(), await eve(), here.asked.count]).toEqual(['active', 'active', 5, 5])
    await here.store.commit([beat(6)])
    expect([await here.byId(), await here.byName(), await eve(), here.asked.count]).toEqual(['active', 'active', 6, 6])
  })

  it('is read every time while nothing is heard, and nothing of before counts when it is again', async () => {
    const { there, line, here, heard } = await twoProcesses()
    await heard()
    expect(await here.byId()).toBe('active')
    line.cutOff()
    await there.commit([archive])
    expect([await here.byId(), await here.byName()]).toEqual(['archived', 'archived'])
    await there.commit([update('workspaces', { where: { id: BOB.id }, set: { status: 'active' } })])
    line.connect()
    expect(await here.byId()).toBe('active')
    line.fix()
    expect(await here.byId()).toBe('active')
  })

  it('is read again when a guard shows that it is another by now', async () => {
    const { there, here } = await twoProcesses()
    expect(await here.byId()).toBe('active')
    await there.commit([archive])
    const { committed } = await here.store.commit([mustExist('workspaces', { id: BOB.id, status: 'active' })])
    expect([committed, await here.byId()]).toEqual([false, 'archived'])
  })
})
