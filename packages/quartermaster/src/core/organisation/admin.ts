import {
  type Actor,
  API,
  type ApiAnswer,
  type ApiOperation,
  type ApiRequest,
  type ApiRoute,
  AppError,
  type IssuedToken,
  type ORGANISATION_ROUTES,
  type Registration,
  type Skill,
  type WorkspaceRow,
  type WorkspaceService,
} from '../../contracts/index.ts'
import { type CancelSignal, type Clock } from '../kernel/index.ts'
import { type Store, update } from '../store/index.ts'
import { type ApiCaller, type Organisation, peersOf } from './organisation.ts'
import { cardOf } from './presence.ts'
import { isFor } from './tokens.ts'
import { mayReach, pageOf, unknownWorkspace, workspaceFacts } from './workspaces.ts'

/** Answers API requests of callers that may make them. */
export interface ApiService {
  /** Throws unless this visitor may ask that; `undefined` has shown no credential that counts. */
  admit(visitor: ApiCaller | undefined, operation: ApiOperation): void
  answer<K extends ApiOperation>(
    operation: K,
    visitor: ApiCaller | undefined,
    request: ApiRequest<K>,
    context: RequestContext,
  ): Promise<ApiAnswer<K>>
}

/** How everything about organisations is answered. */
export function organisationHandlers(deps: ApiServiceDeps): Handlers<keyof typeof ORGANISATION_ROUTES> {
  return {
    ...workspaceHandlers(deps),
    ...tokenHandlers(deps.organisation),
    ...accountHandlers(deps.organisation),
    ...presenceHandlers(deps),
  }
}

/** Each part of the platform brings the handlers of its own routes. */
export function createApiService(handlers: Partial<Handlers>): ApiService {
  return {
    admit,
    async answer(operation, visitor, request, context) {
      admit(visitor, operation)
      const handle = handlers[operation] as ((...given: readonly unknown[]) => Promise<never>) | undefined
      if (!handle) throw new AppError('INTERNAL', `"${operation}" has no handler here.`)
      return handle(visitor, request, context)
    },
  }
}

function admit(visitor: ApiCaller | undefined, operation: ApiOperation): void {
  const { who, scope }: ApiRoute = API[operation]
  if (who.includes('anyone')) return
  if (!visitor) throw new AppError('TOKEN_INVALID', 'This needs a token that counts. Send "Authorization: Bearer …".')
  if (!who.includes(visitor.kind)) {
    const message = `This is for ${who.map(kind => WHO[kind]).join(' or ')}; your token is ${WHOSE[visitor.kind]}.`
    throw new AppError('REQUEST_REFUSED', message)
  }
  if (visitor.kind !== 'workspace' || scope === undefined || isFor(visitor, scope)) return
  throw new AppError('REQUEST_REFUSED', `This token is not for "${scope}". Ask for one that is.`)
}

const WHO: Readonly<Record<string, string>> = {
  owner: 'the owner of the data folder',
  person: 'persons',
  workspace: 'workspaces',
}
const WHOSE = { owner: 'the owner’s', person: 'a person’s', workspace: 'a workspace’s' } as const

type AccountOperation =
  | 'listPersons'
  | 'createPerson'
  | 'createPersonToken'
  | 'removePerson'
  | 'listJoinCodes'
  | 'createJoinCode'
  | 'revokeJoinCode'
  | 'join'

function accountHandlers({ persons, joinCodes, factsOf }: Organisation): Handlers<AccountOperation> {
  return {
    listPersons: async ({ organisation }) => ({ persons: await persons.list(organisation) }),
    async createPerson({ organisation }, { body }) {
      const { person, issued } = await persons.create(organisation, body)
      return { person, ...flat(issued) }
    },
    createPersonToken: ({ organisation }, { params, body }) => persons.issue(organisation, params.name, body),
    removePerson: ({ organisation }, { params }) => persons.remove(organisation, params.name),
    listJoinCodes: async ({ organisation }) => ({ joinCodes: await joinCodes.list(organisation) }),
    createJoinCode: ({ organisation }, { body }) => joinCodes.create(organisation, body),
    revokeJoinCode: ({ organisation }, { params }) => joinCodes.revoke(organisation, params.id),
    async join(_, { body }) {
      const { workspace, issued } = await joinCodes.redeem(body)
      return { workspace: await factsOf(workspace), ...flat(issued) }
    },
  }
}

function flat({ token, facts }: IssuedToken) {
  return { token, tokenFacts: facts }
}

/** What is known of a request besides who asks and what. */
export interface RequestContext {
  /** Where the client reached us: `http://127.0.0.1:7420`. */
  readonly origin: string
  /** Aborts when the client has gone, or has lost its access. Handlers that wait listen to it; listening costs the others. */
  readonly gone?: CancelSignal | undefined
  /** The last event that a client had that comes back. */
  readonly lastEventId?: string | undefined
}

/** What the handlers work with. */
export interface ApiServiceDeps {
  readonly organisation: Organisation
  readonly store: Store
  readonly clock: Clock
  /** What an agent of the folder can do; `undefined` for other workspaces. */
  skillsOf(place: Pick<WorkspaceRow, 'organisation' | 'workspace'>): readonly Skill[] | undefined
  readonly version: string
}

/** How each of these operations is answered. */
export type Handlers<O extends ApiOperation = ApiOperation> = {
  readonly [K in O]: (visitor: ApiCallerOf<K>, request: ApiRequest<K>, context: RequestContext) => Promise<ApiAnswer<K>>
}

/** Who gets so far as to be answered. */
type ApiCallerOf<K extends ApiOperation> = (typeof API)[K]['who'][number] extends infer W
  ? W extends 'anyone'
    ? undefined
    : Extract<ApiCaller, { kind: W }>
  : never

/** Tells an agent's tools about its workspace and those it can reach. `lacksInbox` knows the agents of the folder. */
export function createWorkspaceService(
  organisation: Organisation,
  lacksInbox: (place: Pick<Actor, 'organisation' | 'workspace'>) => boolean = () => false,
): WorkspaceService {
  return {
    info: async actor => organisation.factsOf(await workspaceOf(organisation, actor)),
    peers: async (actor, page) => peersOf(organisation, await workspaceOf(organisation, actor), page),
    async isWithoutInbox({ organisation: of }, peer) {
      if (!lacksInbox({ organisation: of, workspace: peer })) return false
      const row = await organisation.workspaces.named(of, peer)
      // A push workspace needs no tool for its messages, and a workspace that only shares the name is another one.
      return row?.delivery === 'poll' && (row.origin === 'folder' || row.origin === 'root')
    },
  }
}

/** The workspace of a caller. Throws `NAME_UNKNOWN` when it has no place, or none any more. */
export async function workspaceOf(
  { workspaces, presence }: Organisation,
  { organisation, workspace }: Pick<Actor, 'organisation' | 'workspace'>,
): Promise<WorkspaceRow> {
  const row = await workspaces.named(organisation, workspace)
  if (row?.status === 'active') {
    // A caller is present, whatever the call is about.
    presence.beat(row)
    return row
  }
  throw new AppError(
    'NAME_UNKNOWN',
    `"${workspace}" has no place in the organisation. \`quartermaster doctor\` says why.`,
  )
}

type PresenceOperation = 'register' | 'heartbeat' | 'me' | 'peers'

function presenceHandlers({ organisation: org, store, clock }: ApiServiceDeps): Handlers<PresenceOperation> {
  const { presence } = org

  function beat(workspace: WorkspaceRow) {
    presence.beat(workspace)
    return { presence: presence.of(workspace), nextWithinSeconds: presence.nextWithinSeconds }
  }

  return {
    async register({ workspace: before }, { body }) {
      const set = { ...saidIn(body), registeredAt: Math.round(clock.now()) }
      const where = { id: before.id, status: 'active' } as const
      const outcome = await store.commit([update('workspaces', { where, set, guard: 'workspace.active' })])
      if (!outcome.committed)
        throw new AppError('EDIT_CONFLICT', `The workspace "${before.workspace}" was archived meanwhile.`)
      const row = { ...before, ...set }
      return { ...beat(row), workspace: await org.factsOf(row) }
    },
    heartbeat: async ({ workspace }) => beat(workspace),
    async me(visitor) {
      const { kind, organisation } = visitor
      if (kind === 'owner') return { kind, organisation }
      if (kind === 'person') return { kind, organisation, name: visitor.name }
      return { kind, organisation, workspace: await org.factsOf(visitor.workspace) }
    },
    peers: ({ workspace }, { query }) => peersOf(org, workspace, query),
  }
}

/** What is not said stays as it was. */
function saidIn({ delivery, capacity, card }: Registration): Partial<WorkspaceRow> {
  return { ...(delivery && { delivery }), ...(capacity !== undefined && { capacity }), ...(card && { card }) }
}

type WorkspaceOperation =
  | 'listOrganisations'
  | 'createOrganisation'
  | 'listWorkspaces'
  | 'createWorkspace'
  | 'showWorkspace'
  | 'changeWorkspace'
  | 'archiveWorkspace'
  | 'workspaceCard'

function workspaceHandlers({ organisation: org, skillsOf, version }: ApiServiceDeps): Handlers<WorkspaceOperation> {
  const { organisations, workspaces, presence } = org
  return {
    listOrganisations: async () => ({ organisations: await organisations.list() }),
    createOrganisation: (_, { body }) => organisations.create(body),
    async listWorkspaces({ organisation }, { query: { status, limit, cursor } }) {
      const tree = await workspaces.tree(organisation)
      const rows = tree.ordered().filter(row => status === undefined || row.status === status)
      const { items, nextCursor } = pageOf(rows, { limit, cursor })
      return { workspaces: items.map(row => workspaceFacts(row, tree.above(row), presence)), nextCursor }
    },
    createWorkspace: async ({ organisation }, { body }) => org.factsOf(await workspaces.create(organisation, body)),
    async showWorkspace(visitor, { params }) {
      const row = await visible(org, visitor, params.id)
      const facts = await org.factsOf(row)
      // Who is above the one above cannot be reached, and so is not told of.
      const isAbove = visitor.kind === 'workspace' && visitor.workspace.parentId === row.id
      return isAbove ? { ...facts, parent: null } : facts
    },
    changeWorkspace: async ({ organisation }, { params, body }) =>
      org.factsOf(await workspaces.change(organisation, params.id, body)),
    archiveWorkspace: async ({ organisation }, { params }) =>
      org.factsOf(await workspaces.archive(organisation, params.id)),
    async workspaceCard(visitor, { params }, { origin }) {
      const row = await visible(org, visitor, params.id)
      const isOfFolder = row.origin === 'folder' || row.origin === 'root'
      const skills = isOfFolder ? skillsOf(row) : undefined
      return cardOf(row, { skills, version, url: `${origin}/a2a/${row.id}` })
    },
  }
}

/** The workspace with this id or name. One that the caller may not see is unknown to it. */
export async function visible({ workspaces }: Organisation, visitor: ApiCaller, id: string): Promise<WorkspaceRow> {
  const row = await workspaces.seek(visitor.organisation, id)
  if (!row || (visitor.kind === 'workspace' && !mayReach(visitor.workspace, row))) throw unknownWorkspace(id)
  return row
}

type TokenOperation = 'listTokens' | 'createToken' | 'rotateToken' | 'revokeToken'

/** How long both tokens are valid unless the request says. */
const OVERLAP_MS = 3_600_000

function tokenHandlers(org: Organisation): Handlers<TokenOperation> {
  const { workspaces, tokens } = org

  /** Others than the owner have to do with their own tokens alone. */
  async function own(visitor: ApiCaller, id: string): Promise<WorkspaceRow> {
    const row = await visible(org, visitor, id)
    if (visitor.kind === 'workspace' && row.id !== visitor.workspace.id) throw unknownWorkspace(id)
    return row
  }

  function expectToken(visitor: ApiCaller, id: string): void {
    const holding = tokens.holding(id)
    const isOwn =
      visitor.kind === 'owner' ||
      (visitor.kind === 'workspace' && holding?.kind === 'agent' && holding.name === visitor.workspace.workspace)
    if (!isOwn || holding?.organisation !== visitor.organisation)
      throw new AppError('NAME_UNKNOWN', 'There is no such token here.')
  }

  /** With what is made of another token, one that is limited could do more than it may, or for longer. */
  function expectUnlimited(visitor: ApiCaller, id: string): void {
    if (visitor.kind !== 'workspace' || id === visitor.tokenId) return
    const { organisation, workspace, tokenId } = visitor
    const mine = tokens
      .listOf({ organisation, kind: 'agent', name: workspace.workspace })
      .find(one => one.id === tokenId)
    if (mine && mine.scopes === undefined && mine.expiresAt === null) return
    throw new AppError('REQUEST_REFUSED', 'This token is limited or has an end, so it rotates itself and no other.')
  }

  return {
    async listTokens(visitor, { params }) {
      const { organisation, workspace: name } = await own(visitor, params.id)
      return { tokens: tokens.listOf({ organisation, kind: 'agent', name }) }
    },
    async createToken({ organisation }, { params, body }) {
      const { workspace: agent, status } = await workspaces.pick(organisation, params.id)
      if (status !== 'active')
        throw new AppError('EDIT_CONFLICT', `The workspace "${agent}" is archived. Bring it back first.`)
      return tokens.create({ agent, organisation, ...body })
    },
    async rotateToken(visitor, { params, body }) {
      expectToken(visitor, params.id)
      expectUnlimited(visitor, params.id)
      return tokens.rotate(params.id, { overlapMs: body.overlapMs ?? OVERLAP_MS })
    },
    async revokeToken(visitor, { params }) {
      expectToken(visitor, params.id)
      return tokens.revoke(params.id)
    },
  }
}
