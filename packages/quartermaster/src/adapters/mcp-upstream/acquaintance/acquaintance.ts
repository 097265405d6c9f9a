import { messageOf } from '../../../contracts/index.ts'
import type { UpstreamMemory } from '../../../core/upstreams/index.ts'
import type { Era, Session } from '../session/session.ts'

/** What is known of a server from earlier meetings, beside what it has. */
export interface Acquaintance {
  /** The era it was of when it was last met. */
  era(): Era | undefined
  /** It is of this era, whatever was thought. */
  turnedOut(era: Era): void
  /** Whether it has ever answered, reached in the way it is now. */
  isMet(): boolean
  /** Since when it is known. */
  since(): number
  recall(): Promise<void>
  /** For the next time. Nobody waits for it. */
  remember(session: Session): void
  /** Resolves when nothing is being remembered. */
  settled(): Promise<void>
}

export interface AcquaintanceDeps {
  readonly name: string
  readonly memory: Pick<UpstreamMemory, 'recall' | 'remember'>
  /** With another command or address it may be another server. */
  readonly fingerprint: string
  readonly mountedAt: number
  note(text: string): void
}

export function createAcquaintance({ name, memory, fingerprint, mountedAt, note }: AcquaintanceDeps): Acquaintance {
  let era: Era | undefined
  let isMet = false
  let since = mountedAt
  let remembering: Promise<void> | undefined
  return {
    era: () => era,
    turnedOut(next) {
      era = next
    },
    isMet: () => isMet,
    since: () => since,
    async recall() {
      const known = await memory.recall(name)
      if (known?.fingerprint === fingerprint) {
        isMet = true
        era ??= known.era ?? undefined
      }
      since = known?.firstSeenAt ?? since
    },
    remember({ facts: { era: spoken, server } }) {
      isMet = true
      const facts = { era: spoken, server: { ...server }, fingerprint }
      remembering = memory.remember(name, facts, since).catch(error => {
        // It only saves a question next time.
        note(`What it is could not be remembered: ${messageOf(error)}`)
      })
    },
    settled: async () => remembering,
  }
}
