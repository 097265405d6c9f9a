import type { DelegationRow } from '../../contracts/index.ts'
import { type Delegations, isOpen } from '../../core/delegation/index.ts'
import { type CancelSignal, type Clock, createCancellation } from '../../core/kernel/index.ts'

/** Timers cannot be set further ahead. Whoever still follows then comes back. */
const LONGEST_MS = 20 * 86_400_000

export interface Following {
  readonly row: DelegationRow
  /** Ends it. */
  readonly signal: CancelSignal
  /** Until the deadline of the task when absent. */
  readonly waitMs?: number | undefined
}

/**
 * A task each time that it has changed, up to its end or until nobody wants to know any more. Whoever takes its time gets it as it
 * is by then: all that it has been meanwhile would have to be kept for as long.
 */
export async function* changesOf(
  delegations: Pick<Delegations, 'wait'>,
  clock: Pick<Clock, 'now'>,
  { row, signal, waitMs = Math.min(LONGEST_MS, row.deadlineAt - clock.now() + 60_000) }: Following,
): AsyncGenerator<DelegationRow> {
  if (!isOpen(row.state) || waitMs <= 0) return
  const over = createCancellation()
  const end = () => over.cancel(signal.reason)
  let changed: DelegationRow | undefined
  let ring = () => {}
  let isOver = false
  let { version } = row
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  const onChange = (now: DelegationRow) => {
    // It is told from time to time that nothing has changed too.
    if (now.version === version) return
    version = now.version
    changed = now
    ring()
  }
  const waiting = delegations.wait(row, { waitMs, signal: over.signal, onChange }).finally(() => {
    isOver = true
    ring()
  })
  // Told below, once what came before it is.
  waiting.catch(() => {})
  try {
    for (;;) {
      const now = changed
      changed = undefined
      if (now) yield now
      else if (isOver) break
      await new Promise<void>(resolve => {
        ring = resolve
        if (isOver || changed) resolve()
      })
    }
    await waiting
  } finally {
    signal.removeEventListener('abort', end)
    over.cancel(undefined)
  }
}
