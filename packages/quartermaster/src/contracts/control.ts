import { z } from 'zod'
import { AgentConfig, AgentSummary } from './agent.ts'
import { AgentPrompt, PromptOptions } from './agent-view.ts'
import { ApprovalFacts, ApprovalSummary, GrantFacts } from './approval.ts'
import { CapabilityDescriptor } from './capability.ts'
import type { ControlEvent } from './control-event.ts'
import {
  AddedUpstream,
  AgentCheck,
  Finding,
  ReloadReport,
  RemovedUpstream,
  StatusReport,
  ToolDetail,
  ToolSummary,
} from './control-report.ts'
import { DELEGATION_PAGE, DelegationDetail, DelegationPage, DelegationState } from './delegation.ts'
import { RecheckAnswer } from './dependency.ts'
import { DocsAnswer, DocsQuestion } from './docs.ts'
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
import { Name, PersonName } from './names.ts'
import { AuditPage, IdempotencyKey, OperationFacts, OperationPage, OperationVerification } from './operation.ts'
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
import { Problem } from './problem.ts'
import type { Answer, UrlQuestion } from './question.ts'
import { CallAnswer, Progress, ResultPage } from './result.ts'
import { Lasting, OperationState } from './rows.ts'
import { IssuedToken, LentToken, TokenFacts } from './token.ts'
import type { TraceContext } from './trace.ts'
import { LoginFacts, PinKind, ReviewItem, UpstreamLogLine, UpstreamStatus } from './upstream.ts'

const nothing = z.strictObject({})

/** Which page of a list. */
const page = { limit: z.number().int().min(1).max(1_000).optional(), cursor: z.string().max(200).optional() }

/** Which organisation; the first one when absent. */
const organisation = Name.optional()

/**
 * Everything a command can ask for, in process or over HTTP. Both sides of the wire are made from this table, so a new
 * operation is one row and its implementation. It is for the owner of the data folder alone, unless its row says `persons`.
 */
export const CONTROL = {
  status: { input: nothing, output: StatusReport },
  tools: {
    input: z.strictObject({
      state: z.enum(['active', 'disabled']).optional(),
      section: z.string().optional(),
      agent: z.string().optional(),
      /** With what the agent was not given and has all the same: what comes by itself. */
      along: z.boolean().optional(),
    }),
    output: z.array(ToolSummary),
  },
  tool: { input: z.strictObject({ name: z.string() }), output: ToolDetail },
  capabilities: { input: nothing, output: z.array(CapabilityDescriptor) },
  agents: { input: nothing, output: z.array(AgentSummary) },
  checkAgent: { input: z.strictObject({ name: z.string() }), output: AgentCheck },
  /** What an agent has now, as a block for its system prompt. */
  prompt: { input: z.strictObject({ agent: z.string(), ...PromptOptions.shape }), output: AgentPrompt },
  grant: {
    input: z.strictObject({
      agent: z.string(),
      capability: z.string(),
      /** Only these; what was there stays when absent, and a new grant has all. */
      tools: z.array(z.string()).optional(),
      /** The capability's own configuration; what was there stays when absent. */
      config: z.record(z.string(), z.unknown()).optional(),
      /** Consent operations to allow for good. */
      consent: z.array(z.string()).optional(),
      /** Take the capability away instead. */
      revoke: z.boolean().optional(),
      /** Make the agent when there is none. */
      create: z.boolean().optional(),
    }),
    output: z.object({ file: z.string(), agent: AgentConfig, check: AgentCheck }),
  },
  call: {
    input: z.strictObject({
      agent: z.string(),
      tool: z.string(),
      /** The tool's arguments; none when absent. */
      input: z.unknown().optional(),
      evenIfDisabled: z.boolean().optional(),
      timeoutMs: z.number().int().positive().optional(),
      /** The folder owner's answer, given at the terminal: these operations, for exactly these arguments. */
      consented: z.strictObject({ operations: z.array(z.string()), digest: z.string() }).optional(),
      /** The caller's own name for this call: a repeat under it gets the first answer, and nothing is done twice. */
      idempotencyKey: IdempotencyKey.optional(),
      /** Whether it waits for a person when nobody has allowed it yet; it is refused at once when absent. */
      waits: z.boolean().optional(),
    }),
    output: CallAnswer,
  },
  readResult: {
    input: z.strictObject({ agent: z.string(), resultId: z.string(), offset: z.number().int().min(0) }),
    output: ResultPage,
  },
  recheck: { input: z.strictObject({ name: z.string(), force: z.boolean().optional() }), output: RecheckAnswer },
  createToken: {
    input: z
      .strictObject({
        agent: z.string().optional(),
        /** Whose it is instead: it answers for this person, and calls no tools. */
        person: PersonName.optional(),
        organisation,
        /** What a person calls it. */
        label: z.string().min(1).max(200).optional(),
        /** How long it is good; for ever when absent. */
        ttlMs: z.number().int().positive().optional(),
      })
      .refine(({ agent, person }) => (agent === undefined) !== (person === undefined), {
        error: 'say whose it is: agent or person, one of them',
      }),
    output: IssuedToken,
  },
  tokens: { input: z.strictObject({ organisation, agent: z.string().optional() }), output: z.array(TokenFacts) },
  revokeToken: { input: z.strictObject({ id: z.string() }), output: TokenFacts },
  rotateToken: {
    /** For the overlap both are good. */
    input: z.strictObject({ id: z.string(), overlapMs: z.number().int().nonnegative() }),
    output: IssuedToken,
  },
  organisations: { input: nothing, output: z.array(OrganisationFacts) },
  createOrganisation: { input: NewOrganisation, output: OrganisationFacts },
  /** The workspaces as a tree: each is followed by those below it. */
  workspaces: {
    input: z.strictObject({ organisation, status: WorkspaceStatus.optional() }),
    output: z.array(WorkspaceFacts),
  },
  /** One of them, by its id or name. */
  workspace: { input: z.strictObject({ id: z.string(), organisation }), output: WorkspaceFacts },
  createWorkspace: { input: NewWorkspace.extend({ organisation }), output: WorkspaceFacts },
  archiveWorkspace: { input: z.strictObject({ id: z.string(), organisation }), output: WorkspaceFacts },
  /** Brings back one that was archived. */
  restoreWorkspace: { input: z.strictObject({ id: z.string(), organisation }), output: WorkspaceFacts },
  /** The A2A agents elsewhere that are peers. */
  externalPeers: { input: z.strictObject({ organisation }), output: z.array(ExternalPeerFacts) },
  /** One of them, by its id or name. */
  externalPeer: { input: z.strictObject({ id: z.string(), organisation }), output: ExternalPeerFacts },
  addExternalPeer: { input: NewExternalPeer.extend({ organisation }), output: ExternalPeerFacts },
  /** Looks at its card now. */
  refreshExternalPeer: { input: z.strictObject({ id: z.string(), organisation }), output: ExternalPeerFacts },
  removeExternalPeer: { input: z.strictObject({ id: z.string(), organisation }), output: ExternalPeerFacts },
  joinCodes: { input: z.strictObject({ organisation }), output: z.array(JoinCodeFacts) },
  createJoinCode: { input: NewJoinCode.extend({ organisation }), output: IssuedJoinCode },
  revokeJoinCode: { input: z.strictObject({ id: z.string(), organisation }), output: JoinCodeFacts },
  persons: { input: z.strictObject({ organisation }), output: z.array(PersonFacts) },
  /** Takes back all tokens they have. */
  removePerson: { input: z.strictObject({ name: z.string(), organisation }), output: PersonFacts },
  /** What a workspace reads, the most fitting first where something is asked; without one all of the organisation's, newest first. */
  memories: {
    input: z.strictObject({
      /** As which workspace, by its id or name. */
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
  /** Tasks that workspaces gave each other, the newest first. */
  delegations: {
    input: z.strictObject({
      /** Only those of this workspace, by its id or name. */
      workspace: z.string().optional(),
      /** Those it has given, or those it was given. */
      role: z.enum(['asker', 'peer']).optional(),
      state: DelegationState.optional(),
      organisation,
      limit: z.number().int().min(1).max(DELEGATION_PAGE.most).optional(),
      cursor: z.string().max(200).optional(),
    }),
    output: DelegationPage,
  },
  /** One of them, with a page of its result. */
  delegation: {
    input: z.strictObject({ id: z.string(), organisation, offset: z.number().int().nonnegative().optional() }),
    output: DelegationDetail,
  },
  cancelDelegation: { input: z.strictObject({ id: z.string(), organisation }), output: DelegationDetail },
  /** A token for one run, which only a running `up` can lend: it lives in that process. */
  lendToken: { input: z.strictObject({ agent: z.string(), organisation }), output: LentToken },
  /** Keeps a lent token for another while. */
  extendToken: { input: z.strictObject({ id: z.string() }), output: z.object({ expiresAt: z.number() }) },
  /** Asks an `up` that was started in the background to stop, because a person starts one. */
  stepAside: { input: nothing, output: z.object({ leaving: z.boolean() }) },
  operations: {
    input: z.strictObject({
      organisation,
      agent: z.string().optional(),
      state: OperationState.optional(),
      /** Only those that can be tried again by hand. */
      canRetry: z.literal(true).optional(),
      ...page,
    }),
    output: OperationPage,
  },
  operation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Has one tried at once that waits, or tried again that was given up, and waits for the end of that try. */
  retryOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Ends one that waits, or tells the one that runs to stop and waits until it has. */
  cancelOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** Looks at what it was to leave behind. One of which nobody knew whether it was done is on record as done when all is there. */
  verifyOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationVerification },
  /** Gives up for good what could be tried again: its arguments are forgotten, its record stays. */
  dropOperation: { input: z.strictObject({ id: z.string(), organisation }), output: OperationFacts },
  /** What waits for a person, oldest first. */
  approvals: {
    persons: true,
    input: z.strictObject({ organisation, agent: z.string().optional() }),
    output: z.array(ApprovalSummary),
  },
  /** One of them, answered or not, with the arguments as they are: whoever decides has to see them. */
  approval: { persons: true, input: z.strictObject({ id: z.string(), organisation }), output: ApprovalFacts },
  /** The answer of whoever asks this, the owner or a person. The first one counts. */
  answerApproval: {
    persons: true,
    input: z.strictObject({
      id: z.string(),
      organisation,
      decision: z.enum(['allow', 'deny']),
      lasting: Lasting,
      /** Of one for a time. */
      minutes: z.number().positive().max(525_600).optional(),
    }),
    output: OperationFacts,
  },
  /** What persons allowed and forbade, and what counts now. */
  grants: {
    persons: true,
    input: z.strictObject({
      organisation,
      agent: z.string().optional(),
      operation: z.string().optional(),
      /** Who gave them: "owner", or a person by name. */
      by: z.string().optional(),
    }),
    output: z.array(GrantFacts),
  },
  revokeGrants: {
    persons: true,
    input: z
      .strictObject({
        organisation,
        id: z.string().optional(),
        agent: z.string().optional(),
        operation: z.string().optional(),
        by: z.string().optional(),
      })
      .refine(({ id, agent, operation, by }) => [id, agent, operation, by].some(value => value !== undefined), {
        error: 'say which: id, agent, operation or by',
      }),
    output: z.object({ count: z.number().int() }),
  },
  /** Tells what happens, as it happens, until whoever asked goes away or the `up` ends. Only line by line. */
  events: { persons: true, input: nothing, output: z.object({}) },
  audit: {
    input: z.strictObject({
      organisation,
      agent: z.string().optional(),
      tool: z.string().optional(),
      /** From this time on, as epoch milliseconds. */
      since: z.number().int().nonnegative().optional(),
      ...page,
    }),
    output: AuditPage,
  },
  upstreams: { input: nothing, output: z.array(UpstreamStatus) },
  /** What a server said about itself and what was said about it, oldest first. */
  upstreamLogs: {
    input: z.strictObject({ name: z.string(), limit: z.number().int().min(1).max(10_000).optional() }),
    output: z.array(UpstreamLogLine),
  },
  restartUpstream: { input: z.strictObject({ name: z.string() }), output: UpstreamStatus },
  /** What of the upstreams waits for a person. */
  reviewItems: { input: z.strictObject({ name: z.string().optional() }), output: z.array(ReviewItem) },
  decideReview: {
    input: z.strictObject({
      upstream: z.string(),
      /** With the hash of what was looked at: a decision is never about a text that nobody saw. */
      items: z
        .array(z.strictObject({ kind: PinKind, name: z.string(), hash: z.string().min(1) }))
        .min(1)
        .max(10_000),
      decision: z.enum(['accept', 'reject']),
    }),
    output: z.array(ReviewItem),
  },
  /** Writes an entry of `mcpServers`. A server that does not work is added all the same, and the answer says why. */
  addUpstream: {
    input: z.strictObject({
      name: z.string(),
      /** As it is to stand in the file, references as they are. */
      entry: z.record(z.string(), z.unknown()),
      /** To be added to the secrets file; where a name is taken, or named by something else, the entry's references follow. */
      secrets: z.record(z.string(), z.string()).optional(),
      /** Secrets that the entry refers to and nobody gave yet. They get names that nothing has. */
      missing: z.array(z.string()).max(1_000).optional(),
      /** The agents that get it; `default` when absent, which is made where there is no agent at all. */
      grant: z.union([z.array(z.string()), z.literal(false)]).optional(),
      /** Takes the place of another one of that name. */
      replace: z.boolean().optional(),
      /** Whether the answer waits, for some seconds, until the server has said what it has; it does when absent. */
      wait: z.boolean().optional(),
    }),
    output: AddedUpstream,
  },
  removeUpstream: {
    input: z.strictObject({
      name: z.string(),
      /** Leaves its secrets where they are; those that nothing else names go when absent. */
      keepSecrets: z.boolean().optional(),
    }),
    output: RemovedUpstream,
  },
  /** Finds out where a person signs in. The attempt waits ten minutes for them to come back. */
  beginLogin: {
    input: z.strictObject({ upstream: z.string(), agent: z.string().optional() }),
    output: z.object({ attempt: z.string(), url: z.string() }),
  },
  /** Waits for the person, or takes the address that their browser ended at. Giving up the wait gives up the attempt. */
  finishLogin: {
    input: z.strictObject({ attempt: z.string(), redirectUrl: z.string().max(16_384).optional() }),
    output: LoginFacts,
  },
  logout: {
    input: z.strictObject({ upstream: z.string(), agent: z.string().optional() }),
    output: z.object({ wasSignedIn: z.boolean() }),
  },
  /** What is written down, to the owner as a whole, or as an agent reads it. */
  docs: {
    input: DocsQuestion.safeExtend({ agent: z.string().optional(), whole: z.boolean().optional() }),
    output: DocsAnswer,
  },
  /** What is wrong with it. */
  checkDocs: { input: nothing, output: z.object({ units: z.number().int(), problems: z.array(Problem) }) },
  reload: { input: nothing, output: ReloadReport },
  doctor: { input: nothing, output: z.array(Finding) },
} as const satisfies Record<string, { input: z.ZodType; output: z.ZodType; persons?: true }>

export type ControlOperation = keyof typeof CONTROL

/** The operations that persons may use with tokens of their own. All others are for the owner of the data folder alone. */
export type PersonOperation = {
  [K in ControlOperation]: (typeof CONTROL)[K] extends { readonly persons: true } ? K : never
}[ControlOperation]

export function isForPersons(operation: ControlOperation): operation is PersonOperation {
  return 'persons' in CONTROL[operation]
}

export type ControlInput<K extends ControlOperation> = z.infer<(typeof CONTROL)[K]['input']>
export type ControlOutput<K extends ControlOperation> = z.infer<(typeof CONTROL)[K]['output']>

export interface ControlOptions {
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
  /** Told of each event by the operation that follows them. */
  onEvent?: (event: ControlEvent) => void
  /** Whose trace a call belongs to. */
  trace?: TraceContext
  /**
   * Sends the person who waits to a page that a call asks for. Without it such a call cannot be answered. The signal aborts
   * when the call does not ask for it any more.
   */
  openPage?: (question: UrlQuestion, signal?: AbortSignal) => Promise<Answer>
}

/** The one interface behind every command. */
export type Control = {
  readonly [K in ControlOperation]: (input: ControlInput<K>, options?: ControlOptions) => Promise<ControlOutput<K>>
}

/** As much of it as persons have. */
export type PersonControl = Pick<Control, PersonOperation>
