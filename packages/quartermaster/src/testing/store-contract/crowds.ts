import { describe, expect, it } from 'vitest'
import { insert } from '../../core/store/index.ts'
import { auditLine, openFresh, operation, type StoreSubject } from './stage.ts'

export function crowdContract(subject: StoreSubject): void {
  describe('many at once', () => {
    it('are all answered, and everything that was answered is there', async () => {
      const store = await openFresh(subject)
      const commits = Array.from({ length: 1_000 }, (_, i) => store.commit([insert('audit', auditLine(`a${i}`))]))
      const outcomes = await Promise.all(commits)
      expect(outcomes.every(({ committed }) => committed)).toBe(true)
      expect(await store.count('audit')).toBe(1_000)
    })

    it('do not make a commit wait for those who read much', async () => {
      const store = await openFresh(subject)
      const result = { content: [{ type: 'text' as const, text: 'x'.repeat(500) }] }
      await store.commit(Array.from({ length: 1_000 }, (_, i) => insert('operations', operation(`o${i}`, { result }))))
      let answered = 0
      const reads = Array.from({ length: 40 }, async () => {
        await store.find('operations', { limit: 1_000 })
        answered++
      })
      await store.commit([insert('audit', auditLine('a'))])
      expect(answered).toBeLessThan(reads.length)
      await Promise.all(reads)
    })

    it('leave the event loop to others while they are committed', async () => {
      const store = await openFresh(subject)
      const lines = Array.from({ length: 5_000 }, (_, i) => insert('audit', auditLine(`a${i}`)))
      let turns = 0
      let isWaiting = true
      const turn = () => {
        turns++
        if (isWaiting) setImmediate(turn)
      }
      const commit = store.commit(lines).finally(() => (isWaiting = false))
      setImmediate(turn)
      await commit
      // Written on this thread, it would be two or three.
      expect(turns).toBeGreaterThan(20)
    })
  })

  describe('closing', () => {
    it('answers everything that was asked before, and refuses what comes after', async () => {
      const store = await openFresh(subject)
      const commits = Array.from({ length: 100 }, (_, i) => store.commit([insert('audit', auditLine(`a${i}`))]))
      const reads = Array.from({ length: 10 }, () => store.count('audit'))
      const closing = [store.close(), store.close()]
      await expect(store.commit([insert('audit', auditLine('late'))])).rejects.toMatchObject({ code: 'STOPPING' })
      await expect(store.count('audit')).rejects.toMatchObject({ code: 'STOPPING' })
      await Promise.all(closing)
      expect((await Promise.all(commits)).every(({ committed }) => committed)).toBe(true)
      await Promise.all(reads)
    })
  })
}
