import { AppError, messageOf, type NewRow, type Settings, toAppError } from '../../../contracts/index.ts'
import type { Clock, Emitter } from '../../kernel/index.ts'
import { insert, type Store, type Write } from '../../store/index.ts'
import type { DurableWriter } from './durable-writer.ts'
import { GRANT_GUARD } from './grant-guard.ts'
import { endTerms } from './keep-until.ts'
import type { Begun, OperationLog, OperationRecord } from './operation-log.ts'
import { rowOf, type WaitingTerms, waitingRowOf } from './operation-row.ts'
import { toldWrite } from './receipts.ts'
import { firstStanding, type RunningCall } from './running-call.ts'
import type { StorageAccess } from './storage.ts'
import { ended, opened } from './transitions.ts'
import { isUnseen } from './unseen-commit.ts'

/** Writes calls down before they run. */
export interface Beginnings {
  /** As one that runs now, on what consent was given. */
  record(call: RunningCall, consent: readonly Write[]): Promise<Begun>
  /** As one that waits for a person, with what that person is asked, and until when its caller waits. */
  park(
    record: OperationRecord,
    approval: NewRow<'approvals'>,
    awaitedUntil?: number | null,
  ): Promise<Exclude<Begun, 'unallowed'>>
  /** As one that waits for what its tool needs. */
  readonly queue: OperationLog['queue']
}

export interface BeginningsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly emitter: Emitter
  readonly writer: DurableWriter
  /** Who this process is among those that run operations. */
  readonly owner: string
  readonly settings: Pick<Settings, 'approvalsPerAgent' | 'operationDays' | 'leaseSeconds'>
}

export function createBeginnings(deps: BeginningsDeps): Beginnings {
  const { storage, clock, emitter, writer, owner, settings } = deps

  async function open(store: Store, { row, more, onUnseen }: Opening): Promise<Begun> {
    const { writes, change } = opened(row)
    const all = [...writes, ...more]
    const outcome = await store.commit(all).catch(error => {
      if (!isUnseen(error)) throw error
      // However the second try ends, the first may be there.
      onUnseen()
      return store.commit(all)
    })
    if (!outcome.committed && !(await store.get('operations', row.id)))
      return outcome.failed.guard === GRANT_GUARD ? 'unallowed' : 'known'
    // A second try finds the row of the first, if that was written after all.
    emitter.emit('operation.changed', change)
    return 'begun'
  }

  /** Whoever asked for it was told that it was not run: then nobody is to be asked about it, and nobody to run it. */
  function takeBack(record: OperationRecord, state: WaitingTerms['state'], failure: AppError): void {
    const { id, ttlMs = null } = record
    const now = Math.round(clock.now())
    const waiting = { ...firstStanding(record), state, fence: 0, startedAt: null }
    const end = {
      state: 'cancelled',
      outcome: undefined,
      result: undefined,
      error: failure.toJSON(),
      isTold: true,
    } as const
    const { writes, tellAt } = ended(waiting, end, endTerms(now, { ttlMs }, settings))
    writer.write([...writes, toldWrite({ id, tellAt }, now)], `that "${id}" was not run`).catch(() => {
      // The writer has logged it, and tries on where it can.
    })
  }

  async function wait(record: OperationRecord, terms: WaitingTerms, more: readonly Write[]) {
    let isPerhapsThere = false
    const onUnseen = () => (isPerhapsThere = true)
    try {
      const { store, sealer } = await storage.open()
      const row = waitingRowOf(record, { ...terms, node: owner, sealer })
      return (await open(store, { row, more, onUnseen })) === 'begun' ? 'begun' : 'known'
    } catch (error) {
      const failure = notRecorded(record, error)
      if (isPerhapsThere) takeBack(record, terms.state, failure)
      throw failure
    }
  }

  /** Those that are written at the same time are not counted: the limit is about disk, not about the last one. */
  async function refuseFull(record: OperationRecord): Promise<void> {
    const { organisation, workspace, name } = record.caller
    const most = settings.approvalsPerAgent
    try {
      const { store } = await storage.open()
      const where = { organisation, workspace, state: 'queued', expiresAt: { not: null } } as const
      if ((await store.count('operations', where)) < most) return
    } catch (error) {
      throw notRecorded(record, error)
    }
    const next = 'Wait until some have run, or cancel what is not needed: quartermaster operations.'
    throw new AppError('LIMIT_EXCEEDED', `"${name}" has ${most} calls that wait for tools; more may not. ${next}`)
  }

  return {
    async record(call, more) {
      try {
        const { store, sealer } = await storage.open()
        const until = Math.round(clock.now() + settings.leaseSeconds * 1000)
        const row = rowOf(call.record, { owner, until, sealer })
        const begun = await open(store, { row, more, onUnseen: () => (call.row = 'perhaps') })
        if (begun === 'begun') call.row = 'there'
        return begun
      } catch (error) {
        throw notRecorded(call.record, error)
      }
    },
    park(record, approval, awaitedUntil = null) {
      const { expiresAt } = approval
      return wait(record, { state: 'waitingForApproval', awaitedUntil, expiresAt }, [insert('approvals', approval)])
    },
    async queue(record, waiting) {
      await refuseFull(record)
      return await wait(record, { state: 'queued', ...waiting }, [])
    },
  }
}

interface Opening {
  readonly row: NewRow<'operations'>
  /** What is written in the same commit. */
  readonly more: readonly Write[]
  /** Told when nobody knows whether it was written. */
  readonly onUnseen: () => void
}

/** Codes that say themselves what to do; anything else would read as if the tool had failed. */
const TELLING = new Set(['STORE_BUSY', 'STORE_LOCKED', 'CONFIG_INVALID', 'STOPPING'])

/** Why a call could not be written down, and so was not run. */
export function notRecorded({ tool }: Pick<OperationRecord, 'tool'>, error: unknown): AppError {
  if (TELLING.has(toAppError(error).code)) return toAppError(error)
  const message = `"${tool}" was not run, because the call could not be written down first: ${messageOf(error)}`
  return new AppError('STORE_UNAVAILABLE', message, { cause: error, details: { tool } })
}
