import { z } from 'zod'
import {
  AppError,
  AttachmentRefs,
  DelegationOutcome,
  isBlank,
  type Platform,
  type ReplyFacts,
  storableText,
  TOOL_NAMES,
} from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { ATTACHMENTS_INPUT, type Attacher } from '../shared/attachments.ts'
import { actorOf, quotedLine } from '../shared/workspace-io.ts'
import { ActivityReference } from './receive.ts'

const Output = z.object({
  activity_id: z.string().describe('The id of your answer. Messages that answer it have this id in in_reply_to.'),
  conversation_id: z.string(),
  note: z.string().optional(),
})

/** The tool that answers a message. */
export function createReply(inbox: Platform['inbox'], attach: Attacher) {
  return defineTool({
    name: TOOL_NAMES.reply,
    title: 'Answer a message',
    short: 'Answer a message of your inbox: its sender gets the answer, and the message is taken out of the inbox.',
    whenToUse:
      'To answer a message of a person or another agent. The answer stays in the same conversation and says what it ' +
      'answers, so that the other side can match the two; do not start something new for it. The message is acknowledged ' +
      'together with the answer, so that inbox_pop is not needed. If it carries a task (task_id), your answer is its result ' +
      'and ends it, unless outcome says that it failed or is still in_progress.',
    command: { name: 'reply' },
    input: z.object({
      activity_id: ActivityReference,
      // The length limit is in bytes and depends on the answered message.
      message: storableText().describe('Your answer.'),
      outcome: DelegationOutcome.optional().describe(
        'For a message that carries a task (task_id): completed (the default), failed, or in_progress to say how it goes or to ask something.',
      ),
      attachments: AttachmentRefs.optional().describe(ATTACHMENTS_INPUT),
    }),
    output: Output,
    examples: [{ query: 'say yes', input: { activity_id: 'msg_8f2c_in', message: 'Yes, it is done.' } }],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    async handler({ activity_id, message, attachments: named, outcome }, context) {
      if (isBlank(message)) throw new AppError('INPUT_INVALID', '"message" is blank. Say something.')
      const attached = await attach(named, context)
      // A new attempt at the same call is the same answer.
      const answer = { text: message, ...attached, outcome, idempotencyKey: context.idempotencyKey }
      const facts = await (await inbox()).reply(actorOf(context), activity_id, answer)
      const { activityId, conversationId, peerName } = facts
      const notes = notesOn(facts, { activity_id, outcome })
      const said = `Answered "${escapeLine(peerName)}"; the message is out of the inbox. Your answer has the activity_id ${activityId}.`
      return toolResult({
        content: [{ type: 'text', text: [said, ...notes].join('\n') }],
        structuredContent: {
          activity_id: activityId,
          conversation_id: conversationId,
          ...(notes.length > 0 && { note: notes.join(' ') }),
        },
      })
    },
  })
}

/** Notes on a task that is still open, and on an outcome that has no effect. */
function notesOn(
  { taskId, openTask, isEnd }: ReplyFacts,
  { activity_id, outcome }: { activity_id: string; outcome: DelegationOutcome | undefined },
): string[] {
  if (openTask !== undefined)
    return [
      `The task ${openTask} goes on. Reply again with the activity_id ${quotedLine(activity_id)} when it is done or failed.`,
    ]
  if (outcome === undefined || isEnd) return []
  const why = taskId === null ? 'The message carries no task' : `You gave the task ${taskId} to another agent`
  const ends = taskId === null ? '' : ' The agent that has the task ends it; you can cancel it with cancel_task.'
  return [`${why}, so "outcome" has no effect. The answer was sent as it is.${ends}`]
}

const BroadcastOutput = z.object({
  reached: z.number().int().describe('How many inboxes have the message now.'),
  missed: z.array(z.object({ workspace_id: z.string(), name: z.string(), reason: z.string() })),
})

/** The tool that writes to all peers. */
export function createBroadcastMessage(inbox: Platform['inbox']) {
  return defineTool({
    name: 'broadcast_message',
    title: 'Write to all peers',
    short: 'Send one message to every peer that you can reach. The whole text lands in the inbox of each.',
    whenToUse:
      'For what all of them must know, such as a change of plan. Needs the ability "broadcast". Comes back with how many ' +
      'have it, and who does not, with the reason. For one peer use delegate_task; for your people use send_message_to_user.',
    command: { name: 'broadcast' },
    input: z.object({
      message: storableText().describe('What each of them reads. They see nothing else of your conversation.'),
      idempotency_key: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('With the same key and text, no peer gets the message twice, however often you send it.'),
    }),
    output: BroadcastOutput,
    examples: [{ query: 'tell all peers that the release is out', input: { message: 'Version 2 is out.' } }],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    async handler({ message, idempotency_key: key }, context) {
      if (isBlank(message)) throw new AppError('INPUT_INVALID', '"message" is blank. Say something.')
      const idempotencyKey = key === undefined ? `call:${context.idempotencyKey}` : `own:${key}`
      const outcome = await (await inbox()).broadcast(actorOf(context), { text: message, idempotencyKey })
      const missed = outcome.missed.map(({ id, name, reason }) => ({ workspace_id: id, name, reason }))
      const lines = missed.map(({ name, reason }) => `${quotedLine(name)} did not get it: ${reason}`)
      const text = [`${outcome.reached} of ${outcome.reached + missed.length} peers have the message.`, ...lines].join(
        '\n',
      )
      return toolResult({
        content: [{ type: 'text', text }],
        structuredContent: { reached: outcome.reached, missed },
      })
    },
  })
}
