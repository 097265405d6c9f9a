import { z } from 'zod'
import type { Clock, Ids } from '../kernel/index.ts'
import type { StorageAccess } from '../operations/index.ts'
import { allRows, insert, remove, type SealContext, update } from '../store/index.ts'

/** The tokens of a person who signed in at an upstream. */
export const UpstreamLogin = z.object({
  /** The server that the tokens are for; no other server gets them. */
  url: z.string(),
  /** The issuer of the tokens; no other issuer gets anything of the login. */
  issuer: z.string(),
  /** The issuer's metadata at the time of the login. */
  authorizationServer: z.object({ url: z.string(), metadata: z.record(z.string(), z.unknown()).optional() }),
  /** Our client registration at the issuer. */
  client: z.object({ client_id: z.string() }).loose(),
  /** The server's resource identifier. */
  resource: z.string().optional(),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  issuedAt: z.number().optional(),
  expiresAt: z.number().optional(),
  scope: z.string().optional(),
  /** Scopes that the token turned out to lack. The next login asks for them as well. */
  wanted: z.string().optional(),
})
export type UpstreamLogin = z.infer<typeof UpstreamLogin>

/** A login in the store. */
export type KeptLogin = UpstreamLogin & {
  /** Stays the same through renewals; a new login gets a new id. */
  readonly id: string
}

/** An upstream, or one agent at an upstream. */
export interface LoginOwner {
  readonly upstream: string
  readonly agent?: string | undefined
}

/** Sealed logins in the store. */
export interface UpstreamCredentialStore {
  /** Synchronous once it was read, because every request asks for it. */
  load(owner: LoginOwner): Promise<KeptLogin | undefined> | KeptLogin | undefined
  /** As the store has it now: another process may have written it. */
  reread(owner: LoginOwner): Promise<KeptLogin | undefined>
  /** Notices what other processes wrote and removed. Returns the upstreams where a login was added or removed. */
  recall(): Promise<string[]>
  save(owner: LoginOwner, login: UpstreamLogin): Promise<void>
  /**
   * Replaces a login that is still there; returns whether it was, so that a removed login stays removed. Keeps the scopes that
   * it lacks.
   */
  replace(
    owner: LoginOwner,
    logins: { readonly before: UpstreamLogin; readonly after: UpstreamLogin },
  ): Promise<boolean>
  /** Records scopes that the login at this address lacks; writes only new ones. */
  recordMissingScopes(owner: LoginOwner, wanted: { readonly url: string; readonly scope: string }): Promise<void>
  /** Agents with a login of their own at an upstream. */
  agentsAt(upstream: string): Promise<string[]>
  /** Logins by upstream, those of agents included, whether the upstream is configured or not. */
  counts(): Promise<ReadonlyMap<string, number>>
  /** Returns whether there was one. */
  forget(owner: LoginOwner): Promise<boolean>
  /** Removes all logins at an upstream, those of agents included. */
  forgetAll(upstream: string): Promise<void>
}

interface UpstreamCredentialsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
}

/** A login, or the read in progress. */
type Known = Promise<KeptLogin | undefined> | { readonly login: KeptLogin | undefined }

export function createUpstreamCredentials({ storage, clock, ids }: UpstreamCredentialsDeps): UpstreamCredentialStore {
  const known = new Map<string, Known>()
  /** Row ids by name, of logins whose upstreams were notified. */
  const present = new Map<string, string>()
  /** Upstreams that have reported their logins at least once. */
  const reportedUpstreams = new Set<string>()

  async function row({ name, workspace }: Place) {
    const { store } = await storage.open()
    const [found] = await store.find('secrets', { where: { workspace, name }, limit: 1 })
    return found
  }

  async function rows(isWanted: (name: string) => boolean) {
    const { store } = await storage.open()
    const found = await allRows(store, 'secrets', {}, ['id', 'name', 'workspace'])
    return found.filter(({ name }) => isWanted(name))
  }

  async function rowsAt(upstream: string) {
    const isWanted = (name: string) => isAt(upstream, name)
    const found = await rows(isWanted)
    replacePresent(found, isWanted)
    return found
  }

  function replacePresent(found: readonly Kept[], isAmong: (name: string) => boolean): void {
    for (const name of present.keys()) if (isAmong(name)) present.delete(name)
    for (const { name, id } of found) present.set(name, id)
  }

  async function open(found: Awaited<ReturnType<typeof row>>): Promise<KeptLogin | undefined> {
    if (!found || found.sealed === null) return undefined
    const { sealer } = await storage.open()
    const login = UpstreamLogin.parse(JSON.parse(sealer.open(found.sealed, sealedPlace(found.id))))
    return { ...login, id: found.id }
  }

  const read = async (place: Place) => open(await row(place))

  /** A failed read is repeated; a login saved or removed meanwhile is newer. */
  function readOnce(place: Place): Promise<KeptLogin | undefined> {
    const { name } = place
    const reading = read(place)
    known.set(name, reading)
    reading.then(
      login => known.get(name) === reading && known.set(name, { login }),
      () => known.get(name) === reading && known.delete(name),
    )
    return reading
  }

  async function columns(id: string, login: UpstreamLogin) {
    const { sealer } = await storage.open()
    // The id is in its own column.
    const sealed = sealer.seal(JSON.stringify(UpstreamLogin.parse(login)), sealedPlace(id))
    return { sealed, purpose: `A login at ${login.issuer}`.slice(0, 255), updatedAt: Math.round(clock.now()) }
  }

  /** Returns the id of the new row: other processes notice a new login by it. */
  async function write(place: Place, login: UpstreamLogin): Promise<string> {
    const { store } = await storage.open()
    const id = ids.next('secret')
    const set = await columns(id, login)
    await store.commit([
      remove('secrets', { where: { ...place }, rows: 'any' }),
      insert('secrets', { id, ...place, keptIn: 'store', createdAt: set.updatedAt, ...set }),
    ])
    return id
  }

  function load(owner: LoginOwner): ReturnType<UpstreamCredentialStore['load']> {
    const place = rowKeyOf(owner)
    const found = known.get(place.name) ?? readOnce(place)
    return found instanceof Promise ? found : found.login
  }

  /** Changes a login that is there, if `next` changes anything. Returns whether it was written. */
  async function change(
    owner: LoginOwner,
    next: (present: UpstreamLogin) => UpstreamLogin | undefined,
  ): Promise<boolean> {
    const place = rowKeyOf(owner)
    const { store } = await storage.open()
    // If another process wrote meanwhile, starts again from its row: a renewed token must not be lost.
    for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts++) {
      const found = await row(place)
      const present = await open(found)
      const after = present && next(present)
      if (!found || !after) return false
      const { id, sealed } = found
      // Sealing twice gives different texts, so this guards the very row that was read.
      const outcome = await store.commit([update('secrets', { where: { id, sealed }, set: await columns(id, after) })])
      known.delete(place.name)
      if (outcome.committed) return true
    }
    return false
  }

  return {
    load,
    reread: owner => readOnce(rowKeyOf(owner)),
    async recall() {
      const before = new Map(present)
      const found = await rows(isLogin)
      known.clear()
      replacePresent(found, isLogin)
      const gone = [...before.keys()].filter(name => !present.has(name))
      const come = [...present].filter(([name, id]) => before.get(name) !== id).map(([name]) => name)
      return [...new Set([...gone, ...come].map(upstreamOf))]
    },
    async save(owner, login) {
      const place = rowKeyOf(owner)
      const id = await write(place, login)
      present.set(place.name, id)
      known.set(place.name, { login: { ...login, id } })
    },
    replace: (owner, { before, after }) =>
      change(owner, ({ refreshToken, wanted }) =>
        refreshToken === before.refreshToken ? { ...after, wanted } : undefined,
      ),
    async recordMissingScopes(owner, { url, scope }) {
      const wanting = (login: UpstreamLogin | undefined) => {
        const wanted = wantedWith(login?.wanted, scope)
        return login?.url === url && wanted !== login.wanted ? { ...login, wanted } : undefined
      }
      // Nearly always it is recorded already.
      if (wanting(await load(owner))) await change(owner, wanting)
    },
    async agentsAt(upstream) {
      const shared = rowKeyOf({ upstream }).name
      const all = await rows(name => isAt(upstream, name))
      // A login that another process has made since is still to be reported.
      if (!reportedUpstreams.has(upstream)) replacePresent(all, name => isAt(upstream, name))
      reportedUpstreams.add(upstream)
      return all.filter(({ name }) => name !== shared).map(({ workspace }) => workspace)
    },
    async counts() {
      return countNames((await rows(isLogin)).map(({ name }) => upstreamOf(name)))
    },
    async forget(owner) {
      const { name, workspace } = rowKeyOf(owner)
      const { store } = await storage.open()
      const outcome = await store.commit([remove('secrets', { where: { workspace, name }, rows: 'any' })])
      known.delete(name)
      present.delete(name)
      return outcome.committed && outcome.rows[0] !== 0
    },
    async forgetAll(upstream) {
      const ids = (await rowsAt(upstream)).map(({ id }) => id)
      const { store } = await storage.open()
      if (ids.length > 0) await store.commit([remove('secrets', { where: { id: { in: ids } }, rows: 'any' })])
      for (const name of known.keys()) if (isAt(upstream, name)) known.delete(name)
      replacePresent([], name => isAt(upstream, name))
    },
  }
}

/** No processes write one login this often at the same moment. */
const MOST_ATTEMPTS = 5

interface Place {
  readonly workspace: string
  readonly name: string
}

interface Kept extends Place {
  readonly id: string
}

/** Names have no colon, so no two owners share a row. */
function rowKeyOf({ upstream, agent }: LoginOwner): Place {
  return agent === undefined
    ? { workspace: 'default', name: `login:${upstream}` }
    : { workspace: agent, name: `login:${upstream}:${agent}` }
}

function isLogin(name: string): boolean {
  return name.startsWith('login:')
}

function upstreamOf(name: string): string {
  return name.split(':')[1] ?? name
}

function isAt(upstream: string, name: string): boolean {
  const shared = rowKeyOf({ upstream }).name
  return name === shared || name.startsWith(`${shared}:`)
}

function sealedPlace(id: string): SealContext {
  return { table: 'secrets', id, column: 'sealed' }
}

/** A server may name new scopes with every request. */
export const MOST_WANTED = 2_000

/** The scopes lacked before and now, in OAuth's form; only the former if both are too long. */
export function wantedWith(before: string | undefined, more: string | undefined): string | undefined {
  const rights = `${before ?? ''} ${more ?? ''}`.split(' ').filter(right => right !== '')
  const all = [...new Set(rights)].join(' ') || undefined
  return all !== undefined && all.length > MOST_WANTED ? before : all
}

/** Counts equal names. */
export function countNames(names: Iterable<string>): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const name of names) found.set(name, (found.get(name) ?? 0) + 1)
  return found
}
