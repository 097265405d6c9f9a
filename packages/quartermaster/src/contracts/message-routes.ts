import { z } from 'zod'
import { type ApiRoute, none, oneWorkspace, within } from './api-route.ts'
import { AttachmentIds } from './attachment.ts'
import { isBlank } from './blank.ts'
import { cappedWholeText, waitSecondsText } from './capped.ts'
import { keepableText } from './keepable-text.ts'
import {
  Activity,
  ActivityPage,
  ActivityType,
  ConversationId,
  InboxPage,
  MESSAGE_BYTES,
  MessagePart,
  MOST_PARTS,
  PoppedMessage,
  SentMessage,
} from './message.ts'

const content = {
  text: keepableText().optional().describe('What to say. Text and parts have 1 MiB as UTF-8.'),
  parts: z.array(MessagePart).max(MOST_PARTS).optional().describe('More of it: words, or data for programs.'),
  attachments: AttachmentIds.optional().describe('Ids of files that were uploaded before.'),
  idempotencyKey: keepableText()
    .min(1)
    .max(200)
    .optional()
    .describe('The same key with the same content is the same message, however often it is sent.'),
}

interface Content {
  readonly text?: string | undefined
  readonly parts?: readonly MessagePart[] | undefined
  readonly attachments?: readonly string[] | undefined
}

const isSaid = ({ text = '', parts = [], attachments = [] }: Content) =>
  !isBlank(text) || parts.some(part => part.kind !== 'text' || !isBlank(part.text)) || attachments.length > 0
const UNSAID = { error: 'say something: text, parts or attachments' }

const activityId = z.strictObject({
  activityId: z.string().min(1).max(128).describe('The id of a message in the inbox.'),
})

const whose = {
  workspaceId: z
    .string()
    .max(128)
    .optional()
    .describe('Whose log the owner or a person reads: its id or name. A workspace reads its own.'),
}
const since = {
  since: z.string().max(200).optional().describe('Where the last answer ended: its `cursor`.'),
  sinceSeconds: cappedWholeText({ most: 2_592_000 })
    .optional()
    .describe('From this long ago on, instead of a cursor; 600 when absent, 30 days at most.'),
}

/** A message in a body may be as large as messages are, and escaped it is larger. */
const BODY_BYTES = 2.5 * MESSAGE_BYTES

/** Messages, the inboxes they wait in, and the logs they stay in. */
export const MESSAGE_ROUTES = {
  sendMessage: {
    method: 'POST',
    path: '/messages',
    summary: 'Sends a message to a workspace that this one can reach.',
    who: ['workspace'],
    scope: 'messages',
    params: none,
    query: none,
    body: z
      .strictObject({
        to: keepableText().min(1).max(128).describe('The id or name of a peer.'),
        ...content,
        conversationId: ConversationId.optional().describe('What it belongs to; a new one when absent.'),
        inReplyTo: keepableText()
          .min(1)
          .max(128)
          .optional()
          .describe('The id of a message of this peer that it answers.'),
      })
      .refine(isSaid, UNSAID),
    bodyBytes: BODY_BYTES,
    output: SentMessage,
    status: 201,
    errors: ['PEER_NOT_FOUND', 'NAME_UNKNOWN', 'IDEMPOTENCY_CONFLICT', 'EDIT_CONFLICT'],
  },
  writeToWorkspace: {
    method: 'POST',
    path: '/workspaces/{id}/messages',
    summary: 'Writes to a workspace as a person. The owner of the data folder writes as "owner".',
    who: ['owner', 'person'],
    params: oneWorkspace,
    query: within,
    body: z
      .strictObject({
        ...content,
        inReplyTo: keepableText()
          .min(1)
          .max(128)
          .optional()
          .describe('The id of an entry of its chat that the workspace has written, and that this answers.'),
      })
      .refine(isSaid, UNSAID),
    bodyBytes: BODY_BYTES,
    output: SentMessage,
    status: 201,
    errors: ['NAME_UNKNOWN', 'IDEMPOTENCY_CONFLICT', 'EDIT_CONFLICT'],
  },
  readInbox: {
    method: 'GET',
    path: '/inbox',
    summary:
      'What waits for this workspace, handed to this token for the time of a lease; waits for the first if asked to.',
    who: ['workspace'],
    scope: 'messages',
    params: none,
    query: z.strictObject({
      limit: cappedWholeText({ most: 100 }).optional().describe('How many; 10 when absent, 100 at most.'),
      cursor: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional()
        .describe('Where the page before ended: its `nextCursor`.'),
      waitSeconds: waitSecondsText({ most: 300 })
        .optional()
        .describe('How long to wait when there is nothing; 300 at most.'),
    }),
    output: InboxPage,
    errors: ['STORE_BUSY'],
  },
  popMessage: {
    method: 'DELETE',
    path: '/inbox/{activityId}',
    summary: 'Acknowledges a message. What is not there is not removed, which is no error.',
    who: ['workspace'],
    scope: 'messages',
    params: activityId,
    query: none,
    output: PoppedMessage,
    errors: [],
  },
  replyToMessage: {
    method: 'POST',
    path: '/inbox/{activityId}/reply',
    summary: 'Answers whoever sent a message, and acknowledges it with that.',
    who: ['workspace'],
    scope: 'messages',
    params: activityId,
    query: none,
    body: z.strictObject(content).refine(isSaid, UNSAID),
    bodyBytes: BODY_BYTES,
    output: SentMessage,
    status: 201,
    errors: ['NAME_UNKNOWN', 'PEER_NOT_FOUND', 'IDEMPOTENCY_CONFLICT', 'EDIT_CONFLICT'],
  },
  listActivity: {
    method: 'GET',
    path: '/activity',
    summary: 'The log of a workspace, the oldest first.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    params: none,
    query: within.extend({
      ...whose,
      ...since,
      types: z
        .string()
        .max(500)
        .transform(text => text.split(','))
        .pipe(z.array(ActivityType).min(1))
        .optional()
        .describe('Only these types, joined by commas.'),
      peer: z.string().max(128).optional().describe('Only what was exchanged with this peer: its id or name.'),
      limit: cappedWholeText({ most: 500 }).optional().describe('How many; 100 when absent, 500 at most.'),
    }),
    output: ActivityPage,
    errors: ['NAME_UNKNOWN', 'PEER_NOT_FOUND', 'CURSOR_GONE'],
  },
  followEvents: {
    method: 'GET',
    path: '/events',
    summary:
      'Follows the log of a workspace. Each event has its place as its id; `Last-Event-ID` or `since` goes on behind it.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    params: none,
    query: within.extend({ ...whose, ...since }),
    output: Activity,
    wire: 'events',
    errors: ['NAME_UNKNOWN', 'CURSOR_GONE'],
  },
} as const satisfies Record<string, ApiRoute>
