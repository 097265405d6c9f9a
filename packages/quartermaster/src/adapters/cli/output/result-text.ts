import { ContentBlock, type ToolResult } from '../../../contracts/index.ts'
import { escapeLine, toJsonText } from './escape.ts'
import { paragraph } from './layout.ts'
import type { Frame } from './printer.ts'
import { base64Bytes, sizeInWords } from './units.ts'

/** What a result says, as text: its texts as they are, everything else in a line; the structured content where there is no text. */
export function resultText(result: ToolResult): string {
  const blocks = result.content.map(blockText)
  if (blocks.length > 0) return joinBlocks(blocks)
  return result.structuredContent === undefined ? '' : `${toJsonText(result.structuredContent, { pretty: true })}\n`
}

/** Every block begins on a line of its own, and no text is changed for it. */
function joinBlocks(blocks: readonly string[]): string {
  return blocks.reduce(
    (joined, block) => (joined === '' || joined.endsWith('\n') ? joined + block : `${joined}\n${block}`),
    '',
  )
}

/** A kind of content that is not known here is shown as it came. */
function blockText(given: ContentBlock): string {
  const { success, data: block } = ContentBlock.safeParse(given)
  if (!success) return toJsonText(given, { pretty: false })
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'audio':
      return summary(block.type, block.mimeType, sizeInWords(base64Bytes(block.data)))
    case 'resource':
      return block.resource.text ?? resourceSummary(block.resource)
    case 'resource_link':
      return `[link ${escapeLine(block.name)} ${escapeLine(block.uri)}]`
  }
}

function resourceSummary({
  uri,
  mimeType,
  blob = '',
}: {
  uri: string
  mimeType?: string | undefined
  blob?: string | undefined
}): string {
  return summary('resource', [uri, mimeType].filter(Boolean).join(' '), sizeInWords(base64Bytes(blob)))
}

function summary(kind: string, what: string, size: string): string {
  return `[${kind} ${escapeLine(what)}, ${size}]`
}

/** More than this of what a tool gave would push everything else off the screen. */
const MOST_SHOWN = 2_000

/** What is shown of a long text, and how much that is. */
interface ShownHead {
  readonly text: string
  /** `4 kB of 262 kB` where it is not all. */
  readonly cutAt: string | undefined
}

/** On a terminal a long text is cut; anywhere else it goes out whole. */
export function shownHead(text: string, { isTerminal }: { readonly isTerminal: boolean }): ShownHead {
  if (!isTerminal || text.length <= MOST_SHOWN) return { text, cutAt: undefined }
  // Not in the middle of a character.
  const head = text.slice(0, MOST_SHOWN).replace(/[\uD800-\uDBFF]$/, '')
  return { text: `${head}…`, cutAt: `${sizeOf(head)} of ${sizeOf(text)}` }
}

function sizeOf(text: string): string {
  return sizeInWords(new TextEncoder().encode(text).length)
}

/** What a tool said in a result that does not match its schema, line by line as it came. */
export function saidText(said: string, frame: Frame): string {
  return `It said:\n${paragraph(said, frame, '  ')}`
}
