import {
  AppError,
  DEFAULT_ORGANISATION,
  type IssuedToken,
  type LentToken,
  type TokenFacts,
  type TokenRow,
  type TokenScope,
} from '../../contracts/index.ts'
import { type Cancel, type Clock, type Digest, didYouMean, type Ids } from '../kernel/index.ts'
import { insert, type Store, type StoreNews, update, type Write } from '../store/index.ts'
import { createExpiryWatch, createTokenNews } from './token-events.ts'

/** The holder of a token: an agent or a person, never both. */
export type Bearer =
  | { readonly agent: string; readonly person?: undefined }
  | { readonly person: string; readonly agent?: undefined }

/** The caller that a token stands for. */
type TokenHolder = Bearer & { readonly tokenId: string; readonly organisation: string }

/** The tokens of a holder in an organisation. */
interface TokenOwner {
  readonly organisation: string
  readonly kind: TokenRow['callerKind']
  readonly name: string
}

/** A token and everything that decisions about it need. */
export interface Holding extends TokenOwner {
  readonly tokenId: string
  /** What it may be used for; everything if absent. */
  readonly scopes: readonly string[]
}

/** What is requested with a new token. */
type TokenRequest = Bearer & {
  label?: string | undefined
  ttlMs?: number | undefined
  /** The default organisation if absent. */
  organisation?: string | undefined
  scopes?: readonly TokenScope[] | undefined
}

/** Credentials of agents and persons: shown once, stored as a hash. */
export interface Tokens {
  /** Loads all tokens; from then on `verify` needs only memory. */
  load(): Promise<void>
  /** Creates a token. Its text is only in this answer. */
  create(request: TokenRequest): Promise<IssuedToken>
  /**
   * Creates a token together with other writes, atomically: otherwise throws the error for the failed guard, or returns nothing.
   */
  createWith(
    request: TokenRequest,
    also: readonly Write[],
    refusal?: (guard: string | undefined) => AppError,
  ): Promise<IssuedToken | undefined>
  /** Tokens of an organisation, or of one agent in it. */
  list(organisation: string, agent?: string): TokenFacts[]
  /** All present and past tokens of a holder. */
  listOf(owner: TokenOwner): TokenFacts[]
  /** The holder of this token, valid or not. */
  holding(id: string): Holding | undefined
  /** Revokes it immediately. Revoking again changes nothing, except that it stores an end that could not be stored before. */
  revoke(id: string): Promise<TokenFacts>
  /** Revokes all tokens of a holder together with other writes. Returns whether everything was as expected. */
  revokeAll(owner: TokenOwner, also: readonly Write[]): Promise<boolean>
  /** Creates a successor; the old token stays valid for the overlap, so that no client loses access meanwhile. */
  rotate(id: string, options: { overlapMs: number }): Promise<IssuedToken>
  /**
   * Creates a token for one run, in the default organisation unless given. It is in memory only: not stored, not listed, and ends
   * with this process.
   */
  lend(agent: string, options: { organisation?: string | undefined; ttlMs: number }): LentToken
  /** Extends a lent token by this long from now and returns its expiry. Throws `NAME_UNKNOWN` if it has ended. */
  extend(id: string, options: { ttlMs: number }): number
  /** The valid lent tokens, and whose they are. */
  lent(): readonly Readonly<{ id: string; organisation: string; agent: string }>[]
  /** The caller of a token that is for everything or for tools. */
  verify(token: string): TokenHolder | undefined
  /** The caller of a token, in any organisation and for any purpose. */
  holderOf(token: string): Holding | undefined
  /**
   * Reloads a token if the cached one may be outdated because changes of other processes were not received. Returns nothing to
   * await otherwise. Rejects if the store does not answer: then the holder is unknown.
   */
  fresh(token: string): Promise<void> | undefined
  /** Whether changes of other processes are received, so that the cache is valid. */
  isFresh(): boolean
  /** Calls back when a token was revoked or expired: its open requests must end. */
  onRevoked(listener: (id: string) => void): () => void
}

interface TokensDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  /** Notifications of other processes; absent if there are none. */
  readonly news?: StoreNews | undefined
}

const PREFIX = 'qm'

export function createTokens({ store, clock, ids, digest, news }: TokensDeps): Tokens {
  const byHash = new Map<string, TokenRow>()
  const listeners = new Set<(id: string) => void>()
  const tell = (id: string) => {
    for (const listener of listeners) listener(id)
  }
  const lent = createLentTokens({ clock, ids, digest, prefix: PREFIX, onEnded: tell })
  const expiry = createExpiryWatch({ clock, onExpired: tell })
  /** Tokens that have ended here but maybe not in the store yet. */
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

  const tokenNews = createTokenNews({ store, clock, news, take: takeStored, forget })

  /** The stored row. A token that ended here stays ended, even if that is not stored yet. */
  function takeStored(row: TokenRow): void {
    const before = byHash.get(row.hash)
    const wasGood = before !== undefined && stateOf(before, now()) === 'active'
    const next = unstored.has(row.id) ? { ...row, revokedAt: before?.revokedAt ?? now() } : row
    if (stateOf(next, now()) === 'active') return remember(next)
    byHash.set(next.hash, next)
    expiry.forget(next.id)
    if (wasGood) tell(next.id)
  }

  function forget(which: { readonly hash: string } | { readonly allBut: ReadonlySet<string> }): void {
    for (const row of 'hash' in which ? [byHash.get(which.hash)] : byHash.values()) {
      if (!row || ('allBut' in which && which.allBut.has(row.hash))) continue
      byHash.delete(row.hash)
      expiry.forget(row.id)
      tell(row.id)
    }
  }

  function keep(row: TokenRow): void {
    tokenNews.changedHere()
    remember(row)
  }

  function remember(row: TokenRow): void {
    byHash.set(row.hash, row)
    if (row.revokedAt === null && row.expiresAt !== null) expiry.expect(row.id, row.expiresAt)
    else expiry.forget(row.id)
  }

  /** In memory first: while it is being stored no client may be let in and nothing may stay open. */
  function end(row: TokenRow): TokenRow {
    if (row.revokedAt !== null) return row
    const ended = { ...row, revokedAt: now() }
    unstored.add(row.id)
    keep(ended)
    tell(row.id)
    return ended
  }

  function issue(
    bearer: Pick<TokenRow, 'organisation' | 'callerKind' | 'callerName' | 'scopes'>,
    facts: { label: string | null; expiresAt: number | null },
  ): { token: string; row: TokenRow } {
    const token = ids.secret(PREFIX)
    const { organisation, callerKind, callerName, scopes } = bearer
    const row: TokenRow = {
      id: ids.next('tok'),
      organisation,
      workspace: callerName,
      callerKind,
      callerName,
      hash: digest(token),
      scopes,
      createdAt: now(),
      revokedAt: null,
      replacedBy: null,
      lastUsedAt: null,
      ...facts,
    }
    return { token, row }
  }

  const createWith: Tokens['createWith'] = async (request, also, refusal) => {
    const { agent, person, label, ttlMs, organisation = DEFAULT_ORGANISATION, scopes = [] } = request
    const bearer =
      person === undefined
        ? ({ callerKind: 'agent', callerName: agent } as const)
        : ({ callerKind: 'person', callerName: person } as const)
    const { token, row } = issue(
      { organisation, scopes: [...scopes], ...bearer },
      { label: label ?? null, expiresAt: ttlMs === undefined ? null : now() + ttlMs },
    )
    const outcome = await store.commit([...also, insert('tokens', row)])
    if (!outcome.committed) {
      if (refusal) throw refusal(outcome.failed.guard)
      return undefined
    }
    keep(row)
    return { token, facts: factsOf(row, now()) }
  }

  function holderOf(token: string): Holding | undefined {
    if (!token.startsWith(`${PREFIX}_`)) return undefined
    const hash = digest(token)
    const borrowed = lent.find(hash)
    if (borrowed) {
      const { id: tokenId, organisation, agent: name } = borrowed
      return { tokenId, organisation, kind: 'agent', name, scopes: [] }
    }
    const row = byHash.get(hash)
    return row && stateOf(row, clock.now()) === 'active' ? holdingOf(row) : undefined
  }

  return {
    load: () => tokenNews.readAll(),
    async create(request) {
      const issued = await createWith(request, [])
      if (!issued) throw new AppError('EDIT_CONFLICT', 'A token with this id is there already. Try again.')
      return issued
    },
    createWith,
    list(organisation, agent) {
      const isMeant = (row: TokenRow) =>
        row.organisation === organisation && (agent === undefined || bearerOf(row).agent === agent)
      return listed([...byHash.values()].filter(isMeant), now())
    },
    listOf: owner => listed([...byHash.values()].filter(isOf(owner)), now()),
    holding(id) {
      const row = [...byHash.values()].find(one => one.id === id)
      return row && holdingOf(row)
    },
    async revokeAll(owner, also) {
      const rows = [...byHash.values()].filter(isOf(owner))
      for (const row of rows) end(row)
      const { organisation, kind: callerKind, name: callerName } = owner
      const where = { organisation, callerKind, callerName, revokedAt: null }
      const outcome = await store.commit([update('tokens', { where, set: { revokedAt: now() }, rows: 'any' }), ...also])
      if (!outcome.committed) return false
      for (const { id } of rows) unstored.delete(id)
      // One that was created meanwhile is cached by now, and has ended in the store.
      for (const row of [...byHash.values()].filter(isOf(owner)))
        if (row.revokedAt === null) takeStored((await store.get('tokens', row.id)) ?? row)
      return true
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
        throw new AppError('EDIT_CONFLICT', `Token "${id}" has ended. Make a new one.`)
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
      // The current row: it may have been revoked since, which must stand.
      keep({ ...find(id), expiresAt, replacedBy: row.id })
      keep(row)
      return { token, facts: factsOf(row, now()) }
    },
    lend: (agent, { organisation = DEFAULT_ORGANISATION, ttlMs }) => lent.lend(agent, { organisation, ttlMs }),
    extend(id, options) {
      const expiresAt = lent.extend(id, options)
      if (expiresAt === undefined)
        throw new AppError('NAME_UNKNOWN', `There is no lent token "${id}" any more. Borrow another.`)
      return expiresAt
    },
    lent: () => lent.all(),
    verify(token) {
      const holding = holderOf(token)
      if (!holding || !isFor(holding, 'mcp')) return undefined
      const { tokenId, organisation, kind, name } = holding
      return kind === 'person' ? { tokenId, organisation, person: name } : { tokenId, organisation, agent: name }
    },
    holderOf,
    // Usually there is nothing to reload, so no hash is computed.
    fresh: token =>
      tokenNews.isFresh() || !token.startsWith(`${PREFIX}_`) ? undefined : tokenNews.fresh(digest(token)),
    isFresh: () => tokenNews.isFresh(),
    onRevoked(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Whether a token may be used for this. */
export function isFor({ scopes }: Pick<Holding, 'scopes'>, scope: TokenScope): boolean {
  return scopes.length === 0 || scopes.includes(scope)
}

function stateOf(row: TokenRow, now: number): TokenFacts['state'] {
  if (row.revokedAt !== null) return 'revoked'
  return row.expiresAt !== null && row.expiresAt <= now ? 'expired' : 'active'
}

function isOf({ organisation, kind, name }: TokenOwner): (row: TokenRow) => boolean {
  return row => row.organisation === organisation && row.callerKind === kind && row.callerName === name
}

function holdingOf({ id: tokenId, organisation, callerKind: kind, callerName: name, scopes }: TokenRow): Holding {
  return { tokenId, organisation, kind, name, scopes }
}

function listed(rows: readonly TokenRow[], now: number): TokenFacts[] {
  return rows.toSorted((a, b) => a.createdAt - b.createdAt).map(row => factsOf(row, now))
}

function factsOf(row: TokenRow, now: number): TokenFacts {
  const { id, label, createdAt, expiresAt, revokedAt, replacedBy, scopes } = row
  const times = { createdAt, expiresAt, revokedAt, replacedBy }
  const facts = { id, ...bearerOf(row), label, ...times, state: stateOf(row, now) }
  return scopes.length === 0 ? facts : { ...facts, scopes }
}

function bearerOf({ callerKind, callerName }: TokenRow): Bearer {
  return callerKind === 'person' ? { person: callerName } : { agent: callerName }
}

interface LentTokensDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly prefix: string
  /** Called when one ends, by expiry or return. */
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

/** Tokens for one run: in memory only, valid for a while, gone with the process. */
function createLentTokens({ clock, ids, digest, prefix, onEnded }: LentTokensDeps) {
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
    lend(agent: string, { organisation, ttlMs }: { organisation: string; ttlMs: number }): LentToken {
      const token = ids.secret(prefix)
      const createdAt = Math.round(clock.now())
      const owner = { id: ids.next('run'), organisation, agent }
      const lent = { ...owner, hash: digest(token), createdAt, expiresAt: 0, cancel: () => {} }
      keep(lent, ttlMs)
      byHash.set(lent.hash, lent)
      byId.set(lent.id, lent)
      return { id: lent.id, token, expiresAt: lent.expiresAt, goodForMs: ttlMs }
    },
    /** Makes it valid for this long from now; `undefined` if it has ended. */
    extend(id: string, { ttlMs }: { ttlMs: number }): number | undefined {
      const lent = byId.get(id)
      if (lent) keep(lent, ttlMs)
      return lent?.expiresAt
    },
    find: (hash: string) => byHash.get(hash),
    /** Ends it; `undefined` if there is none. */
    revoke(id: string): TokenFacts | undefined {
      const lent = byId.get(id)
      if (!lent) return undefined
      end(lent)
      const { agent, createdAt, expiresAt } = lent
      const revokedAt = Math.round(clock.now())
      return { id, agent, label: null, state: 'revoked', createdAt, expiresAt, revokedAt, replacedBy: null }
    },
    all: () => [...byId.values()],
  }
}
