import {
  AppError,
  DEFAULT_ORGANISATION,
  type NewOrganisation,
  type OrganisationFacts,
  type OrganisationRow,
  type PageWish,
  type PeerPage,
  ROOT_WORKSPACE,
  type Settings,
  type WorkspaceFacts,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import {
  type Clock,
  createEmitter,
  type Digest,
  didYouMean,
  type Emitter,
  type Ids,
  type Log,
} from '../kernel/index.ts'
import { allRows, insert, type Store, type Write } from '../store/index.ts'
import { type AgentWorkspaces, createAgentWorkspaces } from './agent-workspaces.ts'
import { createJoinCodes, createPersons, type JoinCodes, type Persons } from './persons.ts'
import { createPresence, type PresenceBook } from './presence.ts'
import { type Tokens } from './tokens.ts'
import {
  createWorkspaces,
  isId,
  mayReach,
  type NamedPlace,
  newWorkspaceRow,
  pageOf,
  peerFacts,
  placesIn,
  relationOf,
  type Workspaces,
  workspaceFacts,
} from './workspaces.ts'

/** Organisations, their workspaces and persons in one store. */
export interface Organisation {
  readonly organisations: Organisations
  readonly workspaces: Workspaces
  readonly persons: Persons
  readonly joinCodes: JoinCodes
  readonly presence: PresenceBook
  readonly agentWorkspaces: AgentWorkspaces
  readonly tokens: Tokens
  /** Emits `workspace.changed` and `presence.changed`. */
  readonly events: Pick<Emitter, 'on'>
  /** The holder of this token, by the current state. */
  identify(token: string): Promise<Exclude<ApiCaller, { kind: 'owner' }> | undefined>
  /** Calls back when access may have ended: waiting and following clients are checked again. */
  onAccessChange(look: () => void): () => void
  /** The positions of all workspaces of all organisations, or of those with these ids. */
  places(ids?: readonly string[]): Promise<NamedPlace[]>
  /** A workspace as shown to callers. */
  factsOf(row: WorkspaceRow): Promise<WorkspaceFacts>
  /** Creates the default organisation and restores presence. */
  load(): Promise<void>
  stop(): Promise<void>
}

interface OrganisationDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly log: Log
  readonly tokens: Tokens
  /** Identifies the data folder of this process: it archives no workspaces placed by another. */
  readonly folder: string
  readonly settings: Pick<Settings, 'workspaceDepth' | 'awaySeconds' | 'offlineSeconds' | 'joinCodeHours'>
}

export function createOrganisation(deps: OrganisationDeps): Organisation {
  const { log, tokens } = deps
  const emitter = createEmitter({
    onError: (error, event) => log.error('a listener failed', { event, error: String(error) }),
  })
  const organisations = createOrganisations({ ...deps, onRoot: root => workspaces.tell(root) })
  const presence = createPresence({ ...deps, emitter })
  const workspaces = createWorkspaces({ ...deps, emitter, isAgent: name => agentWorkspaces.isAgent(name) })
  const agentWorkspaces: AgentWorkspaces = createAgentWorkspaces({ ...deps, workspaces })
  return {
    organisations,
    workspaces,
    presence,
    tokens,
    persons: createPersons(deps),
    joinCodes: createJoinCodes({ ...deps, workspaces, agentWorkspaces }),
    agentWorkspaces,
    events: emitter,
    identify: token => identify(token, { tokens, workspaces }),
    onAccessChange(look) {
      const offs = [tokens.onRevoked(look), emitter.on('workspace.changed', look)]
      return () => {
        for (const off of offs) off()
      }
    },
    places: ids => placesIn(deps.store, ids),
    factsOf: async row => workspaceFacts(row, await workspaces.above(row), presence),
    async load() {
      await organisations.ensureFirst()
      await agentWorkspaces.load()
      await presence.load()
    },
    stop: () => presence.stop(),
  }
}

/** The organisations in this store. */
interface Organisations {
  /** Creates the default organisation and its root if missing. */
  ensureFirst(): Promise<void>
  /** Creates an organisation and its root. */
  create(request: NewOrganisation): Promise<OrganisationFacts>
  list(): Promise<OrganisationFacts[]>
  /** Throws `NAME_UNKNOWN` if there is none of this name. */
  expect(name: string): Promise<void>
}

interface OrganisationsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** Called with the root of a new organisation, which is a workspace like any other. */
  onRoot(root: WorkspaceRow): void
}

function createOrganisations({ store, clock, ids, onRoot }: OrganisationsDeps): Organisations {
  async function has(name: string): Promise<boolean> {
    return isId(name) && (await store.count('organisations', { organisation: name })) > 0
  }

  /** In one commit: without a root no workspace could be created. */
  function draft({ name, title }: NewOrganisation): { row: OrganisationRow; root: WorkspaceRow; writes: Write[] } {
    const createdAt = Math.round(clock.now())
    const row: OrganisationRow = {
      id: ids.next('org'),
      organisation: name,
      workspace: ROOT_WORKSPACE,
      title: title ?? null,
      createdAt,
    }
    const root = newWorkspaceRow(
      { name: ROOT_WORKSPACE, abilities: ['memory.global'] },
      { id: ids.next('ws'), organisation: name, parentId: null, origin: 'root', createdAt },
    )
    return { row, root, writes: [insert('organisations', row, 'organisation.name'), insert('workspaces', root)] }
  }

  return {
    async ensureFirst() {
      if (await has(DEFAULT_ORGANISATION)) return
      // Another process may just have created it; then nothing is left to do.
      await store.commit(draft({ name: DEFAULT_ORGANISATION }).writes)
    },
    async create(request) {
      const { row, root, writes } = draft(request)
      if (!(await store.commit(writes)).committed)
        throw new AppError('NAME_TAKEN', `An organisation is named "${request.name}" already. Choose another name.`)
      onRoot(root)
      return factsOf(row)
    },
    list: async () => (await allRows(store, 'organisations', {})).map(factsOf).toSorted(byName),
    async expect(name) {
      if (!(await has(name))) throw new AppError('NAME_UNKNOWN', 'There is no such organisation.')
    },
  }
}

function factsOf({ organisation, title, createdAt }: OrganisationRow): OrganisationFacts {
  return { name: organisation, title, createdAt }
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1
}

/** The caller known from a credential, and its organisation. */
export type ApiCaller =
  | { readonly kind: 'owner'; readonly organisation: string }
  | { readonly kind: 'person'; readonly organisation: string; readonly name: string; readonly tokenId: string }
  | WorkspaceCaller

export interface WorkspaceCaller {
  readonly kind: 'workspace'
  readonly organisation: string
  readonly workspace: WorkspaceRow
  readonly tokenId: string
  /** What the token may be used for; everything if absent. */
  readonly scopes: readonly string[]
}

/** The holder of this token now. `undefined` if the token has ended, or its workspace is archived or missing. */
async function identify(
  token: string,
  { tokens, workspaces }: { tokens: Pick<Tokens, 'holderOf' | 'fresh'>; workspaces: Pick<Workspaces, 'named'> },
): Promise<Exclude<ApiCaller, { kind: 'owner' }> | undefined> {
  await tokens.fresh(token)
  const holding = tokens.holderOf(token)
  if (!holding) return undefined
  const { organisation, kind, name, tokenId, scopes } = holding
  if (kind === 'person') return { kind: 'person', organisation, name, tokenId }
  const workspace = await workspaces.named(organisation, name)
  // It may have been revoked while the store was queried.
  if (workspace?.status !== 'active' || !tokens.holderOf(token)) return undefined
  return { kind: 'workspace', organisation, workspace, tokenId, scopes }
}

/** The workspaces that a workspace can reach, except itself. */
export async function peersOf(
  { workspaces, presence }: Pick<Organisation, 'workspaces' | 'presence'>,
  from: WorkspaceRow,
  page: PageWish,
): Promise<PeerPage> {
  const others = (await workspaces.reachable(from)).filter(({ id }) => id !== from.id)
  const { items, nextCursor } = pageOf(others, page)
  const peers = items.flatMap(row => {
    const relation = relationOf(from, row)
    return relation ? [peerFacts(row, relation, presence)] : []
  })
  return others.length > 0 ? { peers, nextCursor } : { peers, nextCursor, reason: NO_PEERS }
}

const NO_PEERS =
  'There is no workspace above, beside or directly below this one. The owner gives others a place: quartermaster workspaces create'

/** An unreachable peer is answered like a missing one. Throws `PEER_NOT_FOUND`, and `INPUT_INVALID` for itself. */
export async function reachedPeer(
  workspaces: Pick<Workspaces, 'find' | 'seek' | 'reachable'>,
  from: WorkspaceRow,
  { to, alone }: { readonly to: string /** Said of a workspace that names itself. */; readonly alone: string },
): Promise<{ self: WorkspaceRow; peer: WorkspaceRow }> {
  const self = (await workspaces.find(from.organisation, from.id)) ?? from
  const peer = await workspaces.seek(from.organisation, to)
  if (!peer || !mayReach(self, peer)) throw await noPeer(workspaces, self, to)
  if (peer.id === self.id) throw new AppError('INPUT_INVALID', `This is your own workspace. ${alone}; name a peer.`)
  return { self, peer }
}

/** The error for an unreachable peer. Suggests only reachable ones. */
export async function noPeer(
  workspaces: Pick<Workspaces, 'reachable'>,
  self: WorkspaceRow,
  to: string,
): Promise<AppError> {
  const others = (await workspaces.reachable(self)).filter(({ id }) => id !== self.id)
  const named = to.length > 100 ? `${to.slice(0, 100)}…` : to
  const names = others.map(({ workspace }) => workspace)
  return new AppError(
    'PEER_NOT_FOUND',
    `There is no peer "${named}" that this workspace can reach.${didYouMean(to.slice(0, 128), names)} List your peers and take one of those.`,
  )
}
