import { SUCCEEDED_META, type ToolResult } from '../../../contracts/index.ts'
import { type BinaryContent, binaryIn, withoutBinary } from '../../kernel/index.ts'

const encoder = new TextEncoder()

type Block = ToolResult['content'][number]

/**
 * A result that has pictures, sounds or files in it. Half a picture is none, and nobody can read base64: they are handed over
 * whole or not at all, and have no part in the pages of what is too long.
 */
export interface BinaryParts {
  /** The result as it may be handed over, with words in place of what is too large. The same where nothing is. */
  readonly result: ToolResult
  /** All of it that is text and structure. */
  readonly words: ToolResult
  /** What stands beside the words where those are cut. */
  readonly blocks: readonly Block[]
}

export interface BinaryOptions {
  readonly maxBytes: number
  /** Whether clients hold the structure against what its tool promises. */
  readonly isPromised: boolean
}

/** Takes a result apart, unless all of it is text. */
export function binaryParts(result: ToolResult, options: BinaryOptions): BinaryParts | undefined {
  const { maxBytes } = options
  const pieces = piecesOf(result, { maxBytes, say: binary => tooLarge(binary, maxBytes) })
  if (pieces.every(({ binary }) => !binary)) return undefined
  const { content } = result
  const handed = pieces.map(({ block }) => block)
  const words = handed.filter((_, at) => !pieces[at]?.binary)
  return {
    result: handed.some((block, at) => block !== content[at]) ? withLess(result, pieces, options) : result,
    words: withParts(
      result,
      words,
      repeated(pieces, ({ binary }) => binary && named(binary)),
    ),
    blocks: handed.filter((_, at) => pieces[at]?.binary),
  }
}

/** As many bytes as a result takes on record that has pictures, sounds or files in it; nothing for any other. */
export function bytesWithBinary(result: ToolResult): number {
  return result.content.some(binaryIn) ? encoder.encode(JSON.stringify(result)).length : 0
}

/** A result whose pictures, sounds and files were dropped from the record; the same where it has none. */
export function withoutBinaryParts(result: ToolResult): ToolResult {
  const pieces = piecesOf(result, { maxBytes: 0, say: dropped })
  // Nobody knows here whether a structure was promised; whoever tells it does, while the tool is there.
  return pieces.some(({ words }) => words !== undefined) ? withLess(result, pieces, { isPromised: true }) : result
}

/** A block as it is handed over: as it is, or words in its place. */
interface Piece {
  readonly block: Block
  readonly binary: BinaryContent | undefined
  readonly words: string | undefined
}

interface Leaving {
  readonly maxBytes: number
  /** What is said in place of what does not fit. */
  say(binary: BinaryContent): string
}

function piecesOf({ content }: ToolResult, { maxBytes, say }: Leaving): Piece[] {
  let room = maxBytes
  return content.map(block => {
    const binary = binaryIn(block)
    if (!binary) return { block, binary, words: undefined }
    const bytes = binary.data.length + JSON.stringify(withoutBinary(block)).length
    if (bytes > room) return leftOut(binary, say(binary))
    room -= bytes
    return { block, binary, words: undefined }
  })
}

function leftOut(binary: BinaryContent, words: string): Piece {
  return { block: { type: 'text', text: words }, binary, words }
}

/** What is said for base64 that may stand in the structure as well. */
function repeated(pieces: readonly Piece[], say: (piece: Piece) => string | undefined): ReadonlyMap<string, string> {
  const said = pieces.flatMap((piece): [string, string][] => {
    const words = say(piece)
    const isLong = piece.binary !== undefined && piece.binary.data.length >= LEAST_REPEATED
    return isLong && words !== undefined ? [[piece.binary.data, words]] : []
  })
  return new Map(said)
}

/** Less than this may be a text of the structure that is the same by chance, and counts with the text. */
const LEAST_REPEATED = 256

function withParts(result: ToolResult, content: Block[], texts: ReadonlyMap<string, string>): ToolResult {
  const { structuredContent } = result
  if (structuredContent === undefined) return { ...result, content }
  return { ...result, content, structuredContent: retold(structuredContent, texts) }
}

/** A structure with words in it need not be what was promised any more: it is told as text then, and the result says so. */
function withLess(
  whole: ToolResult,
  pieces: readonly Piece[],
  { isPromised }: Pick<BinaryOptions, 'isPromised'>,
): ToolResult {
  const handed = pieces.map(({ block }) => block)
  const less = withParts(
    whole,
    handed,
    repeated(pieces, ({ words }) => words),
  )
  if (!isPromised || whole.isError) return less
  const { structuredContent, ...rest } = less
  if (structuredContent === whole.structuredContent) return less
  const content: Block[] = [...less.content, { type: 'text', text: JSON.stringify(structuredContent) }]
  return { ...rest, content, _meta: { ...less._meta, [SUCCEEDED_META]: true } }
}

/** A structure with words in place of base64 that stands in the content as well; the same where it has none. */
function retold(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (texts.size === 0) return value
  if (typeof value === 'string') return texts.get(base64In(value)) ?? value
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  if (Array.isArray(value)) {
    const items = value.map(item => retold(item, texts))
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const entries = Object.entries(value).map(([key, item]) => [key, retold(item, texts), item] as const)
  return entries.every(([, told, item]) => told === item) ? value : Object.fromEntries(entries)
}

/** Of an address that holds what it leads to, that. */
function base64In(text: string): string {
  return text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text
}

function named({ data, mimeType }: BinaryContent): string {
  return `[${mimeType} of ${data.length} bytes, as base64]`
}

function tooLarge({ data, mimeType }: BinaryContent, maxBytes: number): string {
  const what = `${mimeType} of ${data.length} bytes, as base64, is left out`
  const next = 'Ask for a smaller one; whoever runs this server of tools can raise "maxBinaryBytes".'
  return `[${what}: all that a result has of the kind may have ${maxBytes} bytes. ${next}]`
}

function dropped({ data, mimeType }: BinaryContent): string {
  return `[${mimeType} of ${data.length} bytes, as base64, was dropped to make room for newer results. The owner can keep more with the setting \`storedResultsBytes\`.]`
}
