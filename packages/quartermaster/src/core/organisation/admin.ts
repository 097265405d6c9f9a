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

/** Answers API requests of authorized callers. */
export interface ApiService {
  /** Throws unless this caller may ask that; `undefined` has shown no valid credential. */
  authorize(visitor: ApiCaller | undefined, operation: ApiOperation): void
  answer<K extends ApiOperation>(
    operation: K,
    visitor: ApiCaller | undefined,
    request: ApiRequest<K>,
    context: RequestContext,
  ): Promise<ApiAnswer<K>>
}

/** API handlers for organisations. */
export function organisationHandlers(deps: ApiServiceDeps): Handlers<keyof typeof ORGANISATION_ROUTES> {
  return {
    ...workspaceHandlers(deps),
    ...tokenHandlers(deps.organisation),
    ...accountHandlers(deps.organisation),
    ...presenceHandlers(deps),
  }
}

/** Each part of the platform adds the handlers of its own routes. */
export function createApiService(handlers: Partial<Handlers>): ApiService {
  return {
    authorize,
    async answer(operation, visitor, request, context) {
      authorize(visitor, operation)
      const handle = handlers[operation] as ((...given: readonly unknown[]) => Promise<never>) | undefined
      if (!handle) throw new AppError('INTERNAL', `"${operation}" has no handler here.`)
      return handle(visitor, request, context)
    },
  }
}

function authorize(visitor: ApiCaller | undefined, operation: ApiOperation): void {
  const { who, scope }: ApiRoute = API[operation]
  if (who.includes('anyone')) return
  if (!visitor) throw new AppError('TOKEN_INVALID', 'This needs a valid token. Send "Authorization: Bearer …".')
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

/** The context of a request. */
export interface RequestContext {
  /** The base URL the client used: `http://127.0.0.1:7420`. */
  readonly origin: string
  /** Aborts when the client disconnects or loses its access. Only handlers that wait should listen, as listening has a cost. */
  readonly gone?: CancelSignal | undefined
  /** The last event id of a reconnecting client. */
  readonly lastEventId?: string | undefined
}

/** Dependencies of the handlers. */
interface ApiServiceDeps {
  readonly organisation: Organisation
  readonly store: Store
  readonly clock: Clock
  /** The abilities of an agent of the project; `undefined` for other workspaces. */
  skillsOf(place: Pick<WorkspaceRow, 'organisation' | 'workspace'>): readonly Skill[] | undefined
  readonly version: string
}

/** Handlers by operation. */
export type Handlers<O extends ApiOperation = ApiOperation> = {
  readonly [K in O]: (visitor: ApiCallerOf<K>, request: ApiRequest<K>, context: RequestContext) => Promise<ApiAnswer<K>>
}

/** Authorization by operation. */
type ApiCallerOf<K extends ApiOperation> = (typeof API)[K]['who'][number] extends infer W
  ? W extends 'anyone'
    ? undefined
    : Extract<ApiCaller, { kind: W }>
  : never

/** Describes an agent's workspace and its reachable peers, for its tools. `lacksInbox` knows the agents of the project. */
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
      // A push workspace needs no inbox tool, and a workspace that only shares the name is another one.
      return row?.delivery === 'poll' && (row.origin === 'folder' || row.origin === 'root')
    },
  }
}

/** The workspace of a caller. Throws `NAME_UNKNOWN` if there is none. */
export async function workspaceOf(
  { workspaces, presence }: Organisation,
  { organisation, workspace }: Pick<Actor, 'organisation' | 'workspace'>,
): Promise<WorkspaceRow> {
  const row = await workspaces.named(organisation, workspace)
  if (row?.status === 'active') {
    // Any call makes the caller present.
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
      const set = { ...changesIn(body), registeredAt: Math.round(clock.now()) }
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

/** Omitted fields stay unchanged. */
function changesIn({ delivery, capacity, card }: Registration): Partial<WorkspaceRow> {
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
      // The parent of the parent cannot be reached, so it is not shown.
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

/** The workspace with this id or name; unknown if the caller may not see it. */
export async function visible({ workspaces }: Organisation, visitor: ApiCaller, id: string): Promise<WorkspaceRow> {
  const row = await workspaces.seek(visitor.organisation, id)
  if (!row || (visitor.kind === 'workspace' && !mayReach(visitor.workspace, row))) throw unknownWorkspace(id)
  return row
}

type TokenOperation = 'listTokens' | 'createToken' | 'rotateToken' | 'revokeToken'

/** Default validity of both tokens. */
const OVERLAP_MS = 3_600_000

function tokenHandlers(org: Organisation): Handlers<TokenOperation> {
  const { workspaces, tokens } = org

  /** Callers other than the owner manage only their own tokens. */
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

  /** A token made by a limited one must not be able to do more, or last longer. */
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
