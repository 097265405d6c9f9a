import { describe, expect, it } from 'vitest'
import {
  insert,
  insertCopying,
  insertNext,
  mustExist,
  mustNotExist,
  remove,
  update,
  type Write,
} from '../../core/store/index.ts'
import { activity, inboxLine, openFresh, operation, type StoreSubject, token } from './stage.ts'

export function guardContract(subject: StoreSubject): void {
  const open = async (...writes: Write[]) => {
    const store = await openFresh(subject)
    await store.commit(writes)
    return store
  }

  describe('a commit', () => {
    it('writes all of it and says how many rows each step touched', async () => {
      const store = await open()
      const outcome = await store.commit([
        insert('operations', operation('a')),
        insert('operations', operation('b')),
        update('operations', { where: { state: 'queued' }, set: { attempts: 1 }, rows: 'any' }),
        mustExist('operations', { id: 'a', attempts: 1 }),
        mustNotExist('operations', { id: 'c' }),
        remove('operations', { where: { id: 'b' } }),
      ])
      expect(outcome).toEqual({ committed: true, rows: [1, 1, 2, 1, 0, 1] })
      expect(await store.get('operations', 'a')).toMatchObject({ id: 'a', attempts: 1 })
      expect(await store.get('operations', 'b')).toBeUndefined()
    })

    it('writes nothing of it when one guard fails, and says which', async () => {
      const store = await open(insert('operations', operation('a')), insert('tokens', token('t')))
      const outcome = await store.commit([
        insert('operations', operation('b')),
        update('operations', { where: { id: 'a' }, set: { state: 'failed' } }),
        remove('tokens', { where: { id: 't' } }),
        mustExist('tokens', { id: 'gone' }, 'token.known'),
        insert('operations', operation('c')),
      ])
      expect(outcome).toEqual({
        committed: false,
        failed: { index: 3, kind: 'mustExist', table: 'tokens', guard: 'token.known', rows: 0 },
      })
      expect(await store.count('operations')).toBe(1)
      expect(await store.get('operations', 'a')).toMatchObject({ state: 'queued' })
      expect(await store.count('tokens')).toBe(1)
    })

    it('of nothing is done at once', async () => {
      expect(await (await open()).commit([])).toEqual({ committed: true, rows: [] })
    })

    it('refuses a value that no store could give back the same, and writes nothing', async () => {
      const store = await open()
      const half = operation('a', { createdAt: 1.5 })
      await expect(store.commit([insert('operations', half)])).rejects.toMatchObject({
        code: 'INTERNAL',
        message: expect.stringContaining('operations.createdAt'),
      })
      for (const progress of ['\0', '\ud800']) {
        const row = operation('a', { progress })
        await expect(store.commit([insert('operations', row)])).rejects.toMatchObject({ code: 'INTERNAL' })
      }
      expect(await store.count('operations')).toBe(0)
    })

    it('refuses a condition that was left open rather than reading it as "any"', async () => {
      const store = await open(insert('operations', operation('a')))
      const where = { id: undefined } as never
      await expect(store.commit([remove('operations', { where })])).rejects.toMatchObject({ code: 'INTERNAL' })
      expect(await store.count('operations')).toBe(1)
    })
  })

  describe('an insert', () => {
    it.each([
      ['its id', insert('tokens', token('t', { hash: 'cd'.repeat(32) }))],
      ['what must be unique', insert('tokens', { ...token('t'), id: 'other' })],
    ])('fails when %s is taken, and leaves the row that has it alone', async (_what, write) => {
      const store = await open(insert('tokens', token('t', { label: 'first' })))
      expect(await store.commit([write])).toEqual({
        committed: false,
        failed: { index: 0, kind: 'insert', table: 'tokens', rows: 0 },
      })
      expect(await store.find('tokens', { columns: ['id', 'label'] })).toEqual([{ id: 't', label: 'first' }])
    })

    it('takes an idempotency key once for a caller and tool, and again for another', async () => {
      const keyed = { idempotencyKey: 'k' }
      const store = await open(insert('operations', operation('a', keyed)))
      const second = await store.commit([insert('operations', operation('b', keyed), 'idempotency.free')])
      expect(second).toMatchObject({ committed: false, failed: { guard: 'idempotency.free' } })
      for (const other of [{ tool: 'x' }, { workspace: 'x' }, { callerName: 'x' }, { callerKind: 'person' as const }]) {
        const row = operation(JSON.stringify(other), { ...keyed, ...other })
        expect(await store.commit([insert('operations', row)])).toMatchObject({ committed: true })
      }
      const without = [insert('operations', operation('c')), insert('operations', operation('d'))]
      expect(await store.commit(without)).toMatchObject({ committed: true })
    })
  })

  describe('an insert with a number', () => {
    const numbered = (id: string, workspaceId: string) =>
      insertNext('activity', activity(id, { workspaceId }), { column: 'sequence', within: ['workspaceId'] })
    const waiting = (id: string) => insertCopying('inbox', inboxLine(id), { column: 'sequence', from: 'activity', id })
    const order = { by: ['workspaceId', 'sequence'] as const }

    it('gets the next one among those it belongs to, also within its own commit and beside others', async () => {
      const store = await open(numbered('a1', 'a'), numbered('b1', 'b'), numbered('a2', 'a'))
      await Promise.all(Array.from({ length: 20 }, (_, i) => store.commit([numbered(`c${i}`, i % 2 ? 'a' : 'b')])))
      const rows = await store.find('activity', { order, columns: ['workspaceId', 'sequence'] })
      const of = (id: string) => rows.filter(({ workspaceId }) => workspaceId === id).map(({ sequence }) => sequence)
      expect(of('a')).toEqual(Array.from({ length: 12 }, (_, i) => i + 1))
      expect(of('b')).toEqual(Array.from({ length: 11 }, (_, i) => i + 1))
    })

    it('goes on behind the highest that is there, and takes none when its commit is refused', async () => {
      const store = await open(numbered('a1', 'a'), numbered('a2', 'a'), numbered('a3', 'a'))
      await store.commit([remove('activity', { where: { id: { in: ['a1', 'a2'] } }, rows: 2 })])
      await store.commit([numbered('a4', 'a'), mustExist('tokens', { id: 'nobody' })])
      expect(await store.commit([numbered('a3', 'a')])).toMatchObject({ committed: false, failed: { rows: 0 } })
      expect(await store.commit([numbered('a5', 'a')])).toMatchObject({ committed: true })
      const rows = await store.find('activity', { order, columns: ['id', 'sequence'] })
      expect(rows.map(({ id, sequence }) => [id, sequence])).toEqual([
        ['a3', 3],
        ['a5', 4],
      ])
    })

    it('takes the one that another row of the same commit was given', async () => {
      const store = await open(numbered('a1', 'a'), numbered('a2', 'a'), waiting('a2'))
      expect(await store.get('inbox', 'a2')).toMatchObject({ sequence: 2 })
    })
  })

  describe('an update', () => {
    it('fails when the row is no longer in the state that was expected', async () => {
      const store = await open(insert('operations', operation('a', { state: 'cancelled' })))
      const lease = update('operations', {
        where: { id: 'a', state: 'queued' },
        set: { state: 'leased' },
        guard: 'operation.queued',
      })
      expect(await store.commit([lease])).toEqual({
        committed: false,
        failed: { index: 0, kind: 'update', table: 'operations', guard: 'operation.queued', rows: 0 },
      })
    })

    it('is undone when it touched more rows than were expected', async () => {
      const store = await open(insert('operations', operation('a')), insert('operations', operation('b')))
      const all = update('operations', { where: { state: 'queued' }, set: { state: 'failed' } })
      expect(await store.commit([all])).toMatchObject({ committed: false, failed: { rows: 2 } })
      expect(await store.count('operations', { state: 'queued' })).toBe(2)
    })

    it('that many want at once is won by one', async () => {
      const store = await open(insert('operations', operation('a')))
      const take = (owner: string) =>
        store.commit([
          update('operations', { where: { id: 'a', fence: 0 }, set: { state: 'leased', leaseOwner: owner, fence: 1 } }),
          insert('operations', operation(`by-${owner}`)),
        ])
      const outcomes = await Promise.all(Array.from({ length: 50 }, (_, i) => take(`w${i}`)))
      expect(outcomes.filter(({ committed }) => committed)).toHaveLength(1)
      const winner = (await store.get('operations', 'a'))?.leaseOwner
      const made = await store.find('operations', { where: { state: 'queued' }, columns: ['id'] })
      expect(made).toEqual([{ id: `by-${winner}` }])
    })

    it('of someone whose lease has passed on changes nothing', async () => {
      const store = await open(insert('operations', operation('a', { state: 'leased', leaseOwner: 'old', fence: 1 })))
      const settle = (fence: number) =>
        update('operations', { where: { id: 'a', state: 'leased', fence }, set: { state: 'succeeded' } })
      await store.commit([update('operations', { where: { id: 'a', fence: 1 }, set: { leaseOwner: 'new', fence: 2 } })])
      expect(await store.commit([settle(1)])).toMatchObject({ committed: false })
      expect(await store.commit([settle(2)])).toMatchObject({ committed: true })
    })
  })

  describe('commits that come together', () => {
    it('fail one by one: a refused one fails no other', async () => {
      const store = await open(insert('tokens', token('taken')))
      const one = (i: number) => {
        const row = operation(`op${i}`)
        const isBad = i % 3 === 0
        return store.commit([insert('operations', row), insert('tokens', token(isBad ? 'taken' : `t${i}`))])
      }
      const outcomes = await Promise.all(Array.from({ length: 60 }, (_, i) => one(i)))
      expect(outcomes.map(({ committed }) => committed)).toEqual(outcomes.map((_, i) => i % 3 !== 0))
      expect(await store.count('operations')).toBe(40)
      expect(await store.count('tokens')).toBe(41)
    })

    it('happen in the order in which they were made', async () => {
      const store = await open(insert('operations', operation('a')))
      const step = (i: number) =>
        store.commit([update('operations', { where: { id: 'a', attempts: i }, set: { attempts: i + 1 } })])
      const outcomes = await Promise.all(Array.from({ length: 300 }, (_, i) => step(i)))
      expect(outcomes.every(({ committed }) => committed)).toBe(true)
      expect((await store.get('operations', 'a'))?.attempts).toBe(300)
    })
  })
}
