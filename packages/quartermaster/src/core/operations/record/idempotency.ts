import {
  AppError,
  type CallAnswer,
  type Caller,
  IdempotencyKey,
  KEPT_META,
  KeptResult,
  type OperationRow,
} from '../../../contracts/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { DeliveryTracker, IsDelivered } from './delivery-tracker.ts'
import type { OperationLog } from './operation-log.ts'
import { callerColumns, type StorageAccess } from './operation-storage.ts'
import { waitingAnswer } from './running-calls.ts'

/** A call with an idempotency key. */
interface KeyedCall {
  readonly caller: Caller
  readonly tool: string
  readonly key: string
  readonly digest: string
}

/** A recorded call. */
export interface KnownCall {
  readonly operationId: string
  readonly hasEnded: boolean
  /** Its result, or a handle while it waits or runs in another process. Throws the error of the first call. */
  answer(): CallAnswer
}

/** Finds earlier calls by their idempotency key. */
export interface Idempotency {
  /** The first call with this key. Throws `IDEMPOTENCY_CONFLICT` when it had other arguments. */
  first(call: KeyedCall, isDelivered: IsDelivered | undefined): Promise<KnownCall | undefined>
  /** Waits for an operation that runs in this process; for any other its current state. Rejects when the state is unknown. */
  answerOf(operationId: string, isDelivered: IsDelivered | undefined): Promise<KnownCall>
}

export interface IdempotencyDeps {
  readonly storage: StorageAccess
  readonly log: Pick<OperationLog, 'ended'>
  readonly deliveries: Pick<DeliveryTracker, 'expect'>
  readonly clock: Clock
}

export function createIdempotency({ storage, log, deliveries, clock }: IdempotencyDeps): Idempotency {
  async function find({ caller, tool, key }: KeyedCall): Promise<OperationRow | undefined> {
    const { store } = await storage.open()
    const where = { ...callerColumns(caller), tool, idempotencyKey: key }
    const [row] = await store.find('operations', { where, limit: 1 })
    return row
  }

  return {
    async answerOf(operationId, isDelivered) {
      await log.ended(operationId)
      const { store } = await storage.open()
      const row = await store.get('operations', operationId)
      // A waiting caller gets the result now; the result of a task is fetched later.
      if (row?.ttlMs === null) deliveries.expect(row, isDelivered)
      return row ? knownCall(row, clock) : forgottenCall(operationId)
    },
    async first(call, isDelivered) {
      const { error } = IdempotencyKey.safeParse(call.key)
      if (error) throw new AppError('INPUT_INVALID', `${error.issues[0]?.message}.`)
      const known = await find(call)
      if (!known) return undefined
      if (known.digest !== call.digest) throw conflict(call, known)
      // A call that runs in this process is awaited: the repeat wants its result, not a second handle.
      if (known.endedAt === null) await log.ended(known.id)
      const row = known.endedAt === null ? await find(call) : known
      if (row) deliveries.expect(row, isDelivered)
      // Pruned meanwhile: then this is the first.
      return row && knownCall(row, clock)
    },
  }
}

function forgottenCall(operationId: string): KnownCall {
  return {
    operationId,
    hasEnded: true,
    answer() {
      throw new AppError('OUTCOME_UNKNOWN', `The operation "${operationId}" is not on record any more.`)
    },
  }
}

function knownCall(row: OperationRow, clock: Clock): KnownCall {
  return { operationId: row.id, hasEnded: row.endedAt !== null, answer: () => answerOf(row, clock.now()) }
}

function answerOf(row: OperationRow, now: number): CallAnswer {
  const { id: operationId, result, error } = row
  if (row.endedAt === null) return waitingAnswer(row, now)
  if (error) throw AppError.fromJSON(error)
  if (!result) {
    const text = `"${row.tool}" is done. Its result was delivered to the first call, and is not kept.`
    return { operationId, result: { content: [{ type: 'text', text }] } }
  }
  const kept = KeptResult.safeParse(result._meta?.[KEPT_META])
  return kept.success ? { operationId, result, kept: kept.data } : { operationId, result }
}

function conflict({ tool, key }: KeyedCall, { id }: OperationRow): AppError {
  const message = `"${tool}" was called with other arguments under the idempotency key "${key}". Use a new key for another call.`
  return new AppError('IDEMPOTENCY_CONFLICT', message, { details: { tool, operationId: id } })
}
