import { describe, expect, it, onTestFinished } from 'vitest'
import { openPostgresStore } from '../../adapters/storage-postgres/index.ts'
import { silentLog } from '../../adapters/system/index.ts'
import { openMessages } from '../../testing/message-fixture.ts'
import { hasPostgres, testDatabase } from '../../testing/postgres/test-database.ts'

describe.runIf(hasPostgres())('two nodes on one database', () => {
  it('hear from each other that a reader has left', async () => {
    const url = await testDatabase()
    const open = async () => {
      const store = await openPostgresStore({ url, log: silentLog })
      onTestFinished(() => store.close())
      return store
    }
    const [here, there] = await Promise.all([open(), open()])
    const { messages, another, workspaces, say, texts } = await openMessages({ store: here })
    const elsewhere = another(there.news, there)
    onTestFinished(() => elsewhere.stop())
    const { ada, bob } = await workspaces('ada', 'bob')
    await say(ada, bob, 'for one')
    expect(await texts(bob, 'r1')).toEqual(['for one'])
    const taken = await elsewhere.inbox.take({ workspace: bob, reader: 'r2', limit: 1 })
    expect(taken).toMatchObject({ rows: [], held: { messages: 1 } })
    // The clock stands still, so that nothing but the news can end this.
    const waiting = elsewhere.inbox.take({ workspace: bob, reader: 'r2', limit: 1, waitMs: 60_000 })
    await expect.poll(() => elsewhere.watchers.count()).toBe(1)
    await messages.inbox.leave('r1')
    expect((await waiting).rows).toMatchObject([{ text: 'for one' }])
  })
})
