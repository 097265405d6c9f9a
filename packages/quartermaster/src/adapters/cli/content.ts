import { ContentBlock, type ToolResult } from '../../contracts/index.ts'
import { base64Bytes, sizeInWords } from './bytes.ts'
import { escapeLine, toJsonText } from './escape.ts'

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

/** A kind that nobody here knows is shown as it came. */
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
