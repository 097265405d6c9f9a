import { z } from 'zod'
import {
  AppError,
  AttachmentRefs,
  DelegationOutcome,
  isBlank,
  keepableText,
  type Platform,
  type ReplyFacts,
  TOLD_TOOLS,
} from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { actorOf } from '../shared/actor.ts'
import { ATTACHMENTS_INPUT, type Attacher } from '../shared/attached.ts'
import { quotedLine } from '../shared/message-words.ts'
import { ActivityReference } from './activity-reference.ts'

const Output = z.object({
  activity_id: z.string().describe('Of your answer. What comes back to it names this in in_reply_to.'),
  conversation_id: z.string(),
  note: z.string().optional(),
})

/** The tool that answers a message. */
export function createReply(inbox: Platform['inbox'], attach: Attacher) {
  return defineTool({
    name: TOLD_TOOLS.reply,
    title: 'Answer a message',
    short:
      'Answer a message of your inbox: whoever sent it gets the answer, and the message is taken out of the inbox.',
    whenToUse:
      'To answer a message of a person or another agent. The answer stays in the same conversation and says what it ' +
      'answers, so that the other side can match the two; do not start something new for it. The message is acknowledged ' +
      'together with the answer, so that inbox_pop is not needed. If it carries a task (task_id), your answer is its result ' +
      'and ends it, unless outcome says that it failed or is still in_progress.',
    command: { name: 'reply' },
    input: z.object({
      activity_id: ActivityReference,
      // How long it may be depends on what it answers, and is counted in bytes.
      message: keepableText().describe('What you answer.'),
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

interface Answered {
  readonly activity_id: string
  readonly outcome: DelegationOutcome | undefined
}

/** What an agent could be mistaken about: a task that it has yet to end, and an outcome that is of nothing. */
function notesOn({ taskId, openTask, isEnd }: ReplyFacts, { activity_id, outcome }: Answered): string[] {
  if (openTask !== undefined)
    return [
      `The task ${openTask} goes on. Reply again with the activity_id ${quotedLine(activity_id)} when it is done or failed.`,
    ]
  if (outcome === undefined || isEnd) return []
  const why = taskId === null ? 'The message carries no task' : `The task ${taskId} is one that you gave away`
  const ends = taskId === null ? '' : ' Whoever has the task ends it; you can cancel it with cancel_task.'
  return [`${why}, so that "outcome" means nothing here. The answer was sent as it is.${ends}`]
}
