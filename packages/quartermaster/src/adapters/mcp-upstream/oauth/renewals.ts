import { createHash } from 'node:crypto'
import type { HttpUpstream } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { type Leases, withLease } from '../../../core/store/index.ts'
import type { KeptLogin, LoginOwner, UpstreamCredentialStore, UpstreamLogin } from '../../../core/upstreams/index.ts'
import type { Resolve } from '../../http-client/index.ts'
import { pause } from '../peer/abort.ts'
import { createGuardedFetch } from '../transport/guarded-fetch.ts'
import { after, keyOf } from './channel-login.ts'
import { notRenewed, refreshLogin } from './tokens.ts'

/** Renews logins with their issuers. */
interface Renewals {
  /** Unchanged and synchronous unless the login expires soon. `undefined`: it has ended, and only a person can help. */
  inTime(one: Renewable): Promise<KeptLogin | undefined> | KeptLogin
  /** `undefined`: only a person can help. Rejects when the issuer could not be reached. */
  renew(one: Renewable): Promise<KeptLogin | undefined>
  /**
   * Whether the issuer of a login at an upstream could not be reached the last time. Asking retries in the
   * background.
   */
  isIssuerAway(upstream: string): boolean
  forget(owner: LoginOwner): void
  forgetAll(upstream: string): void
}

/** A login, its owner, and its entry. */
interface Renewable {
  readonly owner: LoginOwner
  readonly upstream: HttpUpstream
  readonly login: KeptLogin
}

interface RenewalsDeps {
  readonly credentials: Pick<UpstreamCredentialStore, 'load' | 'reread' | 'replace'>
  readonly leases: Leases
  readonly clock: Clock
  readonly resolve: Resolve | undefined
}

/** A token that expires during the request would be refused. */
const EARLY_MS = 30_000
/** Pause before an unreachable issuer is asked again. */
const AGAIN_MS = 5_000
/** A request with a valid token waits no longer than this for the next one. */
const PATIENCE_MS = 1_000
const OTHERS_MS = 20_000

export function createRenewals({ credentials, leases, clock, resolve }: RenewalsDeps): Renewals {
  const { loginOf, rereadOf } = loginsByAddress(credentials)
  const renewing = new Map<string, Promise<KeptLogin | undefined>>()
  const notBefore = new Map<string, number>()
  /** Logins whose issuers could not be reached, and when that was last tried. */
  const unreachable = new Map<string, Tried & { readonly at: number }>()
  /** Logins whose issuers refused permanently. */
  const refused = new Map<string, Tried>()
  /** Renewed logins that could not be stored yet. The issuer accepts the old ones no more. */
  const unsaved = new Map<string, { readonly mark: string; readonly next: UpstreamLogin }>()

  const allRecords = [unreachable, refused, notBefore, unsaved]

  /** Once for all waiting requests: a refresh token used twice counts as stolen. */
  function renew(one: Renewable): Promise<KeptLogin | undefined> {
    const key = keyOf(one.owner)
    const begun = renewing.get(key) ?? noted(one, renewAlone(one)).finally(() => renewing.delete(key))
    renewing.set(key, begun)
    return begun
  }

  function noted<T>(one: Renewable, answer: Promise<T>): Promise<T> {
    const key = keyOf(one.owner)
    return answer.then(
      renewed => {
        unreachable.delete(key)
        return renewed
      },
      error => {
        unreachable.set(key, { ...triedOf(one), at: clock.now() })
        throw error
      },
    )
  }

  /** Once for all processes on the store: the second finds the result of the first. */
  async function renewAlone({ owner, upstream, login }: Renewable) {
    const late = () => notRenewed(login, 'another process has been at it for too long.')
    return withLease(leases.of(`login ${keyOf(owner)}`), { clock, withinMs: OTHERS_MS, late }, async () => {
      const now = await rereadOf(owner, upstream)
      const isSame = now?.accessToken === login.accessToken && now.refreshToken === login.refreshToken
      return isSame ? renewNow({ owner, upstream, login: now }) : now
    })
  }

  async function renewNow(one: Renewable) {
    const { owner, upstream, login } = one
    if (isRefused(one)) return undefined
    const next = await nextOf(one)
    if (!next) refused.set(keyOf(owner), triedOf(one))
    const isKept = next !== undefined && (await credentials.replace(owner, { before: login, after: next }))
    unsaved.delete(keyOf(owner))
    if (next && isKept) return { ...next, id: login.id }
    const now = await rereadOf(owner, upstream)
    // A sign-out or a new login meanwhile stays.
    return now?.refreshToken === login.refreshToken ? undefined : now
  }

  /** After a failed write only the write is retried: the issuer may not answer twice. */
  async function nextOf({ owner, upstream, login }: Renewable): Promise<UpstreamLogin | undefined> {
    const key = keyOf(owner)
    const mark = markOf(login)
    const before = unsaved.get(key)
    if (before?.mark === mark) return before.next
    const home = new URL(upstream.url)
    const fetch = createGuardedFetch({ home, hosts: upstream.oauth?.hosts, clock, resolve })
    const next = await refreshLogin(login, { upstream, fetch, clock })
    if (next) unsaved.set(key, { mark, next })
    return next
  }

  /** A refused renewal is not repeated, unless the entry has changed: it may name another client or secret. */
  function isRefused({ owner, upstream, login }: Renewable): boolean {
    const before = refused.get(keyOf(owner))
    return before?.upstream === upstream && before.mark === markOf(login)
  }

  /** Retries the login that failed, and not its successor. */
  async function renewAgain({ owner, upstream, mark }: Tried): Promise<void> {
    const now = await rereadOf(owner, upstream)
    if (now && markOf(now) === mark) await renew({ owner, upstream, login: now })
    else if (unreachable.get(keyOf(owner))?.mark === mark) unreachable.delete(keyOf(owner))
  }

  /** A valid token is used, whatever the issuer says and however long it takes. */
  async function renewInTime(one: Renewable) {
    const { owner, upstream, login } = one
    const renewing = renew(one)
    const renewed = await Promise.race([renewing, pause(PATIENCE_MS, { clock, until: renewing })]).catch(
      () => undefined,
    )
    if (renewed) return renewed
    if (isOver(login)) return renewing
    notBefore.set(keyOf(owner), clock.now() + AGAIN_MS)
    return loginOf(owner, upstream)
  }

  function isDue({ owner, login }: Renewable): boolean {
    return isNearEnd(login) && (isOver(login) || (notBefore.get(keyOf(owner)) ?? 0) <= clock.now())
  }

  function isOver({ expiresAt }: UpstreamLogin): boolean {
    return expiresAt !== undefined && expiresAt <= clock.now()
  }

  /** A token valid for less than a minute is used for half of its time, or every request would renew it. */
  function isNearEnd({ issuedAt = 0, expiresAt, refreshToken }: UpstreamLogin): boolean {
    if (expiresAt === undefined || refreshToken === undefined) return false
    return expiresAt - Math.min(EARLY_MS, (expiresAt - issuedAt) / 2) <= clock.now()
  }

  return {
    inTime: one => (isDue(one) ? renewInTime(one) : one.login),
    renew,
    isIssuerAway(upstream) {
      const those = [...unreachable].filter(([, { owner }]) => owner.upstream === upstream)
      for (const [key, one] of those) {
        if (one.at + AGAIN_MS > clock.now()) continue
        unreachable.set(key, { ...one, at: clock.now() })
        renewAgain(one).catch(() => {})
      }
      return those.length > 0
    },
    forget(owner) {
      for (const notes of allRecords) notes.delete(keyOf(owner))
    },
    forgetAll(upstream) {
      const isAt = (key: string) => key.startsWith(keyOf({ upstream }))
      for (const notes of allRecords) for (const key of notes.keys()) if (isAt(key)) notes.delete(key)
    },
  }
}

/** Identifies a login that could not be renewed, without secrets. */
interface Tried {
  readonly owner: LoginOwner
  readonly upstream: HttpUpstream
  readonly mark: string
}

function triedOf({ owner, upstream, login }: Renewable): Tried {
  return { owner, upstream, mark: markOf(login) }
}

function markOf({ id, accessToken, refreshToken }: KeptLogin): string {
  return createHash('sha256')
    .update(JSON.stringify([id, accessToken, refreshToken]))
    .digest('base64')
}

/** Only logins for the present address of an entry, which may have pointed to another server. */
interface LoginsByAddress {
  loginOf(owner: LoginOwner, upstream: HttpUpstream): ReturnType<UpstreamCredentialStore['load']>
  rereadOf(owner: LoginOwner, upstream: HttpUpstream): Promise<KeptLogin | undefined>
}

export function loginsByAddress({ load, reread }: Pick<UpstreamCredentialStore, 'load' | 'reread'>): LoginsByAddress {
  const meant = ({ url }: HttpUpstream) => {
    return (login: KeptLogin | undefined) => (login?.url === url ? login : undefined)
  }
  return {
    loginOf: (owner, upstream) => after(load(owner), meant(upstream)),
    rereadOf: async (owner, upstream) => meant(upstream)(await reread(owner)),
  }
}
