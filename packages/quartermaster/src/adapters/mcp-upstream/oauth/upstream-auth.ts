import { AppError, type HttpUpstream } from '../../../contracts/index.ts'
import type { Clock, Ids } from '../../../core/kernel/index.ts'
import type { Leases } from '../../../core/store/index.ts'
import {
  type LoginOwner,
  type UpstreamCredentialStore,
  type UpstreamLogin,
  wantedWith,
} from '../../../core/upstreams/index.ts'
import type { Resolve } from '../../http-client/index.ts'
import type { HttpAuth } from '../http/http-auth.ts'
import { after } from './at-once.ts'
import { type ChannelLogins, createChannelLogin, type InUse } from './channel-login.ts'
import { createDemands } from './demands.ts'
import { isAgentKnownByKey, isKnownByKey } from './known-by-key.ts'
import { loginsByAddress } from './logins-by-address.ts'
import { askForChallenge } from './oauth-discovery.ts'
import { beginLogin, type LoginAttempt } from './oauth-login.ts'
import { createRenewals } from './renewals.ts'
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
  /** Whether there is a login for this very server. */
  isSignedIn(owner: LoginOwner, upstream: HttpUpstream): Promise<boolean>
  /** Agents that have signed in themselves. */
  agentsAt(upstream: string): Promise<string[]>
  /** How many logins there are at each upstream, those of agents included, whether it is configured or not. */
  amounts(): Promise<ReadonlyMap<string, number>>
  /** Whether an issuer cannot be asked to renew a login at an upstream, as far as is known. It is asked again every now and then. */
  isIssuerAway(upstream: string): boolean
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

export function createUpstreamAuth({ credentials, leases, clock, ids, resolve }: UpstreamAuthDeps): UpstreamAuth {
  const demands = createDemands()
  const signOuts = createSignOuts()
  const { loginOf, rereadOf } = loginsByAddress(credentials)
  const renewals = createRenewals({ credentials, leases, clock, resolve })

  /**
   * What an agent has of its own goes before what all share, and a key in the entry before a login: whoever wrote it there has
   * said who is to be shown. So an agent with neither is let in with what all share, on a connection of its own as well.
   */
  function inUse(owner: LoginOwner, upstream: HttpUpstream): InUse | Promise<InUse> {
    const { agent } = owner
    if (agent === undefined) return sharedIn(owner, upstream)
    if (isAgentKnownByKey(upstream, agent)) return { owner, login: undefined }
    return after(loginOf(owner, upstream), login => (login ? { owner, login } : sharedIn(owner, upstream)))
  }

  function sharedIn({ upstream: name }: LoginOwner, upstream: HttpUpstream): InUse | Promise<InUse> {
    const owner = { upstream: name }
    if (isKnownByKey(upstream)) return { owner, login: undefined }
    return after(loginOf(owner, upstream), login => ({ owner, login }))
  }

  return {
    for(owner, upstream, onLogin = () => {}) {
      const logins: ChannelLogins = {
        inUse: () => inUse(owner, upstream),
        // Also one for another server, where the entry was pointed at that: it is in the place of the one before all the same.
        kept: credentials.load,
        inTime: (owner, login) => renewals.inTime({ owner, upstream, login }),
        renew: (owner, login) => renewals.renew({ owner, upstream, login }),
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
          renewals.forget(owner)
          // It may have been removed, and all its logins forgotten, while this one was being written.
          if (isWanted()) return
          await credentials.forget(owner)
          throw unwanted(owner)
        },
      })
    },
    isSignedIn: async (owner, upstream) => (await loginOf(owner, upstream)) !== undefined,
    agentsAt: credentials.agentsAt,
    amounts: credentials.amounts,
    isIssuerAway: renewals.isIssuerAway,
    recall: credentials.recall,
    async forget(owner) {
      demands.forget(owner)
      renewals.forget(owner)
      const wasThere = await credentials.forget(owner)
      signOuts.add(owner)
      return wasThere
    },
    async forgetAll(upstream) {
      demands.forgetAll(upstream)
      renewals.forgetAll(upstream)
      await credentials.forgetAll(upstream)
      signOuts.addAll(upstream)
    },
  }
}

function unwanted({ upstream }: LoginOwner): AppError {
  const message = `Nobody was signed in at "${upstream}": it was removed or changed meanwhile, and nothing is kept.`
  return new AppError('LOGIN_FAILED', message, { details: { upstream } })
}
