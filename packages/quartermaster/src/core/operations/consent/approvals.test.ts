import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { AppError, DEFAULT_SETTINGS } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { failureOf } from '../../../testing/hub.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'
import { operation } from '../../../testing/store-contract/stage.ts'
import { createEmitter } from '../../kernel/index.ts'
import { insert } from '../../store/index.ts'
import { type Approvals, createApprovals, type OperationRecord } from '../index.ts'

/** A caller that waits for a person, and how many timers its waiting keeps. */
async function waiting() {
  const storage = memoryStorage()
  const row = operation('op_1', { state: 'waitingForApproval', expiresAt: 9_000_000_000_000 })
  await storage.store.commit([insert('operations', row)])
  const clock = createFakeClock()
  const timers = new Set<object>()
  const after: typeof clock.after = (ms, run) => {
    const timer = {}
    timers.add(timer)
    const cancel = clock.after(ms, () => {
      timers.delete(timer)
      run()
    })
    return () => {
      timers.delete(timer)
      cancel()
    }
  }
  const emitter = createEmitter({ onError: () => {} })
  const approvals: Approvals = createApprovals({
    storage,
    clock: { ...clock, after },
    ids: createIds(),
    emitter,
    operations: { park: async () => 'begun' },
    owner: 'here',
    settings: DEFAULT_SETTINGS,
  })
  const cancelled = deferred<never>()
  const deadline = { race: <T>(work: Promise<T>) => Promise.race([work, cancelled.promise]) }
  const record = { id: 'op_1' } as OperationRecord
  const next = approvals.waitForAnswer({ record, asks: [], deadline, budgetMs: 600_000 })
  await clock.breathe()
  return { approvals, clock, emitter, cancelled, next, timers }
}

const LIMIT_MS = 20_000

describe('a caller that waits for a person', () => {
  it('waits no longer than a limit that is set meanwhile', async () => {
    const one = await waiting()
    one.approvals.limitWait('op_1', LIMIT_MS)
    await one.clock.advance(LIMIT_MS)
    expect(await one.next).toBeUndefined()
    expect(one.timers.size).toBe(0)
  })

  it.each(['was answered', 'gave up'] as const)('keeps no timer of a limit that is set after it %s', async how => {
    const one = await waiting()
    if (how === 'gave up') one.cancelled.reject(new AppError('CANCELLED', 'Not wanted any more.'))
    else {
      const caller = { kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' } as const
      const change = { id: 'op_1', tool: 'send', caller, at: 1, isTold: false } as const
      one.emitter.emit('operation.changed', { ...change, from: 'waitingForApproval', to: 'queued' })
    }
    await (how === 'gave up' ? failureOf(one.next) : one.next)
    // The client may close its own question later.
    one.approvals.limitWait('op_1', LIMIT_MS)
    expect(one.timers.size).toBe(0)
    expect(one.approvals.isHeld('op_1')).toBe(true)
  })
})
