import { z } from 'zod'
import { DELEGATION_PAGE, DelegationDetail, DelegationPage, DelegationState } from './delegation.ts'
import { ExternalPeerFacts, NewExternalPeer } from './external-peer.ts'
import {
  ForgottenMemory,
  LONGEST_MEMORY_QUERY,
  MEMORY_PAGE,
  MemoryFacts,
  MemoryId,
  MemoryPage,
  MemoryScope,
} from './memory.ts'
import {
  IssuedJoinCode,
  JoinCodeFacts,
  NewJoinCode,
  NewOrganisation,
  NewWorkspace,
  OrganisationFacts,
  PersonFacts,
  WorkspaceFacts,
  WorkspaceStatus,
} from './organisation.ts'
import { type ControlTable, nothing, organisation } from './primitives.ts'

/** Control operations for organisations, their members, memories and delegations. */
export const PLATFORM_CONTROL = {
  organisations: { input: nothing, output: z.array(OrganisationFacts) },
  createOrganisation: { input: NewOrganisation, output: OrganisationFacts },
  /** The workspaces as a tree: each is followed by those below it. */
  workspaces: {
    input: z.strictObject({ organisation, status: WorkspaceStatus.optional() }),
    output: z.array(WorkspaceFacts),
  },
  /** One workspace, by id or name. */
  workspace: { input: z.strictObject({ id: z.string(), organisation }), output: WorkspaceFacts },
  createWorkspace: { input: NewWorkspace.extend({ organisation }), output: WorkspaceFacts },
  archiveWorkspace: { input: z.strictObject({ id: z.string(), organisation }), output: WorkspaceFacts },
  /** Restores an archived workspace. */
  restoreWorkspace: { input: z.strictObject({ id: z.string(), organisation }), output: WorkspaceFacts },
  /** Remote A2A agents that are peers. */
  externalPeers: { input: z.strictObject({ organisation }), output: z.array(ExternalPeerFacts) },
  /** One remote agent, by id or name. */
  externalPeer: { input: z.strictObject({ id: z.string(), organisation }), output: ExternalPeerFacts },
  addExternalPeer: { input: NewExternalPeer.extend({ organisation }), output: ExternalPeerFacts },
  /** Fetches its card now. */
  refreshExternalPeer: { input: z.strictObject({ id: z.string(), organisation }), output: ExternalPeerFacts },
  removeExternalPeer: { input: z.strictObject({ id: z.string(), organisation }), output: ExternalPeerFacts },
  joinCodes: { input: z.strictObject({ organisation }), output: z.array(JoinCodeFacts) },
  createJoinCode: { input: NewJoinCode.extend({ organisation }), output: IssuedJoinCode },
  revokeJoinCode: { input: z.strictObject({ id: z.string(), organisation }), output: JoinCodeFacts },
  persons: { input: z.strictObject({ organisation }), output: z.array(PersonFacts) },
  /** Revokes all tokens of the person. */
  removePerson: { input: z.strictObject({ name: z.string(), organisation }), output: PersonFacts },
  /** A workspace's memories, ranked for a query; without a workspace those of the organisation, newest first. */
  memories: {
    input: z.strictObject({
      /** By id or name. */
      workspace: z.string().optional(),
      /** Only together with a workspace. */
      query: z.string().max(LONGEST_MEMORY_QUERY).optional(),
      scope: MemoryScope.optional(),
      organisation,
      limit: z.number().int().min(1).max(MEMORY_PAGE.most).optional(),
      cursor: z.string().max(1_000).optional(),
    }),
    output: MemoryPage,
  },
  memory: { input: z.strictObject({ id: MemoryId, organisation }), output: MemoryFacts },
  forgetMemory: { input: z.strictObject({ id: MemoryId, organisation }), output: ForgottenMemory },
  /** Delegations, newest first. */
  delegations: {
    input: z.strictObject({
      /** By id or name. */
      workspace: z.string().optional(),
      /** The ones it gave or the ones it received. */
      role: z.enum(['asker', 'peer']).optional(),
      state: DelegationState.optional(),
      organisation,
      limit: z.number().int().min(1).max(DELEGATION_PAGE.most).optional(),
      cursor: z.string().max(200).optional(),
    }),
    output: DelegationPage,
  },
  /** One delegation, with a page of its result. */
  delegation: {
    input: z.strictObject({ id: z.string(), organisation, offset: z.number().int().nonnegative().optional() }),
    output: DelegationDetail,
  },
  cancelDelegation: { input: z.strictObject({ id: z.string(), organisation }), output: DelegationDetail },
} as const satisfies ControlTable
