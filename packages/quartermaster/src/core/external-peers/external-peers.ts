import {
  AppError,
  EXTERNAL_PEER_CAPACITY,
  type EXTERNAL_PEER_ROUTES,
  type ExternalPeerFacts,
  type ExternalPeerRow,
  messageOf,
  type NewExternalPeer,
  type OutgoingTaskRow,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock, createCancellation, createRounds, type Log } from '../kernel/index.ts'
import { type Handlers, type Organisation, refusedDraft } from '../organisation/index.ts'
import { separateSecrets } from '../secrets/index.ts'
import { insert, pagesOf, type Store, update, type Write } from '../store/index.ts'
import { type Credential, type RemoteAgents, RemoteFailure, type RemotePlace, type SeenCard } from './ports.ts'
import {
  externalPeerFacts,
  noSuchSecret,
  plainLine,
  refusedCard,
  sanitizeFacts,
  unknownExternalPeer,
} from './wording.ts'

/** The remote A2A agents that workspaces give tasks to. Each has a workspace, so that one rule decides who reaches it. */
export interface ExternalPeers {
  list(organisation: string): Promise<ExternalPeerFacts[]>
  /** By id or name. Throws `NAME_UNKNOWN`. */
  show(organisation: string, idOrName: string): Promise<ExternalPeerFacts>
  /** Throws `INPUT_INVALID` for what is no A2A 1.0 card, and `DEPENDENCY_UNAVAILABLE` if no card can be fetched. */
  add(organisation: string, request: NewExternalPeer): Promise<ExternalPeerFacts>
  /** Checks its card now. */
  refresh(organisation: string, idOrName: string): Promise<ExternalPeerFacts>
  remove(organisation: string, idOrName: string): Promise<ExternalPeerFacts>
  /** Where tasks are sent; `undefined` for an unknown peer. Throws `RemoteFailure` if its secret is missing. */
  addressOf(id: string): Promise<ReachedPeer | undefined>
  /** It could not be reached: its card is checked soon. */
  checkSoon(id: string): Promise<void>
  /** The state of the peers of all organisations: reachable, or why not. */
  status(): Promise<PeersStatus>
  /** All active peers. */
  active(): Promise<readonly ActivePeer[]>
  /** Starts regular checks of the cards. */
  start(): void
  stop(): Promise<void>
}

export interface ReachedPeer {
  readonly place: RemotePlace
  readonly streaming: boolean
}

interface ExternalPeersDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly organisation: Pick<Organisation, 'workspaces' | 'presence' | 'factsOf'>
  readonly remote: RemoteAgents
  readonly secrets: { get(name: string): string | undefined }
}

const CHECK_EVERY_MS = 600_000
/** A failing peer is not checked more often than this, however much is to be sent. */
const CHECK_AGAIN_MS = 30_000
const ROUND_MS = 15_000
const PAGE = 200
const MOST_ERROR = 500

export function createExternalPeers(deps: ExternalPeersDeps): ExternalPeers {
  const { store, clock, log, organisation: org, remote, secrets } = deps
  const { workspaces } = org
  const stopping = createCancellation()
  const now = () => Math.round(clock.now())
  let isStarted = false

  function credentialOf({ secret, header }: Pick<ExternalPeerRow, 'secret' | 'header'>): Credential | undefined {
    if (secret === null) return undefined
    const value = secrets.get(secret)
    if (value === undefined) throw noSuchSecret(secret)
    return header === null ? { header: 'authorization', value: `Bearer ${value}` } : { header, value }
  }

  async function pick(organisation: string, idOrName: string) {
    const workspace = await workspaces.seek(organisation, idOrName)
    const row = workspace && (await store.get('externalpeers', workspace.id))
    if (!workspace || !row || workspace.origin !== 'external') throw unknownExternalPeer(idOrName)
    return { workspace, row }
  }

  async function shown(row: ExternalPeerRow): Promise<ExternalPeerFacts> {
    const workspace = await workspaces.find(row.organisation, row.id)
    if (!workspace) throw unknownExternalPeer(row.workspace)
    return externalPeerFacts(row, workspace, await org.factsOf(workspace))
  }

  async function add(organisation: string, request: NewExternalPeer): Promise<ExternalPeerFacts> {
    const { name, secret = null, header = null, hosts = [], capacity = EXTERNAL_PEER_CAPACITY.usual } = request
    const cardUrl = cardAddress(request.cardUrl)
    const own = { secret, header, hosts, cardUrl }
    const before = await workspaces.named(organisation, name)
    if (before && (before.origin !== 'external' || before.status === 'active'))
      throw new AppError('NAME_TAKEN', `A workspace is named "${name}" already. Choose another name.`)
    const credential = credentialOf(own)
    const card = await remote.card({ ...own, credential }, stopping.signal).catch(error => {
      throw refusedCard(cardUrl, error)
    })
    const draft = await workspaces.draft(organisation, request, 'external')
    const kept = before ? { id: before.id, createdAt: before.createdAt } : {}
    const workspace: WorkspaceRow = { ...draft.row, ...kept, capacity, delivery: 'push', ...cardFacts(card, now()) }
    const row = { ...rowOf(workspace, own, card), checkedAt: now(), nextCheckAt: now() + CHECK_EVERY_MS }
    const outcome = await store.commit([...placementWrites(draft.writes, workspace, before), ...(await rowWrites(row))])
    if (!outcome.committed) throw refusedDraft(workspace, outcome.failed.guard)
    workspaces.tell(workspace)
    return shown((await store.get('externalpeers', workspace.id)) ?? row)
  }

  /** One row per peer, reused if it existed before. */
  async function rowWrites(row: ExternalPeerRow): Promise<Write[]> {
    const known = await store.get('externalpeers', row.id)
    if (!known) return [insert('externalpeers', row, 'peer.new')]
    const { id, version } = known
    return [
      update('externalpeers', { where: { id, version }, set: { ...row, version: version + 1 }, guard: 'peer.version' }),
    ]
  }

  /** Claims a check, so that only one process makes it, and not again for a while. */
  async function claimCheck(row: ExternalPeerRow): Promise<ExternalPeerRow | undefined> {
    const { id, version } = row
    const set = { nextCheckAt: now() + CHECK_EVERY_MS, version: version + 1 }
    const { committed } = await store.commit([update('externalpeers', { where: { id, version }, set })])
    return committed ? { ...row, ...set } : undefined
  }

  async function check(row: ExternalPeerRow): Promise<ExternalPeerRow> {
    const claimed = await claimCheck(row)
    if (!claimed) return (await store.get('externalpeers', row.id)) ?? row
    const seen = await fetchCard(claimed)
    const { id, version, organisation } = claimed
    const before = await workspaces.find(organisation, id)
    const set = { ...seen.peer, checkedAt: now(), version: version + 1 }
    const { committed } = await store.commit([
      update('externalpeers', { where: { id, version }, set }),
      update('workspaces', { where: { id, origin: 'external' }, set: seen.workspace, rows: 'any' }),
    ])
    if (committed && before) org.presence.found(before, { ...before, ...seen.workspace })
    return committed ? { ...claimed, ...set } : ((await store.get('externalpeers', id)) ?? claimed)
  }

  /** What a check changes. A failed check keeps the known card and marks the peer as absent. */
  async function fetchCard(
    row: ExternalPeerRow,
  ): Promise<{ peer: Partial<ExternalPeerRow>; workspace: Partial<WorkspaceRow> }> {
    try {
      const card = await remote.card({ ...row, credential: credentialOf(row) }, stopping.signal)
      return { peer: { ...endpointOf(card), error: null }, workspace: cardFacts(card, now()) }
    } catch (error) {
      const text = plainLine(messageOf(error), MOST_ERROR)
      log.debug('the card of an external peer could not be fetched', { peer: row.workspace, error: text })
      return { peer: { error: text }, workspace: { registeredAt: null } }
    }
  }

  async function checkDue(): Promise<void> {
    const query = {
      where: { nextCheckAt: { atMost: now() } },
      order: { by: ['nextCheckAt', 'id'] as const },
      limit: PAGE,
    }
    const rows = await store.find('externalpeers', query)
    const ids = new Set((await activeOf(rows)).map(({ id }) => id))
    // In parallel: a slow peer delays no other.
    await Promise.all(rows.map(row => (ids.has(row.id) ? check(row) : claimCheck(row))))
  }

  async function activeOf(rows: readonly ExternalPeerRow[]): Promise<ActivePeer[]> {
    if (rows.length === 0) return []
    const where = { id: { in: rows.map(({ id }) => id) }, origin: 'external', status: 'active' } as const
    const workspaces = await store.find('workspaces', { where, columns: ['id', 'lastSeenAt'], limit: rows.length })
    const seenAt = new Map(workspaces.map(({ id, lastSeenAt }) => [id, lastSeenAt]))
    return rows.flatMap(row => {
      const reachedAt = seenAt.get(row.id)
      return reachedAt === undefined ? [] : [{ ...row, reachedAt }]
    })
  }

  async function active(where: { readonly organisation?: string } = {}): Promise<ActivePeer[]> {
    const found: ActivePeer[] = []
    const query = { where, order: { by: ['id'] }, limit: PAGE } as const
    for await (const rows of pagesOf(store, 'externalpeers', query)) found.push(...(await activeOf(rows)))
    return found.toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1))
  }

  const rounds = createRounds({
    clock,
    everyMs: ROUND_MS,
    work: checkDue,
    onError: error => log.warn('checking the cards of external peers failed', { error: messageOf(error) }),
  })

  return {
    list: async organisation => Promise.all((await active({ organisation })).map(shown)),
    show: async (organisation, id) => shown((await pick(organisation, id)).row),
    add,
    refresh: async (organisation, id) => shown(await check((await pick(organisation, id)).row)),
    async remove(organisation, id) {
      const { row, workspace } = await pick(organisation, id)
      await workspaces.archive(organisation, workspace.id)
      return shown(row)
    },
    async addressOf(id) {
      const row = await store.get('externalpeers', id)
      if (!row) return undefined
      return { place: { ...row, credential: credentialFor(row) }, streaming: row.streaming }
    },
    async checkSoon(id) {
      const row = await store.get('externalpeers', id)
      if (!row || row.checkedAt > now() - CHECK_AGAIN_MS || row.nextCheckAt <= now()) return
      const { version } = row
      await store.commit([
        update('externalpeers', { where: { id, version }, set: { nextCheckAt: now(), version: version + 1 } }),
      ])
    },
    status: async () => statusOf(store, await active()),
    active: () => active(),
    start() {
      if (isStarted) return
      isStarted = true
      rounds.start()
    },
    async stop() {
      stopping.cancel('stopping')
      await rounds.stop()
    },
  }

  /** For tasks: a missing secret is reported to the asker. */
  function credentialFor(row: ExternalPeerRow): Credential | undefined {
    try {
      return credentialOf(row)
    } catch (error) {
      throw new RemoteFailure('unauthorized', messageOf(error), { cause: error })
    }
  }
}

type Own = Pick<ExternalPeerRow, 'cardUrl' | 'secret' | 'header' | 'hosts'>

function rowOf({ id, organisation, workspace }: WorkspaceRow, own: Own, card: SeenCard) {
  return { id, organisation, workspace, ...own, ...endpointOf(card), error: null, version: 1 }
}

/** Where its tasks go, by its card. */
function endpointOf({ url, binding, tenant, streaming }: SeenCard) {
  return { url, binding, tenant, streaming }
}

/** The workspace fields taken from the card. Having a card decides its presence. */
function cardFacts({ facts }: SeenCard, at: number) {
  return { card: sanitizeFacts(facts), registeredAt: at, lastSeenAt: at }
}

/** The draft completed with facts of its card. A peer that was removed before keeps its id and thereby its log. */
function placementWrites(writes: readonly Write[], row: WorkspaceRow, before: WorkspaceRow | undefined): Write[] {
  return writes.map(write => {
    if (write.kind !== 'insert' || write.table !== 'workspaces') return write
    if (!before) return { ...write, row }
    const { id, status, origin } = before
    return update('workspaces', { where: { id, status, origin }, set: row, guard: 'workspace.name' })
  })
}

/** The URL of the card: as given, or the well-known path below the agent's URL. */
function cardAddress(given: string): string {
  const url = new URL(given)
  if (url.username !== '' || url.password !== '' || Object.keys(separateSecrets('', { url: given }).secrets).length > 0)
    throw new AppError(
      'INPUT_INVALID',
      'This URL contains a key. Store the key in secrets.json and name it with "secret".',
    )
  url.hash = ''
  if (/\.json$/i.test(url.pathname)) return url.href
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/.well-known/agent-card.json`
  return url.href
}

/** State of the remote A2A agents, as far as known here. */
interface PeersStatus {
  /** Peers without a known problem. */
  readonly reached: readonly ActivePeer[]
  readonly troubles: readonly PeerTrouble[]
}

/** A peer that can be given tasks. */
interface ActivePeer extends ExternalPeerRow {
  /** When its card was last fetched; null if unknown. */
  readonly reachedAt: number | null
}

/** A problem of a remote A2A agent. */
export interface PeerTrouble {
  readonly organisation: string
  readonly name: string
  readonly why: string
  readonly reachedAt: number | null
  /** Number of tasks that wait for it. */
  readonly tasks: number
}

/** Limit up to which stuck tasks are counted. */
const MOST = 1_000

/** Unreachable peers: the card was unavailable at the last check, or a task could not be sent. */
async function statusOf(store: Store, peers: readonly ActivePeer[]): Promise<PeersStatus> {
  const where = { trouble: { not: null } }
  const columns = ['peerId', 'trouble'] as const
  const stuck = peers.length === 0 ? [] : await store.find('outgoingtasks', { where, columns, limit: MOST })
  const judged = peers.map(peer => ({ peer, trouble: troubleOf(peer, stuck) }))
  return {
    reached: judged.flatMap(({ peer, trouble }) => (trouble ? [] : [peer])),
    troubles: judged.flatMap(({ trouble }) => trouble ?? []),
  }
}

function troubleOf(
  { id, organisation, workspace: name, error, reachedAt }: ActivePeer,
  stuck: readonly Pick<OutgoingTaskRow, 'peerId' | 'trouble'>[],
): PeerTrouble | undefined {
  const own = stuck.filter(({ peerId }) => peerId === id)
  const why = error ?? own[0]?.trouble ?? undefined
  return why === undefined ? undefined : { organisation, name, why, reachedAt, tasks: own.length }
}

/** API handlers for remote A2A agents. */
export function externalPeerHandlers(
  peers: Pick<ExternalPeers, 'list' | 'show' | 'add' | 'refresh' | 'remove'>,
): Handlers<keyof typeof EXTERNAL_PEER_ROUTES> {
  return {
    listExternalPeers: async ({ organisation }) => ({ peers: await peers.list(organisation) }),
    addExternalPeer: ({ organisation }, { body }) => peers.add(organisation, body),
    showExternalPeer: ({ organisation }, { params: { id } }) => peers.show(organisation, id),
    refreshExternalPeer: ({ organisation }, { params: { id } }) => peers.refresh(organisation, id),
    removeExternalPeer: ({ organisation }, { params: { id } }) => peers.remove(organisation, id),
  }
}
