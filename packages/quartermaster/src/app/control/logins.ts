import {
  keyBeforeLogin,
  type LoginAttempt,
  type UpstreamAuth,
  type Upstreams,
  wrongEntry,
} from '../../adapters/mcp-upstream/index.ts'
import {
  AppError,
  type Control,
  type HttpUpstream,
  type LoginFacts,
  type UpstreamConfig,
} from '../../contracts/index.ts'
import type { Clock, Ids } from '../../core/kernel/index.ts'
import type { LoginOwner, UpstreamLogin } from '../../core/upstreams/index.ts'

/** The part of the control that signs people in at upstreams. */
type LoginControl = Pick<Control, 'beginLogin' | 'finishLogin' | 'logout'>

interface Begun {
  readonly owner: LoginOwner
  readonly attempt: LoginAttempt
  /** Resolves when the login is in use. */
  readonly done: Promise<LoginFacts>
}

/** Each attempt has a port open. */
const MOST_ATTEMPTS = 16

/** Keeps login attempts until the person's browser has come back. */
export function createLogins({
  auth,
  clock,
  ids,
  upstream,
  expectAgent,
  onLoginChanged,
}: {
  auth(): Promise<UpstreamAuth>
  readonly clock: Clock
  readonly ids: Ids
  /** The configuration of an upstream. */
  upstream(name: string): UpstreamConfig | undefined
  /** Throws when there is no agent of this name. */
  expectAgent(name: string): Promise<unknown>
  /** Reconnects the upstream for the agents concerned, with the current credentials. */
  onLoginChanged(owner: LoginOwner): Promise<void>
}): LoginControl {
  const begun = new Map<string, Begun>()

  function find(name: string): HttpUpstream {
    const found = upstream(name)
    if (!found) throw unknown(name)
    // A wrong entry does not say how the upstream is reached.
    if (found.wrong !== undefined) throw wrongEntry(name, found.wrong)
    if ('url' in found) return found
    throw new AppError('INPUT_INVALID', `"${name}" is a program, and takes what it needs to sign in by "env".`)
  }

  /** A login that begins again cancels the earlier attempt. */
  function makeRoom(owner: LoginOwner): void {
    const earlier = [...begun].filter(([, { owner: other }]) => isSame(owner, other))
    const oldest = [...begun].slice(0, Math.max(0, begun.size - earlier.length - MOST_ATTEMPTS + 1))
    const displace = (reason: string) => (found: [string, Begun]) => {
      const [id, { attempt }] = found
      begun.delete(id)
      attempt.displace(reason)
    }
    earlier.forEach(displace('another attempt to sign in there was begun meanwhile.'))
    oldest.forEach(displace(`${MOST_ATTEMPTS} others were begun meanwhile, which are the most at a time.`))
  }

  /** Applies the login also if the command that began it has ended when the browser comes back. */
  async function applyLogin({ owner, attempt }: Omit<Begun, 'done'>): Promise<LoginFacts> {
    const login = await attempt.ended
    await onLoginChanged(owner).catch(() => {
      // The login is stored; an upstream that does not start reports that itself.
    })
    return factsOf(owner, login)
  }

  return {
    async beginLogin(owner) {
      const found = find(owner.upstream)
      if (owner.agent !== undefined) await expectAgent(owner.agent)
      refuseUnused(owner, found)
      const isWanted = () => {
        const now = upstream(owner.upstream)
        return now !== undefined && 'url' in now && now.url === found.url
      }
      const attempt = await (await auth()).begin(owner, found, { isWanted })
      makeRoom(owner)
      const id = ids.next('login')
      const done = applyLogin({ owner, attempt })
      begun.set(id, { owner, attempt, done })
      done.catch(() => {}).finally(() => clock.after(KEPT_MS, () => begun.delete(id)))
      return { attempt: id, url: attempt.url }
    },
    async finishLogin({ attempt: id, redirectUrl }, { signal } = {}) {
      const one = begun.get(id)
      if (!one)
        throw new AppError('NAME_UNKNOWN', 'That attempt to sign in is over. Begin another: quartermaster login NAME')
      const { isTaken, take, cancel } = one.attempt
      signal?.addEventListener('abort', cancel, { once: true })
      if (signal?.aborted) cancel()
      try {
        // The browser may have come back before the address was typed in.
        if (redirectUrl !== undefined && !isTaken()) await take(redirectUrl)
        return await one.done
      } finally {
        signal?.removeEventListener('abort', cancel)
      }
    },
    async logout(owner) {
      // A login whose entry was removed can still be deleted.
      const isThere = upstream(owner.upstream) !== undefined
      if (isThere) find(owner.upstream)
      const wasSignedIn = await (await auth()).forget(owner)
      if (!isThere && !wasSignedIn) throw unknown(owner.upstream, ', and no such login is kept')
      if (isThere && wasSignedIn) await onLoginChanged(owner)
      return { wasSignedIn }
    },
  }
}

function unknown(name: string, more = ''): AppError {
  return new AppError('NAME_UNKNOWN', `No upstream is named "${name}"${more}. See them: quartermaster upstreams`)
}

/** Refuses a login that would be of no use. */
function refuseUnused({ upstream, agent }: LoginOwner, config: HttpUpstream): void {
  const setting = keyBeforeLogin(config, agent)
  if (setting === undefined) return
  const message = `"${upstream}" is sent the key in "${setting}" of its entry, and no login. Take that out first.`
  throw new AppError('INPUT_INVALID', message)
}

/** Reconnects the upstreams at which a person has signed in or out on another node. */
export function createLoginRecall(
  auth: () => Promise<UpstreamAuth>,
  upstreams: Pick<Upstreams, 'statuses' | 'loginChanged'>,
): () => Promise<void> {
  /** Upstreams that are still to be reconnected, where that failed before. */
  const changed = new Set<string>()

  async function reconnect(upstream: string): Promise<void> {
    await upstreams.loginChanged({ upstream })
    changed.delete(upstream)
  }

  return async () => {
    const names = new Set(upstreams.statuses().map(({ name }) => name))
    // Without upstreams no logins were read.
    if (names.size === 0) return
    for (const name of await (await auth()).recall()) changed.add(name)
    for (const name of changed) if (!names.has(name)) changed.delete(name)
    await Promise.all([...changed].map(reconnect))
  }
}

/** How long the end of an attempt can be asked for. */
const KEPT_MS = 60_000

function isSame(a: LoginOwner, b: LoginOwner): boolean {
  return a.upstream === b.upstream && a.agent === b.agent
}

function factsOf(
  { upstream, agent }: LoginOwner,
  { issuer, scope, expiresAt, refreshToken }: UpstreamLogin,
): LoginFacts {
  return {
    upstream,
    ...(agent === undefined ? {} : { agent }),
    issuer,
    ...(scope === undefined ? {} : { scope }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    renewable: refreshToken !== undefined,
  }
}
