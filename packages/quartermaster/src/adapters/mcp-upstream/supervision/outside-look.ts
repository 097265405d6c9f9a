import type { Cancel, Clock } from '../../../core/kernel/index.ts'

/** What fell a moment ago may be back any moment; what has been down for a while is looked at every second. */
const SOON_MS = 100
const EVERY_MS = 1_000
const SOON_UNTIL_MS = 10_000

export interface OutsideLook {
  readonly clock: Clock
  readonly downSince: number
  /** What can be seen of a server from outside, cheaply. */
  fingerprint(): Promise<string>
  /** It looks different now: a repaired program, an open port. */
  onChanged(): void
}

/** Looks at a server that is down until it looks different. Answers how to stop. */
export function lookOutside({ clock, downSince, fingerprint, onChanged }: OutsideLook): Cancel {
  let isOver = false
  let cancel: Cancel = () => {}

  async function look(before: string): Promise<void> {
    const now = await fingerprint().catch(() => before)
    if (isOver) return
    if (now !== before) onChanged()
    else wait(before)
  }

  function wait(before: string): void {
    const pauseMs = clock.now() - downSince < SOON_UNTIL_MS ? SOON_MS : EVERY_MS
    cancel = clock.after(pauseMs, () => void look(before))
  }

  void fingerprint()
    .catch(() => '')
    .then(first => isOver || wait(first))
  return () => {
    isOver = true
    cancel()
  }
}
