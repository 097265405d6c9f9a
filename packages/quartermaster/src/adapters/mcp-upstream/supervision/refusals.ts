import type { Clock } from '../../../core/kernel/index.ts'

/** What a server has refused that answers otherwise. It stands until the same is let in again, or the server is met anew. */
export interface Refusals {
  add(what: string, reason: string): void
  /** It was let in. */
  answered(what: string): void
  last(): { readonly message: string; readonly at: number; readonly isStanding: true } | undefined
  clear(): void
}

/** A person looks at the last one; the others are kept so that it does not hide them once it is over. */
const MOST = 16

/** Of an agent, where the connection is its own. */
export function createRefusals(clock: Clock, agent: string | undefined): Refusals {
  const noted = new Map<string, { message: string; at: number; isStanding: true }>()
  const whose = agent === undefined ? '' : ` for "${agent}"`
  return {
    add(what, reason) {
      noted.delete(what)
      const message = `It answers, but refused ${what}${whose}: ${reason}`
      noted.set(what, { message, at: Math.round(clock.now()), isStanding: true })
      const [oldest] = noted.keys()
      if (noted.size > MOST && oldest !== undefined) noted.delete(oldest)
    },
    answered(what) {
      // On the way of every call.
      if (noted.size > 0) noted.delete(what)
    },
    last: () => [...noted.values()].at(-1),
    clear: () => noted.clear(),
  }
}
