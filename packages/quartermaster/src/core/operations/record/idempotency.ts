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

/** A call that its caller gave a name, so that it can be repeated without being done twice. */
interface KeyedCall {
  readonly caller: Caller
  readonly tool: string
  readonly key: string
  readonly digest: string
}

/** A recorded call: the first under a key, or one that another process runs. */
export interface KnownCall {
  readonly operationId: string
  readonly hasEnded: boolean
  /** Its answer, or a handle while it waits or runs somewhere else. Throws what the first call threw. */
  answer(): CallAnswer
}

/** Finds what was called before under the same key. */
export interface Idempotency {
  /** The first call under this key, if there was one. Throws `IDEMPOTENCY_CONFLICT` when it had other arguments. */
  first(call: KeyedCall, isDelivered: IsDelivered | undefined): Promise<KnownCall | undefined>
  /**
   * An operation that another caller runs, when it has ended; its current state where that is in another process. Rejects when
   * the state is unknown.
   */
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
      // A waiting caller gets the result now; the result of a task is delivered on request.
      if (row?.ttlMs === null) deliveries.expect(row, isDelivered)
      return row ? knownCall(row, clock) : forgottenCall(operationId)
    },
    async first(call, isDelivered) {
      refuseUnkeepable(call)
      const known = await find(call)
      if (!known) return undefined
      if (known.digest !== call.digest) throw conflict(call, known)
      // A call that runs in this process is awaited: a repeated call wants its answer, not a second handle.
      if (known.endedAt === null) await log.ended(known.id)
      const row = known.endedAt === null ? await find(call) : known
      if (row) deliveries.expect(row, isDelivered)
      // Forgotten meanwhile, as records are in the end: then this is the first.
      return row && knownCall(row, clock)
    },
  }
}

function refuseUnkeepable({ key }: KeyedCall): void {
  const { error } = IdempotencyKey.safeParse(key)
  if (error) throw new AppError('INPUT_INVALID', `${error.issues[0]?.message}.`)
}

function forgottenCall(operationId: string): KnownCall {
  return {
    operationId,
    hasEnded: true,
    answer() {
      throw new AppError('OUTCOME_UNKNOWN', `What became of "${operationId}" is not on record any more.`)
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
  if (!result) return { operationId, result: { content: [{ type: 'text', text: handedOver(row) }] } }
  const kept = KeptResult.safeParse(result._meta?.[KEPT_META])
  return kept.success ? { operationId, result, kept: kept.data } : { operationId, result }
}

/** The caller had the result, and did not ask to have it kept. */
function handedOver({ tool }: OperationRow): string {
  return `"${tool}" is done. Its result was handed over when it was, and is not kept.`
}

function conflict({ tool, key }: KeyedCall, { id }: OperationRow): AppError {
  const message = `"${tool}" was called with other arguments under the idempotency key "${key}". Use a new key for another call.`
  return new AppError('IDEMPOTENCY_CONFLICT', message, { details: { tool, operationId: id } })
}
