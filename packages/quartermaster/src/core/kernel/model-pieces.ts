import { ContentBlock, type ToolResult } from '../../contracts/index.ts'
import { binaryIn } from './binary-content.ts'

/** What a model is handed of a result: words, or a file with its kind. Every runtime has a shape for both. */
export type ModelPiece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly mimeType: string; readonly data: string; readonly name: string | undefined }

/**
 * A result in the pieces that a model can take, in their order. The structured content stands for itself where nothing else is
 * there. A file of a kind that is not taken where it goes is named in words: sent all the same, it would fail the whole request.
 */
export function modelPieces(
  { content, structuredContent }: ToolResult,
  takes: (mimeType: string) => boolean = () => true,
): ModelPiece[] {
  if (content.length > 0) return content.map(pieceOf).map(piece => (isTaken(piece, takes) ? piece : named(piece)))
  return structuredContent === undefined ? [] : [textPiece(JSON.stringify(structuredContent))]
}

/** The words of a result, for whoever takes nothing else. */
export function modelWords(result: ToolResult): string {
  const words = modelPieces(result, () => false).map(piece => (piece.kind === 'text' ? piece.text : ''))
  return words.join('\n')
}

/** The pictures that models see, whoever made them. */
export function isSeenPicture(mimeType: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(mimeType)
}

function isTaken(piece: ModelPiece, takes: (mimeType: string) => boolean): boolean {
  return piece.kind === 'text' || takes(piece.mimeType)
}

function named(piece: ModelPiece): ModelPiece {
  if (piece.kind === 'text') return piece
  return textPiece(`[${piece.mimeType}${piece.name === undefined ? '' : ` ${piece.name}`}]`)
}

/** A kind that nobody here knows is shown as it came. */
function pieceOf(given: ContentBlock): ModelPiece {
  const { success, data: block } = ContentBlock.safeParse(given)
  if (!success) return unknownPiece(given)
  switch (block.type) {
    case 'text':
      return textPiece(block.text)
    case 'image':
    case 'audio':
      return { kind: 'file', mimeType: plainType(block.mimeType), data: block.data, name: undefined }
    case 'resource':
      return resourcePiece(block.resource)
    case 'resource_link':
      return textPiece(`[${block.name}: ${block.uri}]`)
  }
}

function unknownPiece(given: object): ModelPiece {
  const binary = binaryIn(given)
  if (!binary) return textPiece(JSON.stringify(given))
  return { kind: 'file', mimeType: plainType(binary.mimeType), data: binary.data, name: undefined }
}

function resourcePiece({ uri, text, blob = '', mimeType: given = UNKNOWN_TYPE }: EmbeddedResource): ModelPiece {
  const mimeType = plainType(given)
  return text === undefined ? { kind: 'file', mimeType, data: blob, name: fileName(uri, mimeType) } : textPiece(text)
}

/** A kind as everybody compares it: `Image/JPG; q=1` is `image/jpeg`. */
function plainType(mimeType: string): string {
  const type = mimeType
    .replace(/;[^]*$/, '')
    .trim()
    .toLowerCase()
  return type === 'image/jpg' ? 'image/jpeg' : type
}

/** The last part of an address. Those who read the kind of a file from its name find it there. */
function fileName(uri: string, mimeType: string): string {
  const path = uri.replace(/[?#].*$/, '').replace(/[/:]+$/, '')
  const last = decoded(path.slice(path.search(/[^/:\\]*$/)))
  const extension = EXTENSIONS[mimeType]
  const name = last === '' ? 'file' : last
  return extension === undefined || /\.\w+$/.test(name) ? name : `${name}.${extension}`
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'application/json': 'json',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that means itself.
    return text
  }
}

type EmbeddedResource = Extract<ContentBlock, { type: 'resource' }>['resource']

const UNKNOWN_TYPE = 'application/octet-stream'

function textPiece(text: string): ModelPiece {
  return { kind: 'text', text }
}
