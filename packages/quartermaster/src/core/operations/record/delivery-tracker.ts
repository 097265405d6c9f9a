import { messageOf, type OperationRow } from '../../../contracts/index.ts'
import type { Cancel, Clock, Log } from '../../kernel/index.ts'
import { update, type Write } from '../../store/index.ts'
import type { StorageAccess } from './operation-storage.ts'

/** A result that is not known to be delivered. */
export type UndeliveredResult = Pick<OperationRow, 'id' | 'tellAt'>

/** Whether the caller got a result; `undefined` while that is unknown. */
export type IsDelivered = () => boolean | undefined

/**
 * Marks results given as answers as delivered once the caller has them. An answer that got lost on its way, or with its
 * process, is notified like any other result.
 */
export interface DeliveryTracker {
  /** The result is on its way to the caller; assumed delivered without `isDelivered`. */
  expect(end: UndeliveredResult, isDelivered?: IsDelivered): void
  /** Whether this end is on its way. */
  has(end: UndeliveredResult): boolean
  /** Writes down what is known by now. */
  stop(): Promise<void>
}

interface DeliveryTrackerDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  /** Called when a caller did not get a result, and has to be notified. */
  readonly onUndelivered: () => void
}

/** How long after its end an unconfirmed answer is notified. */
export const ANSWER_MS = 15_000
/** A client that was asked something may take this long to come back, and gets the end then. */
const LONGEST_ANSWER_MS = 11 * 60_000
/** Many are written in one commit, which no call waits for. */
const LONGEST_WAIT_MS = 1_000
const LARGEST_BATCH = 256
/** What is beyond that is told once more. */
const MOST_EXPECTED = 10_000

interface Expected {
  readonly end: UndeliveredResult
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
    const settled = [...expected.values()].map(one => settledBy(one, now, isStopping))
    for (let from = 0; from < settled.length; from += LARGEST_BATCH) {
      if (!(await write(settled.slice(from, from + LARGEST_BATCH)))) return
    }
  }

  async function write(batch: readonly Settled[]): Promise<boolean> {
    const writes = batch.flatMap(({ write: one }) => one)
    try {
      if (writes.length > 0) await (await storage.open()).store.commit(writes)
    } catch (error) {
      log.warn('that ends were told could not be written and is tried again', { error: messageOf(error) })
      return false
    }
    for (const one of batch) leave(one)
    if (batch.some(({ isUndelivered }) => isUndelivered)) onUndelivered()
    return true
  }

  /** An operation that has ended again since is expected under another time. */
  function leave({ one, later }: Settled): void {
    const { id } = one.end
    if (expected.get(id) !== one) return
    if (later) expected.set(id, later)
    else expected.delete(id)
  }

  return {
    expect(end, isDelivered = DELIVERED) {
      if (end.tellAt === null || isStopping) return
      const [oldest] = expected.size < MOST_EXPECTED ? [] : expected.keys()
      if (oldest !== undefined) expected.delete(oldest)
      expected.set(end.id, { end, isDelivered, isPostponed: false })
      if (expected.size % LARGEST_BATCH === 0) void flush()
      else arm()
    },
    has: ({ id, tellAt }) => expected.get(id)?.end.tellAt === tellAt,
    async stop() {
      await flushing
      isStopping = true
      await flush()
      cancelTimer?.()
    },
  }
}

const DELIVERED = () => true

/** What is to be written about an expected end, and what is expected after that. */
interface Settled {
  readonly one: Expected
  readonly write: readonly Write[]
  readonly isUndelivered: boolean
  readonly later?: Expected
}

function settledBy(one: Expected, now: number, isLast: boolean): Settled {
  const isTooLate = isLast || (one.isPostponed && now >= (one.end.tellAt ?? now))
  const isDelivered = one.isDelivered() ?? (isTooLate ? false : undefined)
  if (isDelivered !== undefined)
    return {
      one,
      write: [isDelivered ? deliveredWrite(one.end, now) : notifyWrite(one.end, now)],
      isUndelivered: !isDelivered,
    }
  if (one.isPostponed) return { one, write: [], isUndelivered: false, later: one }
  // Other processes do not know that a client may still come for it.
  const tellAt = now + LONGEST_ANSWER_MS
  const later = { ...one, end: { id: one.end.id, tellAt }, isPostponed: true }
  return { one, write: [notifyWrite(one.end, tellAt)], isUndelivered: false, later }
}

/** Marks a result as delivered. The second mark changes nothing, and neither does a mark after the operation has ended again. */
export function deliveredWrite({ id, tellAt }: UndeliveredResult, now: number): Write {
  const set = { announcedAt: Math.round(now), tellAt: null }
  return update('operations', { where: { id, tellAt: tellAt ?? { not: null } }, set, rows: 'any' })
}

/** That its end is to be told from then on. */
function notifyWrite({ id, tellAt: before }: UndeliveredResult, tellAt: number): Write {
  return update('operations', { where: { id, tellAt: before }, set: { tellAt }, rows: 'any' })
}
