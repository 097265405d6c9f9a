import { z } from 'zod'
import type { Clock, Ids } from '../kernel/index.ts'
import type { StorageAccess } from '../operations/index.ts'
import { insert, remove, type SealedPlace, update } from '../store/index.ts'

/** What a person who signed in at an upstream left behind. */
export const UpstreamLogin = z.object({
  /** The server that the tokens are for. They are shown to no other. */
  url: z.string(),
  /** Who issued them. Nothing of it is shown to another issuer. */
  issuer: z.string(),
  /** What the issuer says of itself, as it was then. */
  authorizationServer: z.object({ url: z.string(), metadata: z.record(z.string(), z.unknown()).optional() }),
  /** As which client we are known there. */
  client: z.object({ client_id: z.string() }).loose(),
  /** What the server is called there. */
  resource: z.string().optional(),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** When the access token was issued. */
  issuedAt: z.number().optional(),
  expiresAt: z.number().optional(),
  scope: z.string().optional(),
  /** Rights that it turned out to lack. The next login asks for them beside those it has. */
  wanted: z.string().optional(),
})
export type UpstreamLogin = z.infer<typeof UpstreamLogin>

/** One that is in the store. */
export type KeptLogin = UpstreamLogin & {
  /** The same for as long as it is only renewed. A new login, of the same person or another, has another one. */
  readonly id: string
}

/** Whose login: an upstream's, or one agent's at it. */
export interface LoginOwner {
  readonly upstream: string
  readonly agent?: string | undefined
}

/** What people left behind when they signed in, sealed in the store. */
export interface UpstreamCredentialStore {
  /** At once where it was read before: it is asked for with every request. */
  load(owner: LoginOwner): Promise<KeptLogin | undefined> | KeptLogin | undefined
  /** As it is in the store, whatever was read before: another process may have written it since. */
  reread(owner: LoginOwner): Promise<KeptLogin | undefined>
  /** Other processes may have written and forgotten some. Answers at which upstreams a login was added or removed. */
  recall(): Promise<string[]>
  save(owner: LoginOwner, login: UpstreamLogin): Promise<void>
  /**
   * Puts a login in the place of one that is still there. Answers whether it was: what was forgotten stays so. What is wanted
   * beside it is still wanted.
   */
  replace(
    owner: LoginOwner,
    logins: { readonly before: UpstreamLogin; readonly after: UpstreamLogin },
  ): Promise<boolean>
  /** Notes the rights that the login at this address turned out to lack. Written only when they are new. */
  lacks(owner: LoginOwner, wanted: { readonly url: string; readonly scope: string }): Promise<void>
  /** Agents that have a login of their own at an upstream. */
  agentsAt(upstream: string): Promise<string[]>
  /** How many there are at each upstream, its agents' own included, whether it is configured or not. */
  amounts(): Promise<ReadonlyMap<string, number>>
  /** Answers whether there was one. */
  forget(owner: LoginOwner): Promise<boolean>
  /** Those of an upstream, its agents' own included. */
  forgetAll(upstream: string): Promise<void>
}

export interface UpstreamCredentialsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
}

/** What was read of a login, or will have been. */
type Known = Promise<KeptLogin | undefined> | { readonly login: KeptLogin | undefined }

/** Reads each login once. */
export function createUpstreamCredentials({ storage, clock, ids }: UpstreamCredentialsDeps): UpstreamCredentialStore {
  const known = new Map<string, Known>()
  /** The rows of those that upstreams here were told of, by their names. */
  const present = new Map<string, string>()
  /** Upstreams of which it is known who was signed in when that was first asked. */
  const begunWith = new Set<string>()

  async function row({ name, workspace }: Place) {
    const { store } = await storage.open()
    const [found] = await store.find('secrets', { where: { workspace, name }, limit: 1 })
    return found
  }

  async function rows(isWanted: (name: string) => boolean) {
    const { store } = await storage.open()
    const found: Kept[] = []
    for (let after: [string] | undefined; ; ) {
      const query = { columns: ['id', 'name', 'workspace'], order: { by: ['id'] }, limit: PAGE } as const
      const page = await store.find('secrets', after ? { ...query, after } : query)
      found.push(...page.filter(({ name }) => isWanted(name)))
      const last = page.at(-1)
      if (!last || page.length < PAGE) return found
      after = [last.id]
    }
  }

  async function rowsAt(upstream: string) {
    const isWanted = (name: string) => isAt(upstream, name)
    const found = await rows(isWanted)
    noteAll(found, isWanted)
    return found
  }

  function noteAll(found: readonly Kept[], isAmong: (name: string) => boolean): void {
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

  /** What could not be read is tried again; what was saved or forgotten meanwhile is newer. */
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

  /** What is written of a login. */
  async function columns(id: string, login: UpstreamLogin) {
    const { sealer } = await storage.open()
    // Its row alone says which one it is.
    const sealed = sealer.seal(JSON.stringify(UpstreamLogin.parse(login)), sealedPlace(id))
    return { sealed, purpose: `A login at ${login.issuer}`.slice(0, 255), updatedAt: Math.round(clock.now()) }
  }

  /** In a row of its own, by which other processes notice a new login. Answers which. */
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
    const place = placeOf(owner)
    const found = known.get(place.name) ?? readOnce(place)
    return found instanceof Promise ? found : found.login
  }

  /** Writes what becomes of a login that is there, if anything does. Answers whether it was written. */
  async function change(
    owner: LoginOwner,
    next: (present: UpstreamLogin) => UpstreamLogin | undefined,
  ): Promise<boolean> {
    const place = placeOf(owner)
    const { store } = await storage.open()
    // Where another process has written meanwhile, its row is used: a renewed token is not to be lost.
    for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts++) {
      const found = await row(place)
      const present = await open(found)
      const after = present && next(present)
      if (!found || !after) return false
      const { id, sealed } = found
      // Sealing the same twice gives two texts, so this is the very one that was looked at.
      const outcome = await store.commit([update('secrets', { where: { id, sealed }, set: await columns(id, after) })])
      known.delete(place.name)
      if (outcome.committed) return true
    }
    return false
  }

  return {
    load,
    reread: owner => readOnce(placeOf(owner)),
    async recall() {
      const before = new Map(present)
      const found = await rows(isLogin)
      known.clear()
      noteAll(found, isLogin)
      const gone = [...before.keys()].filter(name => !present.has(name))
      const come = [...present].filter(([name, id]) => before.get(name) !== id).map(([name]) => name)
      return [...new Set([...gone, ...come].map(upstreamOf))]
    },
    async save(owner, login) {
      const place = placeOf(owner)
      const id = await write(place, login)
      present.set(place.name, id)
      known.set(place.name, { login: { ...login, id } })
    },
    replace: (owner, { before, after }) =>
      change(owner, ({ refreshToken, wanted }) =>
        refreshToken === before.refreshToken ? { ...after, wanted } : undefined,
      ),
    async lacks(owner, { url, scope }) {
      const wanting = (login: UpstreamLogin | undefined) => {
        const wanted = wantedWith(login?.wanted, scope)
        return login?.url === url && wanted !== login.wanted ? { ...login, wanted } : undefined
      }
      // Nearly always it was noted before.
      if (wanting(await load(owner))) await change(owner, wanting)
    },
    async agentsAt(upstream) {
      const shared = placeOf({ upstream }).name
      const all = await rows(name => isAt(upstream, name))
      // A login made in another process since is still to be reported.
      if (!begunWith.has(upstream)) noteAll(all, name => isAt(upstream, name))
      begunWith.add(upstream)
      return all.filter(({ name }) => name !== shared).map(({ workspace }) => workspace)
    },
    async amounts() {
      return amounts((await rows(isLogin)).map(({ name }) => upstreamOf(name)))
    },
    async forget(owner) {
      const { name, workspace } = placeOf(owner)
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
      noteAll([], name => isAt(upstream, name))
    },
  }
}

/** No processes write a login this often at the same moment. */
const MOST_ATTEMPTS = 5

/** As many as are read at a time. */
const PAGE = 1_000

interface Place {
  readonly workspace: string
  readonly name: string
}

interface Kept extends Place {
  readonly id: string
}

/** Names have no colon, so no two owners share a place. */
function placeOf({ upstream, agent }: LoginOwner): Place {
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
  const shared = placeOf({ upstream }).name
  return name === shared || name.startsWith(`${shared}:`)
}

function sealedPlace(id: string): SealedPlace {
  return { table: 'secrets', id, column: 'sealed' }
}

/** Characters of the rights that are noted for the next login: a server may name others with every request. */
export const MOST_WANTED = 2_000

/** The rights that were wanted before and those that are wanted now, as OAuth writes them; only the former if it is too much. */
export function wantedWith(before: string | undefined, more: string | undefined): string | undefined {
  const rights = `${before ?? ''} ${more ?? ''}`.split(' ').filter(right => right !== '')
  const all = [...new Set(rights)].join(' ') || undefined
  return all !== undefined && all.length > MOST_WANTED ? before : all
}

/** How often each of them is there. */
export function amounts(names: Iterable<string>): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const name of names) found.set(name, (found.get(name) ?? 0) + 1)
  return found
}
