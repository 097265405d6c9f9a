import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createSealer } from '../../../adapters/sealing/index.ts'
import { openPostgresStore } from '../../../adapters/storage-postgres/index.ts'
import { silentLog } from '../../../adapters/system/index.ts'
import { AppError } from '../../../contracts/index.ts'
import { asked, deletionFixture, ONCE, OWNER } from '../../../testing/deletion-fixture.ts'
import { createFakeClock, type FakeClock } from '../../../testing/fake-clock.ts'
import { type Hub, simpleTool } from '../../../testing/hub.ts'
import { hasPostgres, testDatabase } from '../../../testing/postgres/test-database.ts'
import { workerHub } from '../../../testing/worker-hub.ts'
import { createNodes } from '../../store/index.ts'

/** One process on a database that others may use as well. */
async function storageAt(url: string, owner: string, clock: FakeClock) {
  const store = await openPostgresStore({ url, log: silentLog })
  onTestFinished(() => store.close())
  const { news } = store
  const self = { id: owner, host: 'here', folder: owner, version: '0.0.0' }
  const nodes = createNodes({ store, clock, log: silentLog, self, leaseMs: 60_000, news })
  await nodes.join()
  const storage = { store, sealer: createSealer({ key: new Uint8Array(32) }), shared: { news, nodes } }
  return { open: async () => storage, current: () => storage, store, nodes, owner, fault: () => undefined }
}

async function twoStorages() {
  const [clock, url] = [createFakeClock(), await testDatabase()]
  const storages = await Promise.all(['here', 'there'].map(owner => storageAt(url, owner, clock)))
  await Promise.all(storages.map(({ nodes }) => nodes.look()))
  return { clock, storages }
}

const CALLS = 40

describe.runIf(hasPostgres())('two processes on one database', () => {
  it('run each of many operations that fall due together once', async () => {
    const { clock, storages } = await twoStorages()
    const runs = new Map<string, string[]>()
    const hubs: Hub[] = []
    for (const storage of storages) {
      const handler = ({ to }: { to: string }) => {
        const tries = runs.get(to) ?? []
        runs.set(to, [...tries, storage.owner])
        if (tries.length === 0) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The office is closed.')
        return 'sent'
      }
      const tool = { mutates: true, idempotent: true, retry: 'replay', handler }
      const hub = await workerHub([simpleTool('send', tool as never)], { storage, owner: storage.owner, clock })
      hub.work()
      onTestFinished(() => hub.stop())
      hubs.push(hub)
    }
    const names = Array.from({ length: CALLS }, (_, i) => `p${i}`)
    await Promise.all(names.map(to => hubs[0]?.callAs('worker', 'send', { to })))
    await clock.advance(10_000)
    const done = () => storages[0]?.store.count('operations', { state: 'succeeded' })
    await vi.waitFor(async () => expect(await done()).toBe(CALLS), { timeout: 300_000 })
    expect(names.map(to => runs.get(to)?.length)).toEqual(names.map(() => 2))
    expect(await storages[0]?.store.count('audit', { outcome: 'succeeded' })).toBe(CALLS)
  })

  it('give an answer to a caller in one that was given in the other, at once', async () => {
    const { clock, storages } = await twoStorages()
    const [here, there] = await Promise.all(
      storages.map(storage => deletionFixture({ storage: storage as never, owner: storage.owner, clock })),
    )
    if (!here || !there) throw new Error('Two were asked for.')
    const { answer } = await asked(there)
    await expect.poll(() => here.open()).toHaveLength(1)
    const [request] = await here.open()
    await here.answer(request?.id ?? '', ONCE, OWNER)
    expect((await answer).result.content).toEqual([{ type: 'text', text: 'deleted' }])
    expect([here.runs.length, there.runs.length]).toEqual([0, 1])
    await Promise.all([here.hub.stop(), there.hub.stop()])
  })
})
