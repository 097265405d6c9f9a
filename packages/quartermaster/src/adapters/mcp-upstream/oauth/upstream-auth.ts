import { AppError, type HttpUpstream } from '../../../contracts/index.ts'
import type { Clock, Ids } from '../../../core/kernel/index.ts'
import { type Leases, whileHeld } from '../../../core/store/index.ts'
import {
  type KeptLogin,
  type LoginOwner,
  type UpstreamCredentialStore,
  type UpstreamLogin,
  wantedWith,
} from '../../../core/upstreams/index.ts'
import type { Resolve } from '../../http-client/index.ts'
import { createGuardedFetch } from '../http/guarded-fetch.ts'
import type { HttpAuth } from '../http/http-auth.ts'
import { pause } from '../pausing.ts'
import { after } from './at-once.ts'
import { type ChannelLogins, createChannelLogin, type InUse } from './channel-login.ts'
import { createDemands, keyOf } from './demands.ts'
import { askForChallenge } from './oauth-discovery.ts'
import { beginLogin, type LoginAttempt } from './oauth-login.ts'
import { notRenewed, refreshLogin } from './oauth-tokens.ts'
import { createSignOuts } from './sign-outs.ts'

/** Tokens for channels, and attempts of people to sign in. One for the whole process. */
export interface UpstreamAuth {
  /**
   * Where one channel to this upstream, or of one agent there, gets its tokens: those of the login that it is opened with, and
   * of no other. Tells of each before it is used.
   */
  for(owner: LoginOwner, upstream: HttpUpstream, onLogin?: (login: UpstreamLogin) => void): HttpAuth
  /** Throws `LOGIN_FAILED` and `DEPENDENCY_UNAVAILABLE`. Nothing is kept once the login is not wanted any more. */
  begin(owner: LoginOwner, upstream: HttpUpstream, options?: { isWanted(): boolean }): Promise<LoginAttempt>
  /** Agents that have signed in themselves. */
  agentsAt(upstream: string): Promise<string[]>
  /** Answers whether there was a login. */
  forget(owner: LoginOwner): Promise<boolean>
  /** As if nobody had ever signed in at an upstream, agents included. */
  forgetAll(upstream: string): Promise<void>
  /** Other processes may have signed people in and out. Answers at which upstreams. */
  recall(): Promise<string[]>
}

export interface UpstreamAuthDeps {
  readonly credentials: UpstreamCredentialStore
  /** For what only one of the processes on a store may do at a time. */
  readonly leases: Leases
  readonly clock: Clock
  readonly ids: Ids
  /** How names become addresses. */
  readonly resolve?: Resolve | undefined
}

/** A token that ends while the request is on its way would be refused. */
const EARLY_MS = 30_000
/** An issuer that could not renew a token that is still good is asked again after this long, and not with every request. */
const AGAIN_MS = 5_000
/** Whoever has a token that is still good waits for the next one for no longer than this. */
const PATIENCE_MS = 1_000
/** Another process that renews it has the answer by then. */
const OTHERS_MS = 20_000

export function createUpstreamAuth({ credentials, leases, clock, ids, resolve }: UpstreamAuthDeps): UpstreamAuth {
  const renewing = new Map<string, Promise<KeptLogin | undefined>>()
  const notBefore = new Map<string, number>()
  const demands = createDemands()
  const signOuts = createSignOuts()

  /** Only what is for this very server: its entry may have been pointed at another. */
  function loginOf(owner: LoginOwner, { url }: HttpUpstream): ReturnType<UpstreamCredentialStore['load']> {
    return after(credentials.load(owner), login => (login?.url === url ? login : undefined))
  }

  async function rereadOf(owner: LoginOwner, { url }: HttpUpstream): Promise<KeptLogin | undefined> {
    const login = await credentials.reread(owner)
    return login?.url === url ? login : undefined
  }

  /** An agent that has not signed in itself is let in with what all share, on a connection of its own as well. */
  function inUse(owner: LoginOwner, upstream: HttpUpstream): InUse | Promise<InUse> {
    const shared = { upstream: owner.upstream }
    const orShared = (login: KeptLogin | undefined) =>
      login || owner.agent === undefined
        ? { owner, login }
        : after(loginOf(shared, upstream), login => ({ owner: shared, login }))
    return after(loginOf(owner, upstream), orShared)
  }

  /** Once for all who wait: a refresh token that is used twice is taken for a stolen one. */
  function renew(owner: LoginOwner, upstream: HttpUpstream, login: KeptLogin): Promise<KeptLogin | undefined> {
    const key = keyOf(owner)
    const begun = renewing.get(key) ?? renewAlone(owner, upstream, login).finally(() => renewing.delete(key))
    renewing.set(key, begun)
    return begun
  }

  /** Once for all processes on the store, too: whoever comes second finds what the first has got. */
  async function renewAlone(owner: LoginOwner, upstream: HttpUpstream, login: KeptLogin) {
    const late = () => notRenewed(login, 'another process has been at it for too long.')
    return whileHeld(leases.of(`login ${keyOf(owner)}`), { clock, withinMs: OTHERS_MS, late }, async () => {
      const now = await rereadOf(owner, upstream)
      const isSame = now?.accessToken === login.accessToken && now.refreshToken === login.refreshToken
      return isSame ? renewNow(owner, upstream, now) : now
    })
  }

  async function renewNow(owner: LoginOwner, upstream: HttpUpstream, login: KeptLogin) {
    const home = new URL(upstream.url)
    const fetch = createGuardedFetch({ home, hosts: upstream.oauth?.hosts, clock, resolve })
    const next = await refreshLogin(login, { upstream, fetch, clock })
    if (next && (await credentials.replace(owner, { before: login, after: next }))) return { ...next, id: login.id }
    const now = await rereadOf(owner, upstream)
    // It was forgotten meanwhile, or somebody has signed in anew: that stays as it is.
    return now?.refreshToken === login.refreshToken ? undefined : now
  }

  /**
   * A token that is still good is used, whatever the issuer says and however long it takes: it takes the server from nobody
   * before its time.
   */
  async function renewInTime(owner: LoginOwner, upstream: HttpUpstream, login: KeptLogin) {
    const renewing = renew(owner, upstream, login)
    const renewed = await Promise.race([renewing, pause(PATIENCE_MS, { clock, until: renewing })]).catch(
      () => undefined,
    )
    if (renewed) return renewed
    if (isOver(login)) return renewing
    notBefore.set(keyOf(owner), clock.now() + AGAIN_MS)
    // It may have been forgotten meanwhile.
    return loginOf(owner, upstream)
  }

  function isDue(owner: LoginOwner, login: UpstreamLogin): boolean {
    return isNearEnd(login) && (isOver(login) || (notBefore.get(keyOf(owner)) ?? 0) <= clock.now())
  }

  function isOver({ expiresAt }: UpstreamLogin): boolean {
    return expiresAt !== undefined && expiresAt <= clock.now()
  }

  /** One that is good for less than a minute is used for half of its time, and not renewed with every request. */
  function isNearEnd({ issuedAt = 0, expiresAt, refreshToken }: UpstreamLogin): boolean {
    if (expiresAt === undefined || refreshToken === undefined) return false
    return expiresAt - Math.min(EARLY_MS, (expiresAt - issuedAt) / 2) <= clock.now()
  }

  return {
    for(owner, upstream, onLogin = () => {}) {
      const logins: ChannelLogins = {
        inUse: () => inUse(owner, upstream),
        // Also one for another server, where the entry was pointed at that: it is in the place of the one before all the same.
        kept: credentials.load,
        inTime: (owner, login) => (isDue(owner, login) ? renewInTime(owner, upstream, login) : login),
        renew: (owner, login) => renew(owner, upstream, login),
        lacks: (owner, scope) => credentials.lacks(owner, { url: upstream.url, scope }),
        signOuts: signOuts.of,
      }
      return createChannelLogin({ owner, logins, demands, onLogin })
    },
    async begin(owner, upstream, { isWanted } = { isWanted: () => true }) {
      const { challenge: told, lacked } = demands.of(owner)
      const challenge = told ?? (await askForChallenge(upstream.url, { clock }).catch(() => ({})))
      // Another process may have found out what it lacks.
      const login = await rereadOf(owner, upstream)
      // What it lacks it lacks beside what it was let in with, which may be the login of all.
      const held = login ?? (lacked === undefined ? undefined : (await inUse(owner, upstream)).login)
      return beginLogin({
        name: owner.upstream,
        upstream,
        clock,
        ids,
        challenge,
        lacked: wantedWith(login?.wanted, lacked),
        held: held?.scope,
        resolve,
        async save(login) {
          if (!isWanted()) throw unwanted(owner)
          await credentials.save(owner, login)
          demands.forget(owner)
          // It may have been removed, and all its logins forgotten, while this one was being written.
          if (isWanted()) return
          await credentials.forget(owner)
          throw unwanted(owner)
        },
      })
    },
    agentsAt: credentials.agentsAt,
    recall: credentials.recall,
    async forget(owner) {
      demands.forget(owner)
      const wasThere = await credentials.forget(owner)
      signOuts.add(owner)
      return wasThere
    },
    async forgetAll(upstream) {
      demands.forgetAll(upstream)
      await credentials.forgetAll(upstream)
      signOuts.addAll(upstream)
    },
  }
}

function unwanted({ upstream }: LoginOwner): AppError {
  const message = `Nobody was signed in at "${upstream}": it was removed or changed meanwhile, and nothing is kept.`
  return new AppError('LOGIN_FAILED', message, { details: { upstream } })
}
