import { z } from 'zod'
import { cappedWhole } from './capped.ts'
import { keepableText } from './keepable-text.ts'
import { MESSAGE_BYTES, MessageAttachment, MessagePart, MOST_ATTACHMENTS, MOST_PARTS } from './message.ts'
import { Presence } from './organisation.ts'

/** Where a task that one workspace gave another is: on its way, waiting for its turn, being done, or over. */
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

/** The most that the words of a task take, as UTF-8. */
export const TASK_BYTES = MESSAGE_BYTES
/** The most that a result takes, text and parts together, as UTF-8. */
export const DELEGATION_RESULT_BYTES = 16 * 1_024 * 1_024
/** What one answer shows of a result. */
export const RESULT_PAGE_CHARACTERS = 100_000
/** The most tasks that one workspace has at a time, however much it says that it takes. */
export const MOST_OPEN_DELEGATIONS = 1_000
/** The most tasks that wait for one workspace. */
export const MOST_QUEUED_DELEGATIONS = 10_000
/** The longest that a task may take: 30 days. */
export const LONGEST_DEADLINE_SECONDS = 2_592_000
/**
 * Where a message to an A2A agent says how often its task was passed on before, in its metadata. Anybody can write anything there,
 * so it counts only where it makes the way longer.
 */
export const HOPS_KEY = 'quartermaster/hops'
export const DELEGATION_PAGE = { usual: 50, most: 200 } as const

/** What whoever did the task says of it. */
export const DelegationOutcome = z.enum(['completed', 'failed', 'in_progress'])
export type DelegationOutcome = z.infer<typeof DelegationOutcome>

/** What came of a task, whole. */
export const DelegationResult = z.object({
  text: z.string(),
  parts: z.array(MessagePart),
  attachments: z.array(MessageAttachment),
})
export type DelegationResult = z.infer<typeof DelegationResult>

const Attachments = z.array(z.string().min(1).max(128)).max(MOST_ATTACHMENTS)
const Key = z.string().min(1).max(200)
const Deadline = cappedWhole({ most: LONGEST_DEADLINE_SECONDS })

/** A task that a workspace gives a peer. */
export const DelegationWish = z.strictObject({
  to: z.string().min(1).max(128).describe('The id or name of a peer.'),
  task: keepableText().min(1).describe('What it is to do.'),
  attachments: Attachments.optional().describe('Ids of attachments.'),
  idempotencyKey: Key.optional().describe('The same key with the same content is the same delegation.'),
  deadlineSeconds: Deadline.optional().describe(
    'When it is given up; the setting when absent, 2,592,000 (30 days) at most.',
  ),
  forTask: z.string().min(1).max(128).optional().describe('The delegation that the asker works on, if it is for one.'),
})
export type DelegationWish = z.infer<typeof DelegationWish>

/** What the workspace that has a task says of it. */
export const DelegationReply = z.strictObject({
  message: keepableText().optional(),
  parts: z.array(MessagePart).max(MOST_PARTS).optional(),
  attachments: Attachments.optional().describe('Ids of attachments.'),
  outcome: DelegationOutcome.optional().describe('"completed" when absent.'),
})
export type DelegationReply = z.infer<typeof DelegationReply>

const Time = z.number().int().nonnegative()
const Side = z.object({ id: z.string(), name: z.string() })

/** A delegation as it is shown. */
export const DelegationFacts = z.object({
  id: z.string(),
  state: DelegationState,
  from: Side,
  to: Side.extend({
    presence: Presence,
    lastSeenAt: Time.nullable(),
  }),
  conversationId: z.string(),
  parentId: z.string().nullable().describe('The delegation that it was given away for.'),
  hops: z.number().int().positive().describe('How many workspaces have passed it on.'),
  progress: z.object({ text: z.string(), at: Time }).nullable().describe('What the peer said last; its words.'),
  error: z.string().nullable().describe('Why it came to nothing.'),
  createdAt: Time,
  updatedAt: Time,
  startedAt: Time.nullable(),
  endedAt: Time.nullable(),
  deadlineAt: Time,
})
export type DelegationFacts = z.infer<typeof DelegationFacts>

/** A delegation with what it is about, and a page of what came of it. */
export const DelegationDetail = DelegationFacts.extend({
  task: z.string().describe('Words of the asker.'),
  attachments: z.array(MessageAttachment),
  result: z
    .object({
      text: z.string().describe('Words of the peer, from `offset` on.'),
      offset: z.number().int().nonnegative(),
      nextOffset: z.number().int().positive().nullable().describe('Where the next page begins; null with the last.'),
      characters: z.number().int().nonnegative().describe('How long the whole text is.'),
      parts: z.array(MessagePart).describe('With the first page.'),
      attachments: z.array(MessageAttachment),
    })
    .nullable(),
})
export type DelegationDetail = z.infer<typeof DelegationDetail>

export const DelegationPage = z.object({ delegations: z.array(DelegationFacts), nextCursor: z.string().nullable() })
export type DelegationPage = z.infer<typeof DelegationPage>

/** One step of a delegation. */
export interface DelegationChange {
  readonly organisation: string
  readonly id: string
  readonly from: string
  readonly to: string
  /** Absent when it was made. */
  readonly before: DelegationState | undefined
  readonly state: DelegationState
  readonly at: number
}
