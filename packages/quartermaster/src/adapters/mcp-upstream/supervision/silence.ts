import type { Clock } from '../../../core/kernel/index.ts'
import type { Session } from '../session/session.ts'

/** Knows what the silence of a server means, from what it has answered, and those before it in its place. */
export interface Silence {
  /** It has just come up. */
  meet(session: Session): void
  /** It has been up for `RIPE_MS`. */
  ripen(session: Session): void
  /** It is being asked. Answers how to say that it has answered: when it was asked is what counts. */
  asked(session: Session): () => void
  /** It was ended for its silence, although it had nothing to do. */
  ended(): void
  /** What it means that it is silent when nothing is under way. */
  atRest(session: Session): SilenceAtRest
  /** It has answered while something older was under way. */
  answeredAtWork(): void
  /** Whether it, or one before it, ever has. */
  listensAtWork(): boolean
  /** How long it may be silent when it is asked now. */
  patienceWith(session: Session): number
}

/**
 * `proof`: it would have answered, so it hangs. `unclear`: it may be deaf for a good reason, but for no longer than a call may take.
 * `nothing`: such servers are not known to answer at all.
 */
export type SilenceAtRest = 'proof' | 'unclear' | 'nothing'

export interface SilenceDeps {
  readonly clock: Clock
  /** How long a call may take. */
  callMs(): number
}

/** A server at work from which nothing at all was heard for this long is asked whether it is still there. */
export const QUIET_MS = 3_000
/**
 * A server that does not answer this long hangs, if it has nothing to do, or has answered before while it was at work and nobody has
 * given time to what is under way.
 */
export const HANG_MS = 5_000
/** One that is deaf for a while after it came up is not known by its silence: so old it has to be when it is asked. */
export const RIPE_MS = HANG_MS

/** What is known of one server. */
interface Known {
  isRipe: boolean
  /** When it was asked ripe. */
  hasAnswered: boolean
  /** Whether it is there in place of one that was ended for its silence. */
  readonly isSpared: boolean
}

export function createSilence({ clock, callMs }: SilenceDeps): Silence {
  const servers = new WeakMap<Session, Known>()
  /** How old the oldest of them was that has answered. */
  let answeredWhen: 'never' | 'young' | 'ripe' = 'never'
  let listensAtWork = false
  let [hasEndedOne, isNextSpared] = [false, false]

  function known(session: Session): Known {
    const found = servers.get(session) ?? { isRipe: false, hasAnswered: false, isSpared: false }
    servers.set(session, found)
    return found
  }

  /** What it was called for may go on after its answer, in the one thread that also listens, for as long as a call may. */
  const mayBeAtWork = (session: Session) => !session.isAtRest() || clock.now() - session.usedAt() < callMs()

  return {
    meet(session) {
      // What is deaf every now and then would be ended each time, and never get to the end of what it does.
      servers.set(session, { isRipe: false, hasAnswered: false, isSpared: isNextSpared })
      isNextSpared = false
    },
    ripen(session) {
      known(session).isRipe = true
    },
    asked(session) {
      const server = known(session)
      const { isRipe } = server
      return () => {
        server.hasAnswered ||= isRipe
        if (answeredWhen !== 'ripe') answeredWhen = isRipe ? 'ripe' : 'young'
      }
    },
    ended() {
      hasEndedOne = true
      isNextSpared = true
    },
    atRest(session) {
      const { hasAnswered, isSpared } = known(session)
      if (hasAnswered && !isSpared && !mayBeAtWork(session)) return 'proof'
      // One that is deaf in each of its lives as soon as it has come up, and for longer than a call, gets past that in the second.
      const doesAnswer = answeredWhen === 'ripe' || (answeredWhen === 'young' && !hasEndedOne)
      return doesAnswer ? 'unclear' : 'nothing'
    },
    answeredAtWork() {
      listensAtWork = true
    },
    listensAtWork: () => listensAtWork,
    patienceWith(session) {
      if (session.workingSince() === undefined) return HANG_MS
      // Many servers do one thing at a time and are deaf meanwhile. Ending one of these would end the work that it was called
      // for, so whoever was never heard at work gets all the time that a call may take. One that was may have other tools that
      // keep it from listening: to what its owner has given time, that is left.
      const workMs = listensAtWork ? session.givenMs() : callMs()
      return Math.max(HANG_MS, workMs - QUIET_MS)
    },
  }
}
