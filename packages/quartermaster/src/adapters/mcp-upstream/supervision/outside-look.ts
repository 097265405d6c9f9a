import type { Cancel, Clock } from '../../../core/kernel/index.ts'

/** What fell a moment ago may be back any moment; what has been down for a while is missed less. */
const SOON_MS = 100
const SOON_UNTIL_MS = 10_000
const EVERY_MS = 250
/** A look that takes its time, such as one across a network, is repeated less often. */
const SELDOM_MS = 1_000
const PART_OF_THE_TIME = 50

export interface OutsideLook {
  readonly clock: Clock
  readonly downSince: number
  /** How it looked when it was last started, if anybody looked. */
  readonly before?: Promise<string> | undefined
  /** What can be seen of a server from outside, cheaply. */
  fingerprint(): Promise<string>
  /** It looks different now: a repaired program, an open port. */
  onChanged(): void
}

/** Looks at a server that is down until it looks different. Answers how to stop. */
export function lookOutside({ clock, downSince, before, fingerprint, onChanged }: OutsideLook): Cancel {
  let isOver = false
  let cancel: Cancel = () => {}

  async function look(known: string): Promise<void> {
    const begunAt = clock.now()
    const seen = await fingerprint().catch(() => known)
    if (isOver) return
    if (seen === known) wait(known, clock.now() - begunAt)
    else onChanged()
  }

  function wait(known: string, tookMs: number): void {
    const soonest = clock.now() - downSince < SOON_UNTIL_MS ? SOON_MS : EVERY_MS
    const pauseMs = Math.min(SELDOM_MS, Math.max(soonest, tookMs * PART_OF_THE_TIME))
    cancel = clock.after(pauseMs, () => void look(known))
  }

  async function begin(): Promise<void> {
    const known = await (before ?? fingerprint()).catch(() => undefined)
    if (isOver) return
    if (known === undefined || before === undefined) wait(known ?? '', 0)
    // It may have been repaired while the last start was failing.
    else await look(known)
  }

  void begin()
  return () => {
    isOver = true
    cancel()
  }
}
