import { z } from 'zod'
import {
  AppError,
  AttachmentChip,
  AttachmentRefs,
  isBlank,
  type PeopleFacts,
  type Platform,
  storableText,
} from '../../contracts/index.ts'
import { defineCapability, defineModule, defineTool, toolResult } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { ATTACHMENTS_INPUT, type Attacher, createAttacher } from '../shared/attachments.ts'
import { actorOf } from '../shared/workspace-io.ts'
import { fileNamedIn } from './file-named.ts'

/** Messages to the people who read the chat of an agent's workspace. */
export default defineModule({
  needs: ['people', 'paths', 'attachments'],
  create({ people, paths, attachments }) {
    const attach = createAttacher({ paths, attachments })
    return defineCapability({
      key: 'user',
      title: 'People',
      short: 'Write to the people who see your chat, with files.',
      inward: true,
      tools: [createSendMessageToUser(people, attach)],
    })
  },
})

const Output = z.object({
  activity_id: z.string().describe('The id of your message. Answers of people have it in in_reply_to.'),
  conversation_id: z.string().describe('The chat. There is one.'),
  created_at: z.iso.datetime(),
  attachments: z.array(AttachmentChip).describe('The download chips that people see.'),
  warning: z.string().optional(),
})

/** The tool that writes to the people of a workspace. */
function createSendMessageToUser(people: Platform['people'], attach: Attacher) {
  return defineTool({
    name: 'send_message_to_user',
    title: 'Write to your people',
    short:
      'Send a message to the chat that your people see: to acknowledge a task at once, to say how it goes, to deliver what ' +
      'came of it, with files as `attachments`.',
    whenToUse:
      'All along a task: early to acknowledge it, on the way to say how it goes, at the end to deliver. Everybody who may see ' +
      'your workspace reads it, whether they are there now or look later. Files go into `attachments` and become download ' +
      'chips; never paste links to files or paths into `message`, which people cannot open. To answer one message of your ' +
      'inbox use reply, which also takes it out; to write to another agent use delegate_task.',
    command: { name: 'say' },
    input: z.object({
      message: storableText().describe(
        'What the chat shows. Required also with attachments: a short label such as "Done, see attached." ' +
          'Do not put links to files or paths here; files go into `attachments`.',
      ),
      attachments: AttachmentRefs.optional().describe(ATTACHMENTS_INPUT),
    }),
    output: Output,
    examples: [
      { query: 'tell the user that the work has begun', input: { message: 'Got it, I am on it.' } },
      { query: 'give the user the report', input: { message: 'Here is the report.', attachments: ['report.pdf'] } },
    ],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    async handler({ message, attachments: named }, context) {
      if (isBlank(message))
        throw new AppError('INPUT_INVALID', '"message" is blank. Say something, also when you attach files.')
      const attached = await attach(named, context)
      // A new attempt at the same call is the same message.
      const wish = { text: message, ...attached, idempotencyKey: context.idempotencyKey }
      const sent = await (await people()).send(actorOf(context), wish)
      return answer(sent, warningFor(message, sent))
    },
  })
}

function warningFor(message: string, { attachments }: PeopleFacts): string | undefined {
  const named = fileNamedIn(
    message,
    attachments.map(({ name }) => name),
  )
  if (named === undefined) return undefined
  return `The message was sent as it is, but it names a file ("${escapeLine(named)}") that people cannot open from the chat. Send the file itself in "attachments".`
}

function answer({ activityId, conversationId, createdAt, attachments }: PeopleFacts, warning: string | undefined) {
  const files = attachments.map(({ name }) => `"${escapeLine(name)}"`).join(', ')
  const sent = `Sent to the people of this workspace${files === '' ? '' : ` with ${files}`}. Its activity_id is ${activityId}.`
  return toolResult({
    content: [{ type: 'text', text: warning === undefined ? sent : `${sent}\n${warning}` }],
    structuredContent: {
      activity_id: activityId,
      conversation_id: conversationId,
      created_at: new Date(createdAt).toISOString(),
      attachments,
      ...(warning !== undefined && { warning }),
    },
  })
}
