import type { KeptLogin, LoginOwner } from '../../../core/upstreams/index.ts'
import { type Challenge, type HttpAuth, LoginOver } from '../http/http-auth.ts'
import { after } from './at-once.ts'
import type { Demands } from './demands.ts'

/** What is shown to the server, and whose it is. */
export interface InUse {
  readonly owner: LoginOwner
  readonly login: KeptLogin | undefined
}

/** The logins at the upstream of the channel. */
export interface ChannelLogins {
  /** With which a channel is opened now. */
  inUse(): InUse | Promise<InUse>
  /** As it is kept now. */
  kept(owner: LoginOwner): Promise<KeptLogin | undefined> | KeptLogin | undefined
  /** Renewed where its end is near, and otherwise at once as it is. `undefined`: it is over, and only a person can help. */
  inTime(owner: LoginOwner, login: KeptLogin): Promise<KeptLogin | undefined> | KeptLogin
  renew(owner: LoginOwner, login: KeptLogin): Promise<KeptLogin | undefined>
  /** Notes rights that it turned out to lack. */
  lacks(owner: LoginOwner, scope: string): Promise<void>
  /** How often somebody has signed out. */
  signOuts(owner: LoginOwner): number
}

export interface ChannelLoginDeps {
  readonly owner: LoginOwner
  readonly logins: ChannelLogins
  readonly demands: Demands
  /** Told of each login before it is used. */
  onLogin(login: KeptLogin): void
}

/**
 * The login of one channel: the one that it was opened with, to its end. Servers tie sessions to whoever has begun them, and what
 * one person has begun, and answers, is not to go out in the name of another. One that was replaced is used for as long as the
 * server takes it, and not renewed: its refresh token is nobody's any more. One that was forgotten is not used at all.
 */
export function createChannelLogin({ owner, logins, demands, onLogin }: ChannelLoginDeps): HttpAuth {
  let held: Held | undefined

  function hold({ owner, login }: InUse): Held {
    held ??= { owner, login, signOuts: logins.signOuts(owner) }
    return held
  }

  /** It was renewed, here or by another process. */
  function keep(holding: HeldLogin, login: KeptLogin): string {
    onLogin(login)
    holding.login = login
    return login.accessToken
  }

  function standing({ owner, login, signOuts }: HeldLogin): LoginNow | Promise<LoginNow> {
    return after(logins.kept(owner), kept => {
      if (!kept || logins.signOuts(owner) !== signOuts) return 'forgotten'
      return kept.id === login.id ? kept : 'replaced'
    })
  }

  /** Of the first request: nothing binds it yet. */
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
   * One that is there is shown though nobody renews it, and the server says no. Without it the request would go out as somebody
   * else: as nobody, or by the key of all.
   */
  function unrenewedToken(before: KeptLogin): string | undefined | Promise<string | undefined> {
    return after(logins.inUse(), used =>
      used.login?.id === before.id ? hold(used).login?.accessToken : firstToken(used),
    )
  }

  function nextToken(holding: HeldLogin): string | Promise<string> {
    return after(standing(holding), now => {
      if (typeof now === 'string') return lastToken(holding, now)
      const token = keep(holding, now)
      const inTime = logins.inTime(holding.owner, now)
      return inTime instanceof Promise ? inTime.then(renewed => renewedToken(holding, renewed)) : token
    })
  }

  function renewedToken(holding: HeldLogin, renewed: KeptLogin | undefined): string | Promise<string> {
    if (renewed?.id === holding.login.id) return keep(holding, renewed)
    return after(standing(holding), now => lastToken(holding, now))
  }

  /** Whether one that cannot be renewed is still taken is the server's to say. */
  function lastToken({ owner, login }: HeldLogin, now: LoginNow): string | Promise<string> {
    return now === 'forgotten' ? Promise.reject(forgotten(owner)) : login.accessToken
  }

  async function renew(holding: HeldLogin, refused: string | undefined, challenge: Challenge) {
    const { owner } = holding
    const now = await standing(holding)
    if (now === 'forgotten') throw forgotten(owner)
    if (now === 'replaced') throw replaced(owner)
    note('turnedAway', challenge)
    // Somebody else has seen to it meanwhile.
    if (keep(holding, now) !== refused) return 'renewed'
    const renewed = await logins.renew(owner, now)
    if (!renewed) return 'signIn'
    if (renewed.id !== now.id) throw replaced(owner)
    keep(holding, renewed)
    return 'renewed'
  }

  const shown = () => held?.owner ?? owner

  function note(what: 'turnedAway' | 'lacking', challenge: Challenge): void {
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
      note('turnedAway', challenge)
      return 'signIn'
    },
    async lacking(challenge) {
      // What one lacked that is not there any more says nothing of the one in its place.
      if (held && hasLogin(held) && typeof (await standing(held)) === 'string') return
      note('lacking', challenge)
      const { scope } = challenge
      if (scope !== undefined) await logins.lacks(shown(), scope)
    },
    agent: () => shown().agent,
  }
}

/** What a channel was opened with. */
interface Held {
  readonly owner: LoginOwner
  /** As it was last seen. */
  login: KeptLogin | undefined
  /** How often somebody had signed out before. */
  readonly signOuts: number
}

type HeldLogin = Held & { login: KeptLogin }

function hasLogin(held: Held): held is HeldLogin {
  return held.login !== undefined
}

/** As it is kept now, if it is. */
type LoginNow = KeptLogin | 'replaced' | 'forgotten'

function forgotten({ upstream }: LoginOwner): LoginOver {
  return new LoginOver(`The login at "${upstream}" was forgotten meanwhile, and nothing more is sent with it.`)
}

function replaced({ upstream }: LoginOwner): LoginOver {
  return new LoginOver(
    `Somebody has signed in anew at "${upstream}" meanwhile, and the login before is not taken any more.`,
  )
}
