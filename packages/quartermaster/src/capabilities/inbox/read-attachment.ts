import { TextDecoder } from 'node:util'
import { z } from 'zod'
import { AppError, AttachmentId, type OpenedAttachment, type Platform, QUOTED_TEXT } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import {
  type Content,
  decodeWith,
  detectContent,
  type Encoding,
  MAX_CHARACTERS,
  mimeTypeOf,
  NotText,
  sizeText,
} from '../shared/text.ts'
import { actorOf, quoted } from '../shared/workspace-io.ts'

const MAX_BINARY_BYTES = 1024 * 1024

const Input = z.object({
  attachment_id: AttachmentId.describe('The id of a file that came with a message: "att_…".'),
  offset: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe('The character to start at: the next_offset of the page before.'),
})

const Output = z.object({
  attachment_id: z.string(),
  name: z.string(),
  kind: z.enum(['text', 'image', 'binary']),
  media_type: z.string(),
  size: z.number().int().describe('Bytes of the whole file.'),
  text: z.string().optional().describe('The characters that were read.'),
  offset: z.number().int().optional().describe('The position of the first character.'),
  next_offset: z.number().int().nullable().optional().describe('Where to go on; null at the end.'),
})
type Output = z.infer<typeof Output>

/** The tool that reads an attachment. */
export function createReadAttachment(attachments: Platform['attachments']) {
  return defineTool({
    name: 'read_attachment',
    title: 'Read an attached file',
    short: `Read a file that came with a message: text, images as images, other small files as bytes. ${QUOTED_TEXT}`,
    whenToUse:
      'When a message has attachments and you need to know what is in them; the message names their ids. Text comes ' +
      `${MAX_CHARACTERS.toLocaleString('en')} characters at a time, with next_offset for the rest. Images (PNG, JPEG, GIF, ` +
      'WebP) and other files come whole up to 1 MiB. It reads no files of your own folders.',
    command: { name: 'attachment' },
    input: Input,
    output: Output,
    examples: [{ query: 'what is in the file she sent?', input: { attachment_id: 'att_8f2c' } }],
    mutates: false,
    // An image of 1 MiB in base64, or the text twice: as content and as structured content.
    maxResultBytes: 4 * 1024 * 1024,
    async handler({ attachment_id, offset = 0 }, context) {
      const service = await attachments()
      const open = () => service.open(actorOf(context), attachment_id)
      const content = await contentOf(await open())
      if (content.kind !== 'text') return readBytes(await open(), content)
      try {
        return await readText(await open(), content.encoding, offset)
      } catch (error) {
        if (!(error instanceof NotText)) throw error
        const opened = await open()
        return readBytes(opened, { kind: 'binary', mimeType: mimeTypeOf(opened.facts.name) })
      }
    },
  })
}

/** The media type is decided by the first bytes, not by what the sender declared. */
async function contentOf({ facts, content }: OpenedAttachment): Promise<Content> {
  for await (const piece of content) return detectContent(piece, facts.name)
  return { kind: 'text', encoding: 'utf-8' }
}

/** Always reads to the end: only then is the content known to be valid text. */
async function readText({ facts, content }: OpenedAttachment, encoding: Encoding, offset: number) {
  const decoder = new TextDecoder(encoding, { fatal: true })
  let passed = 0
  let text = ''
  const take = (characters: string) => {
    const from = Math.max(0, offset - passed)
    text += characters.slice(from, from + MAX_CHARACTERS - text.length)
    passed += characters.length
  }
  for await (const piece of content) take(decodeWith(decoder, piece, true))
  take(decodeWith(decoder, new Uint8Array(), false))
  if (offset > 0 && offset >= passed)
    throw new AppError('INPUT_INVALID', `The file "${facts.name}" has ${passed} characters, so there is no ${offset}.`)
  // The first half of a surrogate pair is left for the next page.
  const page = offset + text.length < passed ? text.replace(/[\ud800-\udbff]$/, '') : text
  return textResult(facts, { text: page, offset, total: passed })
}

function textResult(
  facts: OpenedAttachment['facts'],
  { text, offset, total }: { text: string; offset: number; total: number },
) {
  const end = offset + text.length
  const next_offset = end < total ? end : null
  const structuredContent: Output = { ...about(facts), kind: 'text', text, offset, next_offset }
  const rest =
    next_offset === null ? [] : [`There is more: characters ${offset} to ${end} of ${total}. Go on with offset ${end}.`]
  const words = [`${headOf(facts)}:`, quoted(text), ...rest].join('\n')
  return toolResult({ content: [{ type: 'text', text: words }], structuredContent })
}

async function readBytes({ facts, content }: OpenedAttachment, { kind, mimeType }: Exclude<Content, { kind: 'text' }>) {
  if (facts.size > MAX_BINARY_BYTES)
    throw new AppError(
      'INPUT_INVALID',
      `${headOf(facts)} is no text; such files are read up to ${sizeText(MAX_BINARY_BYTES)}. ` +
        'A program with a token of this workspace gets it whole from the API.',
    )
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  const data = Buffer.concat(pieces).toString('base64')
  const structuredContent: Output = { ...about(facts), kind, media_type: mimeType }
  if (kind === 'image') return toolResult({ content: [{ type: 'image', data, mimeType }], structuredContent })
  const resource = { uri: `attachment:///${facts.id}`, mimeType, blob: data }
  return toolResult({ content: [{ type: 'resource', resource }], structuredContent })
}

const about = ({ id, name, mediaType, size }: OpenedAttachment['facts']) => ({
  attachment_id: id,
  name,
  media_type: mediaType,
  size,
})

function headOf({ id, name, size }: OpenedAttachment['facts']): string {
  return `The file ${escapeLine(JSON.stringify(name))} (${id}, ${sizeText(size)})`
}
