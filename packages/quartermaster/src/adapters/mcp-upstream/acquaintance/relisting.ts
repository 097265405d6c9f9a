import type { Cancel, Clock } from '../../../core/kernel/index.ts'

/** Has a server asked again what it has: soon after it told of a change, and every now and then. */
export interface Relisting {
  /** As soon as it may be. */
  soon(): void
  /** It is being asked, whoever had it asked: what was told before is in what it lists. */
  begun(): void
  /** There is a connection: what was told since the last asking began, and found none, is looked at as soon as it may be. */
  up(): void
  /** In a while, unless it happens before; as long again where it is not needed then. */
  later(ms: number, isNeeded: () => boolean): void
  /** It was listed, or could not be: whether anything had changed, and how long finding out took. */
  listed(facts: { readonly changed: boolean; readonly tookMs: number }): void
  stop(): void
}

export interface RelistingDeps {
  readonly clock: Clock
  /** May do nothing where there is no connection: it is wanted again when there is one. */
  list(): Promise<void>
}

/** Changes that a server tells of in quick succession are looked at together. */
const PAUSE_MS = 100
/** A listing is paid for with time: what it took many times over, and more where it had every agent look again. */
const PART_OF_THE_TIME = 20
const PRICE_MS = { same: 1_000, changed: 6_000 }
/** A server at rest saves up for a busy moment, and one that is never at rest lives from hand to mouth. */
const SAVED_MS = 60_000

export function createRelisting({ clock, list }: RelistingDeps): Relisting {
  let last = Number.NEGATIVE_INFINITY
  /** When all listings up to now are paid for. */
  let paidAt = Number.NEGATIVE_INFINITY
  /** It will be asked: whatever is told until then is looked at with it. */
  let isDue = false
  /** Since the last asking began: what is told while a connection is opened may come too late for what is listed there. */
  let isWanted = false
  let isOver = false
  let lists: Promise<void> = Promise.resolve()
  let cancelLater: Cancel = () => {}

  function soon(): void {
    isWanted = true
    if (isDue || isOver) return
    isDue = true
    const next = Math.max(last + PAUSE_MS, paidAt - SAVED_MS)
    clock.after(Math.max(0, next - clock.now()), () => {
      lists = lists.then(ask).catch(() => {})
    })
  }

  async function ask(): Promise<void> {
    isDue = false
    if (!isOver) await list()
  }

  function later(ms: number, isNeeded: () => boolean): void {
    cancelLater()
    if (!isOver) cancelLater = clock.after(ms, () => (isNeeded() ? soon() : later(ms, isNeeded)))
  }

  return {
    soon,
    begun() {
      isWanted = false
    },
    up() {
      if (isWanted) soon()
    },
    later,
    listed({ changed, tookMs }) {
      last = clock.now()
      const price = Math.max(changed ? PRICE_MS.changed : PRICE_MS.same, tookMs * PART_OF_THE_TIME)
      paidAt = Math.max(paidAt, last) + Math.min(price, SAVED_MS)
    },
    stop() {
      isOver = true
      cancelLater()
    },
  }
}
