import { z } from 'zod'
import { type ApiRoute, noInput, none, one, within } from './api-route.ts'
import { MESSAGE_BYTES, MessageAttachment, MessagePart, MOST_PARTS } from './message.ts'
import { Presence } from './organisation.ts'
import {
  cappedWhole,
  cappedWholeText,
  maybe,
  RowId,
  RowTime,
  rowHead,
  Sha256,
  storableText,
  waitSecondsText,
} from './primitives.ts'
import { MOST_ATTACHMENTS } from './toolbox.ts'

/** The state of a delegation: on its way, queued, in progress, or ended. */
export const DelegationState = z.enum([
  'pending',
  'queued',
  'in_progress',
  'completed',
  'failed',
  'cancelled',
  'expired',
])
export type DelegationState = z.infer<typeof DelegationState>

/** The largest text of a task, in bytes of UTF-8. */
export const TASK_BYTES = MESSAGE_BYTES
/** The largest result, text and parts together, in bytes of UTF-8. */
export const DELEGATION_RESULT_BYTES = 16 * 1_024 * 1_024
/** One page of a result. */
export const RESULT_PAGE_CHARACTERS = 100_000
/** The most open tasks of one workspace, whatever capacity it claims. */
export const MOST_OPEN_DELEGATIONS = 1_000
/** The most queued tasks of one workspace. */
export const MOST_QUEUED_DELEGATIONS = 10_000
/** The longest deadline: 30 days. */
export const LONGEST_DEADLINE_SECONDS = 2_592_000
/**
 * The metadata key that tells an A2A agent how often a task was delegated before. Any client can write anything there, so it is
 * used only where it makes the chain longer.
 */
export const HOPS_KEY = 'quartermaster/hops'
export const DELEGATION_PAGE = { usual: 50, most: 200 } as const

/** The outcome that the peer reports. */
export const DelegationOutcome = z.enum(['completed', 'failed', 'in_progress'])
export type DelegationOutcome = z.infer<typeof DelegationOutcome>

/** The whole result of a task. */
export const DelegationResult = z.object({
  text: z.string(),
  parts: z.array(MessagePart),
  attachments: z.array(MessageAttachment),
})
export type DelegationResult = z.infer<typeof DelegationResult>

const Attachments = z.array(z.string().min(1).max(128)).max(MOST_ATTACHMENTS)
const Key = z.string().min(1).max(200)
const Deadline = cappedWhole({ most: LONGEST_DEADLINE_SECONDS })

/** A task for a peer. */
export const DelegationWish = z.strictObject({
  to: z.string().min(1).max(128).describe('The id or name of a peer.'),
  task: storableText().min(1).describe('The task.'),
  attachments: Attachments.optional().describe('Ids of attachments.'),
  idempotencyKey: Key.optional().describe('Idempotency key: a repeat with the same content is the same delegation.'),
  deadlineSeconds: Deadline.optional().describe(
    'When it expires; the setting when absent, 2,592,000 (30 days) at most.',
  ),
  forTask: z.string().min(1).max(128).optional().describe('The delegation that this one serves, if any.'),
})
export type DelegationWish = z.infer<typeof DelegationWish>

/** A peer's answer to its task. */
export const DelegationReply = z.strictObject({
  message: storableText().optional(),
  parts: z.array(MessagePart).max(MOST_PARTS).optional(),
  attachments: Attachments.optional().describe('Ids of attachments.'),
  outcome: DelegationOutcome.optional().describe('"completed" when absent.'),
})
export type DelegationReply = z.infer<typeof DelegationReply>

const Time = z.number().int().nonnegative()
const Side = z.object({ id: z.string(), name: z.string() })

/** A delegation in a list. */
export const DelegationFacts = z.object({
  id: z.string(),
  state: DelegationState,
  from: Side,
  to: Side.extend({
    presence: Presence,
    lastSeenAt: Time.nullable(),
  }),
  conversationId: z.string(),
  parentId: z.string().nullable().describe('The delegation that this one serves.'),
  hops: z.number().int().positive().describe('How often it was delegated before.'),
  progress: z.object({ text: z.string(), at: Time }).nullable().describe('The last report of the peer.'),
  error: z.string().nullable().describe('Why it failed.'),
  createdAt: Time,
  updatedAt: Time,
  startedAt: Time.nullable(),
  endedAt: Time.nullable(),
  deadlineAt: Time,
})
export type DelegationFacts = z.infer<typeof DelegationFacts>

/** A delegation with its task and a page of its result. */
export const DelegationDetail = DelegationFacts.extend({
  task: z.string().describe('The text of the delegating workspace.'),
  attachments: z.array(MessageAttachment),
  result: z
    .object({
      text: z.string().describe('The text of the peer, from `offset` on.'),
      offset: z.number().int().nonnegative(),
      nextOffset: z.number().int().positive().nullable().describe('The start of the next page; null on the last.'),
      characters: z.number().int().nonnegative().describe('The length of the whole text.'),
      parts: z.array(MessagePart).describe('Only on the first page.'),
      attachments: z.array(MessageAttachment),
    })
    .nullable(),
})
export type DelegationDetail = z.infer<typeof DelegationDetail>

export const DelegationPage = z.object({ delegations: z.array(DelegationFacts), nextCursor: z.string().nullable() })
export type DelegationPage = z.infer<typeof DelegationPage>

/** A state change of a delegation. */
export interface DelegationChange {
  readonly organisation: string
  readonly id: string
  readonly from: string
  readonly to: string
  /** Absent for a new delegation. */
  readonly before: DelegationState | undefined
  readonly state: DelegationState
  readonly at: number
}

/** A delegation. Its `workspace` is the name of the delegating workspace; its id is the task's. */
export const DelegationRow = z.object({
  ...rowHead,
  fromId: RowId,
  fromName: z.string().max(200),
  toId: RowId,
  toName: z.string().max(200),
  state: DelegationState,
  task: z.string(),
  attachments: z.array(MessageAttachment).default([]),
  /** Idempotency: a digest of the delegating workspace and its key. */
  askKey: maybe(Sha256),
  /** The digest of the request with that key. */
  bodyDigest: maybe(Sha256),
  conversationId: RowId,
  /** The delegation that this one serves. */
  parentId: maybe(RowId),
  hops: z.number().int().positive(),
  /** The workspaces that delegated it, first to last. */
  chain: z.array(z.string()),
  deadlineAt: RowTime,
  /** The deadline while it is open, for an index over open rows. */
  dueAt: maybe(RowTime),
  /** The capacity slot that it takes at the peer, unique while pending or in progress. */
  slot: maybe(z.number().int().positive()),
  /** The message in the logs of both sides. */
  messageId: RowId,
  /** The message's row in the peer's log. */
  activityId: RowId,
  result: maybe(DelegationResult),
  error: maybe(z.string()),
  progress: maybe(z.string()),
  progressAt: maybe(RowTime),
  createdAt: RowTime,
  updatedAt: RowTime,
  startedAt: maybe(RowTime),
  endedAt: maybe(RowTime),
  /** The row in the asker's log with the end notice. */
  noticeId: maybe(RowId),
  /** Incremented by every change; writes name the version that they read. */
  version: z.number().int().positive(),
  /** The parts of the task, unless it was a single text. */
  parts: maybe(z.array(MessagePart)),
})
export type DelegationRow = z.infer<typeof DelegationRow>

const limit = cappedWholeText({ most: DELEGATION_PAGE.most }).optional()

/** Delegations between workspaces. */
export const DELEGATION_ROUTES = {
  createDelegation: {
    method: 'POST',
    path: '/delegations',
    summary: 'Delegates a task to a workspace that this one can reach. It is queued while the peer is busy.',
    who: ['workspace'],
    scope: 'delegation',
    ...noInput,
    body: DelegationWish,
    bodyBytes: 2.5 * TASK_BYTES,
    output: DelegationDetail,
    status: 201,
    errors: [
      'PEER_NOT_FOUND',
      'NAME_UNKNOWN',
      'DELEGATION_LOOP',
      'IDEMPOTENCY_CONFLICT',
      'LIMIT_EXCEEDED',
      'STORE_BUSY',
    ],
  },
  listDelegations: {
    method: 'GET',
    path: '/delegations',
    summary: 'Delegations, newest first: those of the calling workspace, or all for the owner or a person.',
    who: ['owner', 'person', 'workspace'],
    scope: 'delegation',
    params: none,
    query: within.extend({
      workspaceId: z.string().max(128).optional().describe('The id or name of a workspace, for the owner or a person.'),
      role: z.enum(['asker', 'peer']).optional().describe('Given or received by the workspace; both when absent.'),
      state: DelegationState.optional().describe('Only those.'),
      limit: limit.describe(`How many; ${DELEGATION_PAGE.usual} when absent, ${DELEGATION_PAGE.most} at most.`),
      cursor: z.string().max(128).optional().describe('The `nextCursor` of the previous page.'),
    }),
    output: DelegationPage,
    errors: ['NAME_UNKNOWN', 'CURSOR_GONE'],
  },
  showDelegation: {
    method: 'GET',
    path: '/delegations/{id}',
    summary: 'One delegation with a page of its result; waits for its end if asked to.',
    who: ['owner', 'person', 'workspace'],
    scope: 'delegation',
    params: one,
    query: within.extend({
      waitSeconds: waitSecondsText({ most: 300 }).optional().describe('Seconds to wait for its end; 300 at most.'),
      offset: z.coerce.number().int().nonnegative().optional().describe('The first character of the result to return.'),
    }),
    output: DelegationDetail,
    errors: ['NAME_UNKNOWN', 'RATE_LIMITED'],
  },
  replyToDelegation: {
    method: 'POST',
    path: '/delegations/{id}/reply',
    summary: 'Completes or fails a received delegation, or reports its progress.',
    who: ['workspace'],
    scope: 'delegation',
    params: one,
    query: none,
    body: DelegationReply,
    bodyBytes: 1.5 * DELEGATION_RESULT_BYTES,
    output: DelegationDetail,
    errors: ['NAME_UNKNOWN', 'DELEGATION_ENDED', 'LIMIT_EXCEEDED', 'STORE_BUSY'],
  },
  cancelDelegation: {
    method: 'POST',
    path: '/delegations/{id}/cancel',
    summary: 'Cancels a delegation, for its asker or the owner; for its peer, declines it.',
    who: ['owner', 'workspace'],
    scope: 'delegation',
    params: one,
    query: within,
    output: DelegationDetail,
    errors: ['NAME_UNKNOWN', 'DELEGATION_ENDED', 'STORE_BUSY'],
  },
} as const satisfies Record<string, ApiRoute>
