import { createLease, type Lease, type LeaseDeps } from './lease.ts'

/** The leases of this process, each for as long as anybody in it needs it. */
export interface Leases {
  /** The same one for all who ask for it; it is given back when all have released theirs. */
  of(id: string): Lease
}

export function createLeases(deps: Omit<LeaseDeps, 'id'>): Leases {
  const known = new Map<string, { readonly lease: Lease; users: number }>()
  return {
    of(id) {
      const entry = known.get(id) ?? { lease: createLease({ ...deps, id }), users: 0 }
      known.set(id, entry)
      entry.users++
      let isReleased = false
      return {
        ...entry.lease,
        async release() {
          if (isReleased) return
          isReleased = true
          entry.users--
          if (entry.users > 0) return
          known.delete(id)
          await entry.lease.release()
        },
      }
    },
  }
}
