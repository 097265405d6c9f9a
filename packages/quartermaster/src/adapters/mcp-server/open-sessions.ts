import { AppError } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import type { FrontLimits } from './front-limits.ts'
import { endCalls } from './legacy-calls.ts'
import type { LegacySession } from './legacy-session.ts'
import type { Who } from './who.ts'

/** The sessions that are open. Clients of that era seldom say goodbye, so those that nobody uses go by themselves. */
export interface OpenSessions {
  /** A place for one that is about to be opened; answers how to give it back. Throws `RATE_LIMITED` where there is none. */
  reserve(who: Who): () => void
  add(session: LegacySession): void
  /** A session of another token is as one that never was. */
  find(id: string | null, who: Who): LegacySession | undefined
  /** Closes one, and cancels what runs in it. */
  drop(id: string): Promise<void>
  /** Closes the sessions of a token. */
  end(tokenId: string): Promise<void>
  count(): number
  close(): Promise<void>
}

export interface OpenSessionsDeps {
  readonly clock: Clock
  readonly limits: Pick<FrontLimits, 'maxSessions'>
  /** Told of each that has ended, however it did. */
  onEnded(session: LegacySession): Promise<void>
}

/** A session nobody has used for this long is closed. */
const IDLE_MS = 30 * 60_000

export function createOpenSessions({ clock, limits: { maxSessions }, onEnded }: OpenSessionsDeps): OpenSessions {
  const sessions = new Map<string, LegacySession>()
  /** One that is being opened has its place already, or many at once would all find room. */
  const reserved = new Set<{ readonly tokenId: string }>()
  let cancelReaper = clock.after(IDLE_MS / 2, reap)

  async function drop(id: string): Promise<void> {
    const session = sessions.get(id)
    sessions.delete(id)
    if (!session) return
    endCalls(session)
    await session.server.close()
    await onEnded(session)
  }

  function reap(): void {
    const isDead = ({ open, usedAt }: LegacySession) => open === 0 && clock.now() - usedAt > IDLE_MS
    for (const { id } of [...sessions.values()].filter(isDead)) void drop(id)
    cancelReaper = clock.after(IDLE_MS / 2, reap)
  }

  const ownOf = (tokenId: string) => [...sessions.values()].filter(({ who }) => who.tokenId === tokenId)

  /** The one that was not used for the longest makes room for a new one. */
  function makeRoom(tokenId: string): void {
    const own = ownOf(tokenId)
    const opening = [...reserved].filter(place => place.tokenId === tokenId)
    if (own.length + opening.length < maxSessions) return
    const [oldest] = own.filter(({ open }) => open === 0).toSorted((a, b) => a.usedAt - b.usedAt)
    if (!oldest) throw tooMany(maxSessions)
    void drop(oldest.id)
  }

  return {
    reserve({ tokenId }) {
      makeRoom(tokenId)
      const place = { tokenId }
      reserved.add(place)
      return () => void reserved.delete(place)
    },
    add: session => void sessions.set(session.id, session),
    find(id, { tokenId }) {
      const session = id === null ? undefined : sessions.get(id)
      return session?.who.tokenId === tokenId ? session : undefined
    },
    drop,
    end: async tokenId => void (await Promise.all(ownOf(tokenId).map(({ id }) => drop(id)))),
    count: () => sessions.size,
    async close() {
      cancelReaper()
      await Promise.all([...sessions.keys()].map(drop))
    },
  }
}

function tooMany(limit: number): AppError {
  const message = `This token has ${limit} sessions in use already. Close some.`
  return new AppError('RATE_LIMITED', message, { details: { limit } })
}
