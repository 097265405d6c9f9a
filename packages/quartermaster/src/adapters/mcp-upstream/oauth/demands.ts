import { type LoginOwner, wantedWith } from '../../../core/upstreams/index.ts'
import type { Challenge } from '../http/http-auth.ts'

/** What servers have said that they want of whoever comes, as far as this process has heard. */
export interface Demands {
  /** It let nobody in. What it says about that now counts. */
  turnedAway(owner: LoginOwner, challenge: Challenge): void
  /** It wants more rights. Nothing that it says later takes that back. */
  lacking(owner: LoginOwner, challenge: Challenge): void
  of(owner: LoginOwner): Demand
  forget(owner: LoginOwner): void
  /** Also of the agents at it. */
  forgetAll(upstream: string): void
}

export interface Demand {
  /** What it said last about who is let in, if anything. */
  readonly challenge?: Challenge | undefined
  /** The rights that were lacking. */
  readonly lacked?: string | undefined
}

export function createDemands(): Demands {
  const known = new Map<string, Demand>()
  const of = (owner: LoginOwner) => known.get(keyOf(owner)) ?? {}
  return {
    turnedAway: (owner, challenge) => void known.set(keyOf(owner), { ...of(owner), challenge }),
    lacking(owner, { scope, resourceMetadata }) {
      const { challenge, lacked } = of(owner)
      const told = resourceMetadata === undefined ? challenge : { ...challenge, resourceMetadata }
      known.set(keyOf(owner), { challenge: told, lacked: wantedWith(lacked, scope) })
    },
    of,
    forget: owner => void known.delete(keyOf(owner)),
    forgetAll(upstream) {
      for (const key of known.keys()) if (key.startsWith(keyOf({ upstream }))) known.delete(key)
    },
  }
}

/** Names have no colon, so no two owners share one. */
export function keyOf({ upstream, agent }: LoginOwner): string {
  return `${upstream}:${agent ?? ''}`
}
