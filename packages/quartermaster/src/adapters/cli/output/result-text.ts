import { ContentBlock, type ToolResult } from '../../../contracts/index.ts'
import { paragraph } from './layout.ts'
import type { Frame } from './terminal.ts'
import { escapeLine, toJsonText } from './terminal.ts'
import { base64Bytes, sizeInWords } from './units.ts'

/** A result as text: its texts unchanged, every other block in a line; the structured content where there is no block. */
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

/** Content of an unknown type is shown as JSON. */
function blockText(given: ContentBlock): string {
  const { success, data: block } = ContentBlock.safeParse(given)
  if (!success) return toJsonText(given, { pretty: false })
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'audio':
      return summary(block.type, block.mimeType, block.data)
    case 'resource': {
      const { text, uri, mimeType, blob = '' } = block.resource
      return text ?? summary('resource', [uri, mimeType].filter(Boolean).join(' '), blob)
    }
    case 'resource_link':
      return `[link ${escapeLine(block.name)} ${escapeLine(block.uri)}]`
  }
}

function summary(kind: string, what: string, base64: string): string {
  return `[${kind} ${escapeLine(what)}, ${sizeInWords(base64Bytes(base64))}]`
}

/** A longer result would push everything else off the screen. */
const MOST_SHOWN = 2_000

/** On a terminal a long text is cut, and `cutAt` says where: `4 kB of 262 kB`. */
export function shownHead(
  text: string,
  { isTerminal }: { readonly isTerminal: boolean },
): { readonly text: string; readonly cutAt: string | undefined } {
  if (!isTerminal || text.length <= MOST_SHOWN) return { text, cutAt: undefined }
  // Not in the middle of a character.
  const head = text.slice(0, MOST_SHOWN).replace(/[\uD800-\uDBFF]$/, '')
  return { text: `${head}…`, cutAt: `${sizeOf(head)} of ${sizeOf(text)}` }
}

function sizeOf(text: string): string {
  return sizeInWords(new TextEncoder().encode(text).length)
}

/** What a tool answered in a result that does not match its schema. */
export function saidText(said: string, frame: Frame): string {
  return `It said:\n${paragraph(said, frame, '  ')}`
}
