import type { PinKind } from '../../../contracts/index.ts'
import type { NameClaim as Claim } from '../../../core/catalogue/index.ts'
import type { ClaimChange, NameClaim, ReviewedListing } from '../../../core/upstreams/index.ts'

/** Something of a server with the name that agents call it by. */
export interface NamedDefinition {
  readonly kind: PinKind
  /** As the server calls it. */
  readonly own: string
  /** `undefined` where that is the name, whatever is configured. */
  readonly name: string | undefined
  /** What is held back was changed by its server, or was never offered. */
  readonly state: 'offered' | 'changed' | 'unoffered'
}

/**
 * Since when an upstream has the names that it offers things under. Whoever has a name keeps it: what comes later under the
 * same one must not get the calls that are meant for another.
 */
export interface NameClaims {
  /** What is on record counts, and what is not yet on it stays. */
  take(verdict: ReviewedListing): void
  /** These are offered now, and nothing else. What keeps its name keeps its time. */
  settle(definitions: readonly NamedDefinition[], now: number): Claim[]
  /** What is to be put on record. */
  unwritten(): ClaimChange[]
  wrote(changes: readonly ClaimChange[]): void
}

export function createNameClaims(): NameClaims {
  let claims = new Map<string, NameClaim>()
  const onRecord = new Map<string, Recorded>()

  function claimOf({ kind, own, name, state }: NamedDefinition, now: number): NameClaim | undefined {
    // What its server has changed keeps the name that it had, and gets no other, also when the change was refused: its server
    // may take it back, and agents would call another until then.
    if (state === 'unoffered') return undefined
    const known = claims.get(keyOf(kind, own))
    if (known && (known.as === undefined || known.as === name)) return { as: name, since: known.since }
    return state === 'offered' ? { as: name, since: now } : undefined
  }

  return {
    take({ offered, held }) {
      onRecord.clear()
      for (const { kind, name, claim } of [...offered, ...held]) {
        onRecord.set(keyOf(kind, name), { kind, name, claim })
        if (claim) claims.set(keyOf(kind, name), claim)
      }
    },
    settle(definitions, now) {
      const next = new Map<string, NameClaim>()
      const told = definitions.flatMap((one): Claim[] => {
        const claim = claimOf(one, now)
        if (!claim) return []
        next.set(keyOf(one.kind, one.own), claim)
        const { kind, own, name = own, state } = one
        const what = kind === 'tool' || kind === 'prompt' ? kind : 'resource'
        return [{ kind: what, name, since: claim.since, isHeld: state !== 'offered' }]
      })
      claims = next
      return told
    },
    unwritten() {
      return [...onRecord].flatMap(([key, { kind, name, claim: before }]) => {
        const now = claims.get(key)
        return now?.as === before?.as && now?.since === before?.since ? [] : [{ kind, name, before, now }]
      })
    },
    wrote(changes) {
      for (const { kind, name, now } of changes) {
        const known = onRecord.get(keyOf(kind, name))
        if (known) known.claim = now
      }
    },
  }
}

interface Recorded {
  readonly kind: PinKind
  readonly name: string
  claim: NameClaim | undefined
}

function keyOf(kind: PinKind, name: string): string {
  return `${kind} ${name}`
}
