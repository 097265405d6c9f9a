import { AppError } from '../../contracts/index.ts'

/** Counts what each credential has under way, so that one cannot take everything. */
export interface InFlight {
  /** Takes a place and answers how to give it back, which is safe to do twice. Throws `RATE_LIMITED` when there is none. */
  enter(key: string): () => void
  hasPlace(key: string): boolean
  count(): number
}

export function createInFlight({ most, what }: { most: number; what: string }): InFlight {
  const places = new Map<string, number>()
  let total = 0

  function leave(key: string): void {
    total--
    const left = (places.get(key) ?? 1) - 1
    if (left === 0) places.delete(key)
    else places.set(key, left)
  }

  const hasPlace = (key: string) => (places.get(key) ?? 0) < most

  function check(key: string): void {
    if (hasPlace(key)) return
    const message = `There are ${most} ${what} already. Wait for one to end.`
    throw new AppError('RATE_LIMITED', message, { details: { limit: most } })
  }

  return {
    enter(key) {
      check(key)
      places.set(key, (places.get(key) ?? 0) + 1)
      total++
      let isIn = true
      return () => {
        if (isIn) leave(key)
        isIn = false
      }
    },
    hasPlace,
    count: () => total,
  }
}
