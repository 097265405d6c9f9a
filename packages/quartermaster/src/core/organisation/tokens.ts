import { AppError, type IssuedToken, type LentToken, type TokenFacts, type TokenRow } from '../../contracts/index.ts'
import { type Clock, type Digest, didYouMean, type Ids } from '../kernel/index.ts'
import { insert, type Store, update } from '../store/index.ts'
import { createExpiryWatch } from './expiry-watch.ts'
import { createLentTokens } from './lent-tokens.ts'

/** Who gets a token, or has one: an agent or a person, never both. */
export type Bearer =
  | { readonly agent: string; readonly person?: undefined }
  | { readonly person: string; readonly agent?: undefined }

/** Whom a token stands for. */
export type TokenHolder = Bearer & { readonly tokenId: string }

/** The credentials of agents and persons: shown once, kept as a hash. */
export interface Tokens {
  /** Reads them all; from then on `verify` needs nothing but memory. */
  load(): Promise<void>
  /** Makes a token. Its text is in this answer and nowhere else. */
  create(request: Bearer & { label?: string | undefined; ttlMs?: number | undefined }): Promise<IssuedToken>
  list(agent?: string): TokenFacts[]
  /** Ends it, at once. Ending one that has ended changes nothing, but stores an end that could not be stored before. */
  revoke(id: string): Promise<TokenFacts>
  /** Makes a successor; the old one stays good for the overlap, so that nobody is cut off while it is handed out. */
  rotate(id: string, options: { overlapMs: number }): Promise<IssuedToken>
  /** Makes a token for one run. It is in memory only: not stored, not listed, and gone with this process. */
  lend(agent: string, options: { ttlMs: number }): LentToken
  /** Keeps a lent token for this long from now, and answers until when. Throws `NAME_UNKNOWN` when it has ended. */
  extend(id: string, options: { ttlMs: number }): number
  /** How many lent tokens are good now. */
  lent(): number
  verify(token: string): TokenHolder | undefined
  /** Calls back when a token was taken back or its time is over: whatever it has open must end. */
  onRevoked(listener: (id: string) => void): () => void
}

export interface TokensDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
}

const PREFIX = 'qm'

export function createTokens({ store, clock, ids, digest }: TokensDeps): Tokens {
  const byHash = new Map<string, TokenRow>()
  const listeners = new Set<(id: string) => void>()
  const tell = (id: string) => {
    for (const listener of listeners) listener(id)
  }
  const lent = createLentTokens({ clock, ids, digest, prefix: PREFIX, onEnded: tell })
  const expiry = createExpiryWatch({ clock, onExpired: tell })
  /** Tokens that have ended here and, as far as anyone knows, not yet in the store. */
  const unstored = new Set<string>()

  const now = () => Math.round(clock.now())
  const find = (id: string): TokenRow => {
    const rows = [...byHash.values()]
    const row = rows.find(one => one.id === id)
    if (row) return row
    throw new AppError(
      'NAME_UNKNOWN',
      `There is no token "${id}".${didYouMean(
        id,
        rows.map(one => one.id),
      )}`,
    )
  }

  function keep(row: TokenRow): void {
    byHash.set(row.hash, row)
    if (row.revokedAt === null && row.expiresAt !== null) expiry.expect(row.id, row.expiresAt)
    else expiry.forget(row.id)
  }

  /** In memory first: while it is being stored nobody may be let in any more, and nothing may stay open. */
  function end(row: TokenRow): TokenRow {
    if (row.revokedAt !== null) return row
    const ended = { ...row, revokedAt: now() }
    unstored.add(row.id)
    keep(ended)
    tell(row.id)
    return ended
  }

  function issue(
    bearer: Pick<TokenRow, 'callerKind' | 'callerName'>,
    facts: { label: string | null; expiresAt: number | null },
  ): { token: string; row: TokenRow } {
    const token = ids.secret(PREFIX)
    const { callerKind, callerName } = bearer
    const row: TokenRow = {
      id: ids.next('tok'),
      organisation: 'default',
      workspace: callerName,
      callerKind,
      callerName,
      hash: digest(token),
      scopes: [],
      createdAt: now(),
      revokedAt: null,
      replacedBy: null,
      lastUsedAt: null,
      ...facts,
    }
    return { token, row }
  }

  return {
    async load() {
      byHash.clear()
      for await (const row of allTokens(store)) {
        // Of those that ended before, nobody has anything open.
        if (stateOf(row, now()) === 'active') keep(row)
        else byHash.set(row.hash, row)
      }
    },
    async create({ agent, person, label, ttlMs }) {
      const bearer =
        person === undefined
          ? ({ callerKind: 'agent', callerName: agent } as const)
          : ({ callerKind: 'person', callerName: person } as const)
      const { token, row } = issue(bearer, {
        label: label ?? null,
        expiresAt: ttlMs === undefined ? null : now() + ttlMs,
      })
      await store.commit([insert('tokens', row)])
      keep(row)
      return { token, facts: factsOf(row, now()) }
    },
    list(agent) {
      const rows = [...byHash.values()].filter(row => agent === undefined || bearerOf(row).agent === agent)
      return rows.toSorted((a, b) => a.createdAt - b.createdAt).map(row => factsOf(row, now()))
    },
    async revoke(id) {
      const givenBack = lent.revoke(id)
      if (givenBack) return givenBack
      const { revokedAt } = end(find(id))
      if (unstored.has(id)) {
        await store.commit([update('tokens', { where: { id }, set: { revokedAt } })])
        unstored.delete(id)
      }
      return factsOf(find(id), now())
    },
    async rotate(id, { overlapMs }) {
      const old = find(id)
      if (stateOf(old, now()) !== 'active')
        throw new AppError('TOKEN_INVALID', `Token "${id}" has ended. Make a new one.`)
      const lifetime = old.expiresAt === null ? null : old.expiresAt - old.createdAt
      const { token, row } = issue(old, {
        label: old.label,
        expiresAt: lifetime === null ? null : now() + lifetime,
      })
      const expiresAt = Math.min(old.expiresAt ?? Number.POSITIVE_INFINITY, now() + overlapMs)
      const outcome = await store.commit([
        update('tokens', {
          where: { id, revokedAt: null, replacedBy: null },
          set: { expiresAt, replacedBy: row.id },
          guard: 'token.current',
        }),
        insert('tokens', row),
      ])
      if (!outcome.committed)
        throw new AppError('EDIT_CONFLICT', `Token "${id}" was rotated or revoked meanwhile. Look again.`)
      // As it is by now: it may have been revoked since, and that must stand.
      keep({ ...find(id), expiresAt, replacedBy: row.id })
      keep(row)
      return { token, facts: factsOf(row, now()) }
    },
    lend: (agent, options) => lent.lend(agent, options),
    extend(id, options) {
      const expiresAt = lent.extend(id, options)
      if (expiresAt === undefined)
        throw new AppError('NAME_UNKNOWN', `There is no lent token "${id}" any more. Borrow another.`)
      return expiresAt
    },
    lent: () => lent.count(),
    verify(token) {
      if (!token.startsWith(`${PREFIX}_`)) return undefined
      const hash = digest(token)
      const borrowed = lent.find(hash)
      if (borrowed) return { tokenId: borrowed.id, agent: borrowed.agent }
      const row = byHash.get(hash)
      if (!row || stateOf(row, clock.now()) !== 'active') return undefined
      return { tokenId: row.id, ...bearerOf(row) }
    },
    onRevoked(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

const PAGE = 1_000

async function* allTokens(store: Store): AsyncGenerator<TokenRow> {
  for (let after: readonly (string | number)[] | undefined; ; ) {
    const query = { order: { by: ['id' as const] }, limit: PAGE }
    const rows = await store.find('tokens', after ? { ...query, after } : query)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = [last.id]
  }
}

function stateOf(row: TokenRow, now: number): TokenFacts['state'] {
  if (row.revokedAt !== null) return 'revoked'
  return row.expiresAt !== null && row.expiresAt <= now ? 'expired' : 'active'
}

function factsOf(row: TokenRow, now: number): TokenFacts {
  const { id, label, createdAt, expiresAt, revokedAt, replacedBy } = row
  const times = { createdAt, expiresAt, revokedAt, replacedBy }
  return { id, ...bearerOf(row), label, ...times, state: stateOf(row, now) }
}

function bearerOf({ callerKind, callerName }: TokenRow): Bearer {
  return callerKind === 'person' ? { person: callerName } : { agent: callerName }
}
