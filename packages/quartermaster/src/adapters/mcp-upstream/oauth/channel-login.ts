import { type KeptLogin, type LoginOwner, wantedWith } from '../../../core/upstreams/index.ts'
import { type Challenge, type HttpAuth, LoginOver } from '../transport/http-sender.ts'

export interface InUse {
  readonly owner: LoginOwner
  readonly login: KeptLogin | undefined
}

export interface ChannelLogins {
  /** The login for a new channel. */
  inUse(): InUse | Promise<InUse>
  kept(owner: LoginOwner): Promise<KeptLogin | undefined> | KeptLogin | undefined
  /**
   * Renewed shortly before it expires, and otherwise unchanged. `undefined`: it has ended, and only a person can
   * help.
   */
  inTime(owner: LoginOwner, login: KeptLogin): Promise<KeptLogin | undefined> | KeptLogin
  renew(owner: LoginOwner, login: KeptLogin): Promise<KeptLogin | undefined>
  /** Records scopes that the login lacks. */
  lacks(owner: LoginOwner, scope: string): Promise<void>
  signOuts(owner: LoginOwner): number
}

interface ChannelLoginDeps {
  readonly owner: LoginOwner
  readonly logins: ChannelLogins
  readonly demands: Demands
  onLogin(login: KeptLogin): void
}

/**
 * The login of one channel, from its opening to its end. Servers bind sessions to the login that began them, and what
 * one person has begun, and answers, must not go out in the name of another. A replaced login is used as long as the
 * server accepts it, but not renewed: its refresh token is void. A signed-out login is not used at all.
 */
export function createChannelLogin({ owner, logins, demands, onLogin }: ChannelLoginDeps): HttpAuth {
  let held: Held | undefined

  function hold({ owner, login }: InUse): Held {
    held ??= { owner, login, signOuts: logins.signOuts(owner) }
    return held
  }

  function adopt(holding: HeldLogin, login: KeptLogin): string {
    onLogin(login)
    holding.login = login
    return login.accessToken
  }

  function storedLogin({ owner, login, signOuts }: HeldLogin): LoginNow | Promise<LoginNow> {
    return after(logins.kept(owner), kept => {
      if (!kept || logins.signOuts(owner) !== signOuts) return 'forgotten'
      return kept.id === login.id ? kept : 'replaced'
    })
  }

  /** For the first request, before the channel is bound to a login. */
  function firstToken(used: InUse): string | undefined | Promise<string | undefined> {
    const { owner, login: before } = used
    if (!before) return hold(used).login?.accessToken
    onLogin(before)
    return after(logins.inTime(owner, before), login => {
      if (!login) return unrenewedToken(before)
      if (login !== before) onLogin(login)
      return hold({ owner, login }).login?.accessToken
    })
  }

  /**
   * A token that cannot be renewed is sent all the same, and the server may refuse it. Without it the request would
   * be anonymous, or use the shared key.
   */
  function unrenewedToken(before: KeptLogin): string | undefined | Promise<string | undefined> {
    return after(logins.inUse(), used =>
      used.login?.id === before.id ? hold(used).login?.accessToken : firstToken(used),
    )
  }

  function nextToken(holding: HeldLogin): string | Promise<string> {
    return after(storedLogin(holding), now => {
      if (typeof now === 'string') return lastToken(holding, now)
      const token = adopt(holding, now)
      const inTime = logins.inTime(holding.owner, now)
      return inTime instanceof Promise ? inTime.then(renewed => renewedToken(holding, renewed)) : token
    })
  }

  function renewedToken(holding: HeldLogin, renewed: KeptLogin | undefined): string | Promise<string> {
    if (renewed?.id === holding.login.id) return adopt(holding, renewed)
    return after(storedLogin(holding), now => lastToken(holding, now))
  }

  function lastToken({ owner, login }: HeldLogin, now: LoginNow): string | Promise<string> {
    return now === 'forgotten' ? Promise.reject(forgotten(owner)) : login.accessToken
  }

  async function renew(holding: HeldLogin, refused: string | undefined, challenge: Challenge) {
    const { owner } = holding
    const now = await storedLogin(holding)
    if (now === 'forgotten') throw forgotten(owner)
    if (now === 'replaced') throw replaced(owner)
    note('onDenied', challenge)
    if (adopt(holding, now) !== refused) return 'renewed'
    const renewed = await logins.renew(owner, now)
    if (!renewed) return 'signIn'
    if (renewed.id !== now.id) throw replaced(owner)
    adopt(holding, renewed)
    return 'renewed'
  }

  const shown = () => held?.owner ?? owner

  function note(what: 'onDenied' | 'onScopesLacking', challenge: Challenge): void {
    for (const one of new Set([owner, shown()])) demands[what](one, challenge)
  }

  return {
    token() {
      if (!held) return after(logins.inUse(), firstToken)
      return hasLogin(held) ? nextToken(held) : undefined
    },
    async renew(refused, challenge) {
      const holding = held ?? hold(await logins.inUse())
      if (hasLogin(holding)) return renew(holding, refused, challenge)
      note('onDenied', challenge)
      return 'signIn'
    },
    async lacking(challenge) {
      // Scopes lacking from a replaced login say nothing about its successor.
      if (held && hasLogin(held) && typeof (await storedLogin(held)) === 'string') return
      note('onScopesLacking', challenge)
      const { scope } = challenge
      if (scope !== undefined) await logins.lacks(shown(), scope)
    },
    agent: () => shown().agent,
  }
}

interface Held {
  readonly owner: LoginOwner
  login: KeptLogin | undefined
  readonly signOuts: number
}

type HeldLogin = Held & { login: KeptLogin }

function hasLogin(held: Held): held is HeldLogin {
  return held.login !== undefined
}

type LoginNow = KeptLogin | 'replaced' | 'forgotten'

function forgotten({ upstream }: LoginOwner): LoginOver {
  return new LoginOver(`The login at "${upstream}" was forgotten meanwhile, and nothing more is sent with it.`)
}

function replaced({ upstream }: LoginOwner): LoginOver {
  return new LoginOver(`A newer login at "${upstream}" has replaced this one, which is no longer valid.`)
}

/** What servers require, as far as this process knows. */
interface Demands {
  /** The server refused access. Replaces what it said before. */
  onDenied(owner: LoginOwner, challenge: Challenge): void
  /** The server requires more scopes. Later answers do not take that back. */
  onScopesLacking(owner: LoginOwner, challenge: Challenge): void
  of(owner: LoginOwner): Demand
  forget(owner: LoginOwner): void
  forgetAll(upstream: string): void
}

interface Demand {
  readonly challenge?: Challenge | undefined
  readonly lacked?: string | undefined
}

export function createDemands(): Demands {
  const known = new Map<string, Demand>()
  const of = (owner: LoginOwner) => known.get(keyOf(owner)) ?? {}
  return {
    onDenied: (owner, challenge) => void known.set(keyOf(owner), { ...of(owner), challenge }),
    onScopesLacking(owner, { scope, resourceMetadata }) {
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

export function keyOf({ upstream, agent }: LoginOwner): string {
  return `${upstream}:${agent ?? ''}`
}

/** Like `then`, but synchronous where the value is known, as for nearly every request. */
export function after<T, U>(value: T | Promise<T>, then: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(then) : then(value)
}
