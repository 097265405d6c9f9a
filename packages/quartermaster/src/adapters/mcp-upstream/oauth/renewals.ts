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
  /** Unchanged and at once unless it expires soon. `undefined`: it has ended, and only a person can help. */
  inTime(one: Renewable): Promise<KeptLogin | undefined> | KeptLogin
  /** `undefined`: only a person can help. Rejects when the issuer could not be asked. */
  renew(one: Renewable): Promise<KeptLogin | undefined>
  /**
   * Whether the issuer of a login at an upstream could not be reached the last time. Asking retries it in the
   * background.
   */
  isIssuerAway(upstream: string): boolean
  /** Forgets what is known about an owner's login. */
  forget(owner: LoginOwner): void
  /** Including those of its agents. */
  forgetAll(upstream: string): void
}

/** A login, its owner, and the entry that it is for. */
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

/** A token that expires while the request is on its way would be refused. */
const EARLY_MS = 30_000
/** An unreachable issuer is asked again after this long, not with every request or check. */
const AGAIN_MS = 5_000
/** A request with a token that is still valid waits for the next one no longer than this. */
const PATIENCE_MS = 1_000
/** Another process that renews it has the answer by then. */
const OTHERS_MS = 20_000

export function createRenewals({ credentials, leases, clock, resolve }: RenewalsDeps): Renewals {
  const { loginOf, rereadOf } = loginsByAddress(credentials)
  const renewing = new Map<string, Promise<KeptLogin | undefined>>()
  const notBefore = new Map<string, number>()
  /** Logins whose issuers could not be reached, and when that was last tried. */
  const away = new Map<string, Tried & { readonly at: number }>()
  /** Logins whose issuers refused permanently. */
  const refused = new Map<string, Tried>()
  /** Renewed logins that could not be stored yet. The issuer no longer accepts the old ones. */
  const unkept = new Map<string, { readonly mark: string; readonly next: UpstreamLogin }>()

  const allNotes = [away, refused, notBefore, unkept]

  /** Once for all waiting requests: a refresh token used twice is taken for a stolen one. */
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
        away.delete(key)
        return renewed
      },
      error => {
        away.set(key, { ...triedOf(one), at: clock.now() })
        throw error
      },
    )
  }

  /** Once for all processes on the store, too: the second finds what the first has got. */
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
    unkept.delete(keyOf(owner))
    if (next && isKept) return { ...next, id: login.id }
    const now = await rereadOf(owner, upstream)
    // It was signed out meanwhile, or a person signed in again: that stays.
    return now?.refreshToken === login.refreshToken ? undefined : now
  }

  /** After a failed write only the write is retried: the issuer's answer may be the only one. */
  async function nextOf({ owner, upstream, login }: Renewable): Promise<UpstreamLogin | undefined> {
    const key = keyOf(owner)
    const mark = markOf(login)
    const before = unkept.get(key)
    if (before?.mark === mark) return before.next
    const home = new URL(upstream.url)
    const fetch = createGuardedFetch({ home, hosts: upstream.oauth?.hosts, clock, resolve })
    const next = await refreshLogin(login, { upstream, fetch, clock })
    if (next) unkept.set(key, { mark, next })
    return next
  }

  /** A refused renewal is not repeated, unless the entry has changed: it may name another client or secret. */
  function isRefused({ owner, upstream, login }: Renewable): boolean {
    const before = refused.get(keyOf(owner))
    return before?.upstream === upstream && before.mark === markOf(login)
  }

  /** Retries the login that failed, and none in its place. */
  async function renewAgain({ owner, upstream, mark }: Tried): Promise<void> {
    const now = await rereadOf(owner, upstream)
    if (now && markOf(now) === mark) await renew({ owner, upstream, login: now })
    else if (away.get(keyOf(owner))?.mark === mark) away.delete(keyOf(owner))
  }

  /** A token that is still valid is used, whatever the issuer says and however long it takes. */
  async function renewInTime(one: Renewable) {
    const { owner, upstream, login } = one
    const renewing = renew(one)
    const renewed = await Promise.race([renewing, pause(PATIENCE_MS, { clock, until: renewing })]).catch(
      () => undefined,
    )
    if (renewed) return renewed
    if (isOver(login)) return renewing
    notBefore.set(keyOf(owner), clock.now() + AGAIN_MS)
    // It may have been signed out meanwhile.
    return loginOf(owner, upstream)
  }

  function isDue({ owner, login }: Renewable): boolean {
    return isNearEnd(login) && (isOver(login) || (notBefore.get(keyOf(owner)) ?? 0) <= clock.now())
  }

  function isOver({ expiresAt }: UpstreamLogin): boolean {
    return expiresAt !== undefined && expiresAt <= clock.now()
  }

  /** A token valid for less than a minute is used for half of its time, and not renewed with every request. */
  function isNearEnd({ issuedAt = 0, expiresAt, refreshToken }: UpstreamLogin): boolean {
    if (expiresAt === undefined || refreshToken === undefined) return false
    return expiresAt - Math.min(EARLY_MS, (expiresAt - issuedAt) / 2) <= clock.now()
  }

  return {
    inTime: one => (isDue(one) ? renewInTime(one) : one.login),
    renew,
    isIssuerAway(upstream) {
      const those = [...away].filter(([, { owner }]) => owner.upstream === upstream)
      for (const [key, one] of those) {
        if (one.at + AGAIN_MS > clock.now()) continue
        away.set(key, { ...one, at: clock.now() })
        // The result is recorded; no one waits for it here.
        renewAgain(one).catch(() => {})
      }
      return those.length > 0
    },
    forget(owner) {
      for (const notes of allNotes) notes.delete(keyOf(owner))
    },
    forgetAll(upstream) {
      const isAt = (key: string) => key.startsWith(keyOf({ upstream }))
      for (const notes of allNotes) for (const key of notes.keys()) if (isAt(key)) notes.delete(key)
    },
  }
}

/** What is recorded of a login that could not be renewed: enough to recognise it, and nothing secret. */
interface Tried {
  readonly owner: LoginOwner
  readonly upstream: HttpUpstream
  readonly mark: string
}

function triedOf({ owner, upstream, login }: Renewable): Tried {
  return { owner, upstream, mark: markOf(login) }
}

/** Changes with every renewal. */
function markOf({ id, accessToken, refreshToken }: KeptLogin): string {
  return createHash('sha256')
    .update(JSON.stringify([id, accessToken, refreshToken]))
    .digest('base64')
}

/** Only logins for the present address of an entry: it may have pointed to another server. */
interface LoginsByAddress {
  loginOf(owner: LoginOwner, upstream: HttpUpstream): ReturnType<UpstreamCredentialStore['load']>
  /** Read from the store, past any cache. */
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
