import { messageOf, type OperationRow } from '../../../contracts/index.ts'
import type { Cancel, Clock, Log } from '../../kernel/index.ts'
import { update, type Write } from '../../store/index.ts'
import type { StorageAccess } from './operation-storage.ts'

/** A result that is not known to be delivered. */
export type UndeliveredResult = Pick<OperationRow, 'id' | 'tellAt'>

/** Whether the caller got a result; `undefined` while that is unknown. */
export type IsDelivered = () => boolean | undefined

/**
 * Marks results given as answers as delivered once the caller has them. An answer that got lost, on its way or with its process,
 * is notified like any other result.
 */
export interface DeliveryTracker {
  /** The result is on its way to the caller; assumed delivered without `isDelivered`. */
  expect(result: UndeliveredResult, isDelivered?: IsDelivered): void
  /** Whether this result is on its way. */
  has(result: UndeliveredResult): boolean
  /** Writes what is known by now. */
  stop(): Promise<void>
}

interface DeliveryTrackerDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  /** Called when a caller did not get a result, and has to be notified. */
  readonly onUndelivered: () => void
}

/** How long after the end of an operation its caller is notified, unless the answer was delivered. */
export const ANSWER_MS = 15_000
/** A client that was asked something may take this long to come back for the result. */
const LONGEST_ANSWER_MS = 11 * 60_000
/** Deliveries are written in batches, which no call waits for. */
const LONGEST_WAIT_MS = 1_000
const LARGEST_BATCH = 256
/** Beyond that the oldest are notified once more. */
const MOST_EXPECTED = 10_000

interface Expected {
  readonly result: UndeliveredResult
  readonly isDelivered: IsDelivered
  readonly isPostponed: boolean
}

export function createDeliveryTracker({ storage, clock, log, onUndelivered }: DeliveryTrackerDeps): DeliveryTracker {
  const expected = new Map<string, Expected>()
  let cancelTimer: Cancel | undefined
  let flushing: Promise<void> | undefined
  let isStopping = false

  function arm(): void {
    cancelTimer ??= clock.after(LONGEST_WAIT_MS, () => void flush())
  }

  function flush(): Promise<void> {
    cancelTimer?.()
    cancelTimer = undefined
    flushing ??= writeKnown().finally(() => {
      flushing = undefined
      if (expected.size > 0 && !isStopping) arm()
    })
    return flushing
  }

  async function writeKnown(): Promise<void> {
    const now = Math.round(clock.now())
    const steps = [...expected.values()].map(entry => nextStep(entry, now, isStopping))
    for (let from = 0; from < steps.length; from += LARGEST_BATCH) {
      if (!(await write(steps.slice(from, from + LARGEST_BATCH)))) return
    }
  }

  async function write(batch: readonly DeliveryStep[]): Promise<boolean> {
    const writes = batch.flatMap(step => step.writes)
    try {
      if (writes.length > 0) await (await storage.open()).store.commit(writes)
    } catch (error) {
      log.warn('deliveries of results could not be written and are tried again', { error: messageOf(error) })
      return false
    }
    for (const step of batch) settle(step)
    if (batch.some(({ isUndelivered }) => isUndelivered)) onUndelivered()
    return true
  }

  function settle({ entry, later }: DeliveryStep): void {
    const { id } = entry.result
    // An operation that has ended again since is expected under another time.
    if (expected.get(id) !== entry) return
    if (later) expected.set(id, later)
    else expected.delete(id)
  }

  return {
    expect(result, isDelivered = () => true) {
      if (result.tellAt === null || isStopping) return
      const [oldest] = expected.size < MOST_EXPECTED ? [] : expected.keys()
      if (oldest !== undefined) expected.delete(oldest)
      expected.set(result.id, { result, isDelivered, isPostponed: false })
      if (expected.size % LARGEST_BATCH === 0) void flush()
      else arm()
    },
    has: ({ id, tellAt }) => expected.get(id)?.result.tellAt === tellAt,
    async stop() {
      await flushing
      isStopping = true
      await flush()
      cancelTimer?.()
    },
  }
}

/** What to write about an expected delivery, and what to expect after that. */
interface DeliveryStep {
  readonly entry: Expected
  readonly writes: readonly Write[]
  readonly isUndelivered: boolean
  readonly later?: Expected
}

function nextStep(entry: Expected, now: number, isLast: boolean): DeliveryStep {
  const { result, isPostponed } = entry
  const isTooLate = isLast || (isPostponed && now >= (result.tellAt ?? now))
  const isDelivered = entry.isDelivered() ?? (isTooLate ? false : undefined)
  if (isDelivered) return { entry, writes: [deliveredWrite(result, now)], isUndelivered: false }
  if (isDelivered === false) return { entry, writes: [notifyWrite(result, now)], isUndelivered: true }
  if (isPostponed) return { entry, writes: [], isUndelivered: false, later: entry }
  // Other processes do not know that a client may still come for it.
  const tellAt = now + LONGEST_ANSWER_MS
  const later = { ...entry, result: { id: result.id, tellAt }, isPostponed: true }
  return { entry, writes: [notifyWrite(result, tellAt)], isUndelivered: false, later }
}

/** Marks a result as delivered. Does nothing when it is marked already, or when the operation has ended again since. */
export function deliveredWrite({ id, tellAt }: UndeliveredResult, now: number): Write {
  const set = { announcedAt: Math.round(now), tellAt: null }
  return update('operations', { where: { id, tellAt: tellAt ?? { not: null } }, set, rows: 'any' })
}

/** Sets when the caller is notified. */
function notifyWrite({ id, tellAt: before }: UndeliveredResult, tellAt: number): Write {
  return update('operations', { where: { id, tellAt: before }, set: { tellAt }, rows: 'any' })
}
