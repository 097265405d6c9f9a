import { AppError, isAppError, messageOf, type Settings, toAppError } from '../../contracts/index.ts'
import type { Clock, Ids, Log } from '../kernel/index.ts'
import { insert, update, type Write } from '../store/index.ts'
import { createAuditBatch } from './audit-batch.ts'
import { auditRow } from './audit-row.ts'
import { createDurableWriter, type DurableWriter } from './durable-writer.ts'
import { isRecorded, type OperationEnd, type OperationLog, type OperationRecord } from './operation-log.ts'
import { endedColumns, FIRST_FENCE, rowOf } from './operation-row.ts'
import type { StorageAccess } from './storage.ts'

export interface StoredOperationsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly settings: Pick<Settings, 'operationDays'>
}

/** A call that runs, and whether its row is in the store: nobody knows when a commit ended without an answer. */
interface Running {
  readonly record: OperationRecord
  row: 'none' | 'there' | 'perhaps'
  progress: string | undefined
}

const DAY_MS = 24 * 3_600_000

/** Keeps operations in the store: the record before the run, the end together with its line of the audit. */
export function createStoredOperations(deps: StoredOperationsDeps): OperationLog {
  const { storage, clock, ids, settings } = deps
  const owner = ids.next('process')
  const running = new Map<string, Running>()
  const audit = createAuditBatch(deps)
  const writer: DurableWriter = createDurableWriter(deps)
  let onIdle = () => {}

  async function record(call: Running): Promise<void> {
    try {
      const { store, sealer } = await storage.open()
      const writes = [insert('operations', rowOf(call.record, { owner, sealer }))]
      // A second try finds the row of the first, if that was written after all; either way it is there.
      await store.commit(writes).catch(error => (isUnseen(error) ? store.commit(writes) : Promise.reject(error)))
      call.row = 'there'
    } catch (error) {
      if (isUnseen(error)) call.row = 'perhaps'
      throw notRecorded(call.record, error)
    }
  }

  function endWrites({ record: { id, ttlMs }, row }: Running, end: OperationEnd): readonly Write[] {
    const keepMs = ttlMs ?? settings.operationDays * DAY_MS
    const kept = ttlMs === undefined ? { ...end, result: undefined } : end
    return [
      update('operations', {
        where: { id, state: 'leased', fence: FIRST_FENCE },
        set: endedColumns(kept, { now: clock.now(), keepMs }),
        rows: row === 'there' ? 1 : 'any',
        guard: 'operation.leased',
      }),
      insert('audit', auditRow(ids.next('audit'), end.audit)),
    ]
  }

  function forget(id: string): Running | undefined {
    const call = running.get(id)
    running.delete(id)
    if (running.size === 0) onIdle()
    return call
  }

  return {
    begin(given) {
      const call: Running = { record: given, row: 'none', progress: undefined }
      running.set(given.id, call)
      return isRecorded(given) ? record(call) : undefined
    },
    progress(id, text) {
      const call = running.get(id)
      if (call) call.progress = text
    },
    end(end) {
      const call = forget(end.id)
      if (call && call.row !== 'none') return writer.write(endWrites(call, end), `the end of "${end.id}"`)
      audit.add(end.audit)
      return undefined
    },
    running: () => [...running.values()],
    async stop() {
      if (running.size > 0) await new Promise<void>(resolve => (onIdle = resolve))
      await Promise.all([audit.stop(), writer.stop()])
    },
  }
}

/** A commit may have happened, and nobody saw it. */
function isUnseen(error: unknown): boolean {
  return isAppError(error) && error.code === 'OUTCOME_UNKNOWN'
}

/** Codes that say themselves what to do; anything else would read as if the tool had failed. */
const TELLING = new Set(['STORE_BUSY', 'STORE_LOCKED', 'CONFIG_INVALID', 'STOPPING'])

function notRecorded({ tool }: OperationRecord, error: unknown): AppError {
  if (TELLING.has(toAppError(error).code)) return toAppError(error)
  const message = `"${tool}" was not run, because the call could not be written down first: ${messageOf(error)}`
  return new AppError('STORE_UNAVAILABLE', message, { cause: error, details: { tool } })
}
