import type { LentToken, TokenFacts } from '../../contracts/index.ts'
import type { Cancel, Clock, Digest, Ids } from '../kernel/index.ts'

/** Tokens for one run: in memory only, good for a while, gone with the process. */
export interface LentTokens {
  lend(agent: string, options: { organisation: string; ttlMs: number }): LentToken
  /** Makes it good for this long from now; `undefined` when it has ended. */
  extend(id: string, options: { ttlMs: number }): number | undefined
  /** The token with this hash, if it is good. */
  find(hash: string): { readonly id: string; readonly organisation: string; readonly agent: string } | undefined
  /** Ends it; `undefined` when there is none. */
  revoke(id: string): TokenFacts | undefined
  /** Those that are good. */
  ids(): readonly string[]
}

export interface LentTokensDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly prefix: string
  /** Told when one is over, by its time or because it was given back. */
  onEnded(id: string): void
}

interface Lent {
  readonly id: string
  readonly organisation: string
  readonly agent: string
  readonly hash: string
  readonly createdAt: number
  expiresAt: number
  cancel: Cancel
}

export function createLentTokens({ clock, ids, digest, prefix, onEnded }: LentTokensDeps): LentTokens {
  const byHash = new Map<string, Lent>()
  const byId = new Map<string, Lent>()

  function end(lent: Lent): void {
    lent.cancel()
    byHash.delete(lent.hash)
    byId.delete(lent.id)
    onEnded(lent.id)
  }

  function keep(lent: Lent, ttlMs: number): void {
    lent.cancel()
    lent.expiresAt = Math.round(clock.now() + ttlMs)
    lent.cancel = clock.after(ttlMs, () => end(lent))
  }

  return {
    lend(agent, { organisation, ttlMs }) {
      const token = ids.secret(prefix)
      const createdAt = Math.round(clock.now())
      const whose = { id: ids.next('run'), organisation, agent }
      const lent = { ...whose, hash: digest(token), createdAt, expiresAt: 0, cancel: () => {} }
      keep(lent, ttlMs)
      byHash.set(lent.hash, lent)
      byId.set(lent.id, lent)
      return { id: lent.id, token, expiresAt: lent.expiresAt, goodForMs: ttlMs }
    },
    extend(id, { ttlMs }) {
      const lent = byId.get(id)
      if (lent) keep(lent, ttlMs)
      return lent?.expiresAt
    },
    find: hash => byHash.get(hash),
    revoke(id) {
      const lent = byId.get(id)
      if (!lent) return undefined
      end(lent)
      const { agent, createdAt, expiresAt } = lent
      const revokedAt = Math.round(clock.now())
      return { id, agent, label: null, state: 'revoked', createdAt, expiresAt, revokedAt, replacedBy: null }
    },
    ids: () => [...byId.keys()],
  }
}
