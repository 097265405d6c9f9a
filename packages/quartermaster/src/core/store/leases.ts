import type { Cancel } from '../kernel/index.ts'
import { createLease, type Lease, type LeaseDeps, type LeaseStanding } from './lease.ts'

/** The leases of this process, each for as long as anybody in it needs it. */
export interface Leases {
  /**
   * Whoever asks for one that somebody in this process has already gets it when that one has released it: what replaces
   * something begins when that is over. It is given back when all have released theirs.
   */
  of(id: string): Lease
}

export function createLeases(deps: Omit<LeaseDeps, 'id'>): Leases {
  const known = new Map<string, Queue>()
  return {
    of(id) {
      const queue = known.get(id) ?? { lease: createLease({ ...deps, id }), users: [] }
      known.set(id, queue)
      return inTurn(queue, () => known.delete(id))
    },
  }
}

/** Those in this process that need one lease, in the order of their coming. */
interface Queue {
  readonly lease: Lease
  readonly users: User[]
}

interface User {
  /** It is the first one now. */
  begin(): void
}

const IN_USE: LeaseStanding = { kind: 'inUse' }
const UNKNOWN: LeaseStanding = { kind: 'unknown' }

/** The lease as it is for one of them. */
function inTurn({ lease, users }: Queue, onLast: () => void): Lease {
  const listeners = new Set<() => void>()
  let begin = () => {}
  const turn = new Promise<void>(resolve => {
    begin = resolve
  })
  const user: User = {
    begin() {
      begin()
      for (const listener of [...listeners]) listener()
    },
  }
  users.push(user)
  const isFirst = () => users[0] === user
  const isOver = () => !users.includes(user)
  if (isFirst()) begin()

  return {
    want: () => turn.then(() => (isOver() ? undefined : lease.want())),
    look: lease.look,
    standing() {
      const standing = lease.standing()
      if (isFirst() || standing.kind !== 'held') return standing
      return isOver() ? UNKNOWN : IN_USE
    },
    onChange(listener): Cancel {
      const stop = lease.onChange(listener)
      listeners.add(listener)
      return () => {
        stop()
        listeners.delete(listener)
      }
    },
    async release() {
      const place = users.indexOf(user)
      if (place < 0) return
      users.splice(place, 1)
      // Whoever waits for its turn would do so for ever.
      begin()
      if (users.length === 0) {
        onLast()
        await lease.release()
      } else if (place === 0) users[0]?.begin()
    },
  }
}
