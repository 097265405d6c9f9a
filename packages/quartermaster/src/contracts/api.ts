import { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import { Name } from './names.ts'
import {
  AgentCard,
  Heartbeat,
  IssuedJoinCode,
  JoinCodeFacts,
  Joined,
  Joining,
  Me,
  NewJoinCode,
  NewOrganisation,
  NewPerson,
  NewWorkspace,
  OrganisationFacts,
  PeerPage,
  PersonFacts,
  PersonTokenWish,
  Registration,
  type TokenScope,
  WorkspaceChange,
  WorkspaceFacts,
  WorkspacePage,
  WorkspaceStatus,
  WorkspaceTokenWish,
} from './organisation.ts'
import { IssuedToken, TokenFacts } from './token.ts'

/** Who may ask: the owner of the data folder, a person, a workspace with a token, or anybody at all. */
export type ApiVisitorKind = 'owner' | 'person' | 'workspace' | 'anyone'

export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`. */
  readonly path: `/${string}`
  /** One sentence for people. */
  readonly summary: string
  readonly who: readonly ApiVisitorKind[]
  /** What a token that is limited must be for. */
  readonly scope?: TokenScope
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  readonly body?: z.ZodType
  readonly output: z.ZodType
  /** When it is done; 200 unless said. */
  readonly status?: 201
  /** What can go wrong besides what can go wrong everywhere. */
  readonly errors: readonly ErrorCode[]
}

const none = z.strictObject({})
const one = z.strictObject({ id: z.string().min(1).max(128).describe('Its id.') })
const person = z.strictObject({ name: z.string().min(1).max(128).describe('The name of a person.') })
/** Which organisation the owner means. Everybody else has exactly one. */
const organisation = Name.optional().describe('The organisation; the first one, "default", when absent.')
const within = z.strictObject({ organisation })
const page = {
  limit: z.coerce.number().int().min(1).max(1_000).optional().describe('How many at most; 100 when absent.'),
  cursor: z.string().max(128).optional().describe('Where the page before ended: its `nextCursor`.'),
}

/**
 * The API for organisations, their workspaces and persons. The router, the OpenAPI document and the reference page are
 * made from this table.
 */
export const API = {
  listOrganisations: {
    method: 'GET',
    path: '/organisations',
    summary: 'All organisations.',
    who: ['owner'],
    params: none,
    query: none,
    output: z.object({ organisations: z.array(OrganisationFacts) }),
    errors: [],
  },
  createOrganisation: {
    method: 'POST',
    path: '/organisations',
    summary: 'Makes an organisation with its root workspace.',
    who: ['owner'],
    params: none,
    query: none,
    body: NewOrganisation,
    output: OrganisationFacts,
    status: 201,
    errors: ['NAME_TAKEN'],
  },
  listWorkspaces: {
    method: 'GET',
    path: '/workspaces',
    summary: 'The workspaces as a tree: each is followed by those below it.',
    who: ['owner', 'person'],
    params: none,
    query: within.extend({ status: WorkspaceStatus.optional().describe('Only those.'), ...page }),
    output: WorkspacePage,
    errors: ['NAME_UNKNOWN', 'CURSOR_GONE'],
  },
  createWorkspace: {
    method: 'POST',
    path: '/workspaces',
    summary: 'Makes a workspace.',
    who: ['owner'],
    params: none,
    query: within,
    body: NewWorkspace,
    output: WorkspaceFacts,
    status: 201,
    errors: ['NAME_UNKNOWN', 'NAME_TAKEN', 'EDIT_CONFLICT'],
  },
  showWorkspace: {
    method: 'GET',
    path: '/workspaces/{id}',
    summary: 'One workspace. Others than the owner and persons see only what they can reach.',
    who: ['owner', 'person', 'workspace'],
    scope: 'read',
    params: one,
    query: within,
    output: WorkspaceFacts,
    errors: ['NAME_UNKNOWN'],
  },
  changeWorkspace: {
    method: 'PATCH',
    path: '/workspaces/{id}',
    summary: 'Changes a workspace: its place, role, description or abilities, or brings an archived one back.',
    who: ['owner'],
    params: one,
    query: within,
    body: WorkspaceChange,
    output: WorkspaceFacts,
    errors: ['NAME_UNKNOWN', 'EDIT_CONFLICT'],
  },
  archiveWorkspace: {
    method: 'POST',
    path: '/workspaces/{id}/archive',
    summary: 'Archives a workspace: nobody reaches it, and its tokens are refused until it is brought back.',
    who: ['owner'],
    params: one,
    query: within,
    output: WorkspaceFacts,
    errors: ['NAME_UNKNOWN', 'EDIT_CONFLICT'],
  },
  workspaceCard: {
    method: 'GET',
    path: '/workspaces/{id}/card',
    summary: 'What others may know of a workspace before they give it work.',
    who: ['owner', 'person', 'workspace'],
    scope: 'read',
    params: one,
    query: within,
    output: AgentCard,
    errors: ['NAME_UNKNOWN'],
  },
  listTokens: {
    method: 'GET',
    path: '/workspaces/{id}/tokens',
    summary: 'The tokens of a workspace, without their texts. A workspace sees its own.',
    who: ['owner', 'workspace'],
    scope: 'tokens',
    params: one,
    query: within,
    output: z.object({ tokens: z.array(TokenFacts) }),
    errors: ['NAME_UNKNOWN'],
  },
  createToken: {
    method: 'POST',
    path: '/workspaces/{id}/tokens',
    summary: 'Makes a token for a workspace. Its text is in this answer and nowhere else.',
    who: ['owner'],
    params: one,
    query: within,
    body: WorkspaceTokenWish,
    output: IssuedToken,
    status: 201,
    errors: ['NAME_UNKNOWN', 'EDIT_CONFLICT'],
  },
  rotateToken: {
    method: 'POST',
    path: '/tokens/{id}/rotate',
    summary: 'Makes a successor of a token; both are good for the overlap. A workspace rotates its own.',
    who: ['owner', 'workspace'],
    scope: 'tokens',
    params: one,
    query: within,
    body: z.strictObject({ overlapMs: z.number().int().nonnegative().max(2_592_000_000).optional() }),
    output: IssuedToken,
    status: 201,
    errors: ['NAME_UNKNOWN', 'EDIT_CONFLICT'],
  },
  revokeToken: {
    method: 'DELETE',
    path: '/tokens/{id}',
    summary: 'Takes a token back, at once. A workspace takes back its own.',
    who: ['owner', 'workspace'],
    scope: 'tokens',
    params: one,
    query: within,
    output: TokenFacts,
    errors: ['NAME_UNKNOWN'],
  },
  listPersons: {
    method: 'GET',
    path: '/persons',
    summary: 'All persons.',
    who: ['owner'],
    params: none,
    query: within,
    output: z.object({ persons: z.array(PersonFacts) }),
    errors: ['NAME_UNKNOWN'],
  },
  createPerson: {
    method: 'POST',
    path: '/persons',
    summary: 'Makes a person’s account and its first token.',
    who: ['owner'],
    params: none,
    query: within,
    body: NewPerson,
    output: z.object({ person: PersonFacts, token: z.string(), tokenFacts: TokenFacts }),
    status: 201,
    errors: ['NAME_UNKNOWN', 'NAME_TAKEN'],
  },
  createPersonToken: {
    method: 'POST',
    path: '/persons/{name}/tokens',
    summary: 'Makes another token for a person.',
    who: ['owner'],
    params: person,
    query: within,
    body: PersonTokenWish,
    output: IssuedToken,
    status: 201,
    errors: ['NAME_UNKNOWN'],
  },
  removePerson: {
    method: 'DELETE',
    path: '/persons/{name}',
    summary: 'Removes a person, and takes back all tokens they have.',
    who: ['owner'],
    params: person,
    query: within,
    output: PersonFacts,
    errors: ['NAME_UNKNOWN'],
  },
  listJoinCodes: {
    method: 'GET',
    path: '/join-codes',
    summary: 'All join codes, newest first, without their texts.',
    who: ['owner'],
    params: none,
    query: within,
    output: z.object({ joinCodes: z.array(JoinCodeFacts) }),
    errors: ['NAME_UNKNOWN'],
  },
  createJoinCode: {
    method: 'POST',
    path: '/join-codes',
    summary: 'Makes a code with which one workspace can join, once. Its text is in this answer and nowhere else.',
    who: ['owner'],
    params: none,
    query: within,
    body: NewJoinCode,
    output: IssuedJoinCode,
    status: 201,
    errors: ['NAME_UNKNOWN', 'NAME_TAKEN'],
  },
  revokeJoinCode: {
    method: 'DELETE',
    path: '/join-codes/{id}',
    summary: 'Takes a join code back. One that was used stays used.',
    who: ['owner'],
    params: one,
    query: within,
    output: JoinCodeFacts,
    errors: ['NAME_UNKNOWN'],
  },
  join: {
    method: 'POST',
    path: '/join',
    summary: 'Joins with a code: makes a workspace and its token.',
    who: ['anyone'],
    params: none,
    query: none,
    body: Joining,
    output: Joined,
    status: 201,
    errors: ['NAME_TAKEN'],
  },
  register: {
    method: 'POST',
    path: '/register',
    summary: 'Says how the workspace of this token is reached and what it can do, and that it is there.',
    who: ['workspace'],
    scope: 'presence',
    params: none,
    query: none,
    body: Registration,
    output: Heartbeat.extend({ workspace: WorkspaceFacts }),
    errors: ['EDIT_CONFLICT'],
  },
  heartbeat: {
    method: 'POST',
    path: '/heartbeat',
    summary: 'Says that the workspace of this token is there.',
    who: ['workspace'],
    scope: 'presence',
    params: none,
    query: none,
    output: Heartbeat,
    errors: [],
  },
  me: {
    method: 'GET',
    path: '/me',
    summary: 'Who the holder of this token is here.',
    who: ['owner', 'person', 'workspace'],
    scope: 'read',
    params: none,
    query: within,
    output: Me,
    errors: ['NAME_UNKNOWN'],
  },
  peers: {
    method: 'GET',
    path: '/peers',
    summary: 'The workspaces that this one can reach: the one above it, those beside it and those directly below it.',
    who: ['workspace'],
    scope: 'read',
    params: none,
    query: z.strictObject(page),
    output: PeerPage,
    errors: ['CURSOR_GONE'],
  },
} as const satisfies Record<string, ApiRoute>

export type ApiOperation = keyof typeof API

type BodyOf<R> = R extends { readonly body: infer B extends z.ZodType } ? z.infer<B> : undefined

/** What one operation is asked. */
export interface ApiRequest<K extends ApiOperation> {
  readonly params: z.infer<(typeof API)[K]['params']>
  readonly query: z.infer<(typeof API)[K]['query']>
  readonly body: BodyOf<(typeof API)[K]>
}

export type ApiAnswer<K extends ApiOperation> = z.infer<(typeof API)[K]['output']>
