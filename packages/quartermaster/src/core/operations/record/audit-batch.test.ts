import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { AppError, type AuditEntry } from '../../../contracts/index.ts'
import { collectedLog } from '../../../testing/collected-log.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createAuditBatch } from './audit.ts'

const ENTRY: AuditEntry = {
  at: 1,
  operationId: 'op_1',
  caller: { kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' },
  tool: 'look',
  digest: '',
  decision: 'allowed',
  outcome: 'succeeded',
  mutates: false,
  durationMs: 1,
}

function fixture() {
  const storage = faultyStorage()
  const clock = createFakeClock()
  const { log, lines } = collectedLog()
  return { storage, clock, lines, batch: createAuditBatch({ storage, clock, ids: createIds(), log }) }
}

/** How many lines each commit has; something is done during each of them. */
function countCommits(storage: FaultyStorage, during: (nth: number) => void | Promise<void>): readonly number[] {
  const commits: number[] = []
  storage.fault = async writes => {
    commits.push(writes.length)
    await during(commits.length)
    return undefined
  }
  return commits
}

const broken = () => ({ error: new AppError('INTERNAL', 'its disk is full') })

describe('the audit of calls without a record', () => {
  it('is kept in memory while the store cannot write, and is written when it can', async () => {
    const { storage, clock, batch, lines } = fixture()
    storage.fault = broken
    batch.add(ENTRY)
    batch.add(ENTRY)
    await clock.advance(3_000)
    expect(await storage.store.count('audit')).toBe(0)
    expect(lines.join('\n')).toContain('the audit could not be written and is tried again')
    storage.fault = () => undefined
    await clock.advance(1_000)
    expect(await storage.store.count('audit')).toBe(2)
  })

  it('has a bound, beyond which the oldest lines are dropped and counted', async () => {
    const { storage, clock, batch, lines } = fixture()
    storage.fault = broken
    for (let i = 0; i < 10_300; i++) batch.add({ ...ENTRY, at: i })
    await clock.advance(1_000)
    storage.fault = () => undefined
    await clock.advance(1_000)
    expect(lines.join('\n')).toMatch(/dropped, because the store cannot keep up.*"dropped":44\b/)
    expect(await storage.store.count('audit')).toBe(10_256)
  })

  it('is retried by the timer only after a failure, however many calls come', async () => {
    const { storage, clock, batch } = fixture()
    let tries = 0
    storage.fault = () => (tries++, broken())
    for (let i = 0; i < 256; i++) batch.add(ENTRY)
    await clock.breathe()
    expect(tries).toBe(1)
    for (let i = 0; i < 1_000; i++) {
      batch.add(ENTRY)
      if (i % 100 === 0) await clock.breathe()
    }
    expect(tries).toBe(1)
    await clock.advance(1_000)
    expect(tries).toBe(2)
    storage.fault = () => undefined
    await clock.advance(1_000)
    expect(await storage.store.count('audit')).toBe(1_256)
  })

  it('is retried by the timer only, also when a write fails after more than a second', async () => {
    const { storage, clock, batch } = fixture()
    let tries = 0
    storage.fault = async () => {
      if (++tries === 1) await new Promise<void>(resolve => clock.after(1_500, resolve))
      return broken()
    }
    batch.add(ENTRY)
    await clock.advance(1_000)
    // Its own second passes during the write.
    batch.add(ENTRY)
    await clock.advance(1_500)
    expect(tries).toBe(1)
    await clock.advance(1_000)
    expect(tries).toBe(2)
  })

  it('writes lines that come during a write together in the next batch', async () => {
    const { storage, clock, batch } = fixture()
    const commits = countCommits(storage, nth => {
      if (nth < 10) batch.add(ENTRY)
    })
    for (let i = 0; i < 256; i++) batch.add(ENTRY)
    await clock.breathe()
    batch.add(ENTRY)
    expect(commits).toEqual([256])
    await clock.advance(1_000)
    expect(commits).toEqual([256, 2])
    expect(await storage.store.count('audit')).toBe(258)
  })

  it('writes the next batch at once when it is full', async () => {
    const { storage, clock, batch } = fixture()
    const commits = countCommits(storage, nth => {
      if (nth === 1) for (let i = 0; i < 300; i++) batch.add(ENTRY)
    })
    for (let i = 0; i < 256; i++) batch.add(ENTRY)
    await clock.breathe()
    expect(commits).toEqual([256, 256, 44])
  })

  it('waits no longer than a second for a batch, also when a write takes longer', async () => {
    const { storage, clock, batch } = fixture()
    const commits = countCommits(storage, async nth => {
      if (nth === 1) await new Promise<void>(resolve => clock.after(1_500, resolve))
    })
    batch.add(ENTRY)
    await clock.advance(1_000)
    batch.add(ENTRY)
    await clock.advance(1_499)
    expect(commits).toEqual([1])
    await clock.advance(1)
    expect(commits).toEqual([1, 1])
  })

  it('is complete after a stop, also where lines come during the last write', async () => {
    const count = 300
    const { storage, batch, lines } = fixture()
    countCommits(storage, nth => {
      if (nth === 1) for (let i = 0; i < count; i++) batch.add(ENTRY)
    })
    batch.add(ENTRY)
    await batch.stop()
    expect(await storage.store.count('audit')).toBe(count + 1)
    expect(lines).toEqual([])
  })

  it('says how much of it is lost when everything stops', async () => {
    const { storage, batch, lines } = fixture()
    storage.fault = broken
    batch.add(ENTRY)
    await batch.stop()
    expect(lines.join('\n')).toMatch(/the end of the audit could not be written.*"lost":1\b/)
  })

  it('is not written by a process that has no store open', async () => {
    const { storage, clock, batch } = fixture()
    storage.current = () => undefined
    batch.add(ENTRY)
    await clock.advance(1_000)
    expect(await storage.store.count('audit')).toBe(0)
  })
})
