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
import type { HttpAuth } from '../transport/http-sender.ts'
import { isAgentKnownByKey, isKnownByKey } from '../upstream-entry.ts'
import { after, type ChannelLogins, createChannelLogin, createDemands, type InUse, keyOf } from './channel-login.ts'
import { askForChallenge } from './discovery.ts'
import { beginLogin, type LoginAttempt } from './login.ts'
import { createRenewals, loginsByAddress } from './renewals.ts'

/** Tokens for channels, and people's attempts to sign in. One per process. */
export interface UpstreamAuth {
  /**
   * The tokens of one channel, shared or of one agent: those of the login that the channel is opened with, and of no
   * other. Calls back with each login before it is used.
   */
  for(owner: LoginOwner, upstream: HttpUpstream, onLogin?: (login: UpstreamLogin) => void): HttpAuth
  /** Throws `LOGIN_FAILED` and `DEPENDENCY_UNAVAILABLE`. Stores nothing once the login is no longer wanted. */
  begin(owner: LoginOwner, upstream: HttpUpstream, options?: { isWanted(): boolean }): Promise<LoginAttempt>
  isSignedIn(owner: LoginOwner, upstream: HttpUpstream): Promise<boolean>
  agentsAt(upstream: string): Promise<string[]>
  /** The number of logins of each upstream, including those of agents, configured or not. */
  amounts(): Promise<ReadonlyMap<string, number>>
  /** Whether an issuer of a login at an upstream cannot be reached, as far as is known. It is retried now and then. */
  isIssuerAway(upstream: string): boolean
  forget(owner: LoginOwner): Promise<boolean>
  /** Deletes all logins at an upstream, agents included. */
  forgetAll(upstream: string): Promise<void>
  /** Reads logins that other processes changed. Answers at which upstreams. */
  recall(): Promise<string[]>
}

interface UpstreamAuthDeps {
  readonly credentials: UpstreamCredentialStore
  readonly leases: Leases
  readonly clock: Clock
  readonly ids: Ids
  readonly resolve?: Resolve | undefined
}

export function createUpstreamAuth({ credentials, leases, clock, ids, resolve }: UpstreamAuthDeps): UpstreamAuth {
  const demands = createDemands()
  const signOuts = createSignOuts()
  const { loginOf, rereadOf } = loginsByAddress(credentials)
  const renewals = createRenewals({ credentials, leases, clock, resolve })

  /**
   * An agent's own credentials take precedence over the shared ones, and a key in the entry over a login: the owner
   * decided whose identity to send. An agent with neither uses the shared credentials, on a connection of its own as
   * well.
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
        // Also a login for another address: it has replaced the channel's login all the same.
        kept: credentials.load,
        inTime: (owner, login) => renewals.inTime({ owner, upstream, login }),
        renew: (owner, login) => renewals.renew({ owner, upstream, login }),
        lacks: (owner, scope) => credentials.recordMissingScopes(owner, { url: upstream.url, scope }),
        signOuts: signOuts.of,
      }
      return createChannelLogin({ owner, logins, demands, onLogin })
    },
    async begin(owner, upstream, { isWanted } = { isWanted: () => true }) {
      const { challenge: told, lacked } = demands.of(owner)
      const challenge = told ?? (await askForChallenge(upstream.url, { clock }).catch(() => ({})))
      const login = await rereadOf(owner, upstream)
      // Lacking scopes are in addition to those of the login in use, which may be the shared one.
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
          // The entry may have been removed, and its logins deleted, during the write.
          if (isWanted()) return
          await credentials.forget(owner)
          throw unwanted(owner)
        },
      })
    },
    isSignedIn: async (owner, upstream) => (await loginOf(owner, upstream)) !== undefined,
    agentsAt: credentials.agentsAt,
    amounts: credentials.counts,
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
  const message = `Signing in at "${upstream}" failed: it was removed or changed meanwhile, and nothing is kept.`
  return new AppError('LOGIN_FAILED', message, { details: { upstream } })
}

/** Counts sign-outs in this process. The store shows a sign-out only until a person signs in again. */
interface SignOuts {
  of(owner: LoginOwner): number
  add(owner: LoginOwner): void
  addAll(upstream: string): void
}

function createSignOuts(): SignOuts {
  const counts = new Map<string, number>()
  const count = (key: string) => counts.get(key) ?? 0
  const add = (key: string) => void counts.set(key, count(key) + 1)
  return {
    of: owner => count(keyOf(owner)) + count(owner.upstream),
    add: owner => add(keyOf(owner)),
    addAll: add,
  }
}
