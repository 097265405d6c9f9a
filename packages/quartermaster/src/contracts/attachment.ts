import { z } from 'zod'
import { keepableText } from './keepable-text.ts'
import { MOST_ATTACHMENTS } from './message.ts'

/** As many characters as file systems take bytes or units; longer ones are not names. */
export const LONGEST_ATTACHMENT_NAME = 255

/**
 * What a file is called, for whoever looks at it: any characters, and never a path. Where it is shown, what cannot be seen is
 * made visible; where it leaves as a file name, what could mean more than a name is replaced.
 */
export const AttachmentName = keepableText().refine(
  name => name.length > 0 && Array.from(name).length <= LONGEST_ATTACHMENT_NAME,
  { error: `must have 1 to ${LONGEST_ATTACHMENT_NAME} characters` },
)

/** `text/plain`: what somebody says it is (RFC 6838 §4.2), without parameters. Nobody believes it. */
export const MediaType = z
  .string()
  .max(255)
  .regex(/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/, 'must look like "text/plain", in lower case')

export const AttachmentId = z.string().regex(/^att_[\w-]{1,124}$/, 'must be the id of an attachment: "att_…"')

/** The attachments of a message that is to be sent. */
export const AttachmentIds = z.array(AttachmentId).max(MOST_ATTACHMENTS)

/** What marks, in the schema of a tool's input, a list that files are named in. */
export const NAMES_ATTACHMENTS = 'x-quartermaster-attachments'

/**
 * The files of a message as an agent names them: by their ids, and by their paths where somebody beside the agent can open
 * them. Whoever passes a call on sees by the mark which of its inputs these are.
 */
export const AttachmentRefs = z
  .array(keepableText().min(1).max(4_096))
  .max(MOST_ATTACHMENTS)
  .meta({ [NAMES_ATTACHMENTS]: true })

/** Whether a file is named by its id. */
export function isAttachmentId(reference: string): boolean {
  return AttachmentId.safeParse(reference).success
}

/** A file that was handed in. */
export const AttachmentFacts = z.object({
  id: z.string(),
  name: z.string(),
  mediaType: z.string(),
  size: z.number().int().nonnegative().describe('In bytes.'),
  sha256: z.string().describe('Of its content, in lower-case hex.'),
})
export type AttachmentFacts = z.infer<typeof AttachmentFacts>

/** An attachment as a message shows it. */
export const AttachmentChip = AttachmentFacts.pick({ id: true, name: true, mediaType: true, size: true }).extend({
  url: z.string().describe('Where its content is, below the address of this server.'),
})
export type AttachmentChip = z.infer<typeof AttachmentChip>
