import { z } from 'zod'
import { AppError, isBlank, keepableText, type Platform } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { quotedLine } from '../shared/message-words.ts'

const Output = z.object({
  reached: z.number().int().describe('How many inboxes have the message now.'),
  missed: z.array(z.object({ workspace_id: z.string(), name: z.string(), reason: z.string() })),
})

/** The tool that writes to every workspace in reach. */
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
      message: keepableText().describe('What each of them reads. They see nothing else of your conversation.'),
      idempotency_key: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('With the same key and text, no peer gets the message twice, however often you send it.'),
    }),
    output: Output,
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
