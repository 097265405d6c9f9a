import type { Cancel, Clock } from '../../../core/kernel/index.ts'

/** What fell a moment ago may be back any moment; what has been down for a while is missed less. */
const SOON_MS = 100
const SOON_UNTIL_MS = 10_000
const EVERY_MS = 250
/** A look that takes its time, such as one across a network, is repeated less often. */
const SELDOM_MS = 1_000
const PART_OF_THE_TIME = 50
/** Nobody repairs the same file during more starts than this, one after the other. */
const MOST_REPAIRS = 2

export interface OutsideLooksDeps {
  readonly clock: Clock
  /** What can be seen of a server from outside, cheaply: as many words each time. */
  fingerprint(): Promise<string>
}

export interface OutsideLook {
  readonly downSince: number
  /** How it looked when it was last started, if anybody looked. */
  readonly before?: Promise<string> | undefined
  /** It looks different now: a repaired program, an open port. */
  onChanged(): void
}

/** Looks at a server that is down until it looks different. Answers how to stop. */
export type LookOutside = (look: OutsideLook) => Cancel

export function createOutsideLooks({ clock, fingerprint }: OutsideLooksDeps): LookOutside {
  /** What was different after the last starts, by its place, and after how many of them in a row. */
  let restless: ReadonlyMap<number, number> = new Map()

  /** What changes with one start after the other is its own doing, such as a log that is named in its arguments. */
  function isRepaired(known: string, seen: string): boolean {
    const timesBefore = (place: number) => restless.get(place) ?? 0
    const changed = placesOfChange(known, seen)
    const isRepair = changed.some(place => timesBefore(place) < MOST_REPAIRS)
    restless = new Map(changed.map(place => [place, timesBefore(place) + 1]))
    return isRepair
  }

  return ({ downSince, before, onChanged }) => {
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
      const begunAt = clock.now()
      const known = await before?.catch(() => undefined)
      const seen = await fingerprint().catch(() => known ?? '')
      if (isOver) return
      if (known !== undefined && isRepaired(known, seen)) onChanged()
      else wait(seen, clock.now() - begunAt)
    }

    void begin()
    return () => {
      isOver = true
      cancel()
    }
  }
}

function placesOfChange(known: string, seen: string): number[] {
  const [before, after] = [known.split(' '), seen.split(' ')]
  return after.flatMap((word, place) => (word === before[place] ? [] : [place]))
}
