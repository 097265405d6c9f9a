import { z } from 'zod'
import { AttachmentChip } from './attachment.ts'
import { MessagePart, PeerKind } from './message.ts'

/** One thing that was said in the chat of a workspace. */
export const ChatEntry = z.object({
  id: z.string().describe('The same as that of its event.'),
  messageId: z.string(),
  from: z
    .object({
      kind: PeerKind.extract(['person', 'workspace']),
      id: z.string().describe('"person:NAME", or the id of the workspace.'),
      name: z.string(),
    })
    .describe('Who says it.'),
  text: z.string(),
  parts: z.array(MessagePart),
  attachments: z.array(AttachmentChip),
  inReplyTo: z.string().nullable().describe('The entry that it answers.'),
  createdAt: z.number().int().nonnegative(),
})
export type ChatEntry = z.infer<typeof ChatEntry>

export const ChatPage = z.object({
  entries: z.array(ChatEntry),
  nextCursor: z.string().nullable().describe('What leads to the entries before these; null when there are none.'),
  since: z.string().describe('Where to follow `/events` from, so that nothing is missed.'),
})
export type ChatPage = z.infer<typeof ChatPage>
