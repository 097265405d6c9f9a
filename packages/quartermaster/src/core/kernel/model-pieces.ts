import { ContentBlock, type ToolResult } from '../../contracts/index.ts'

/** What a model is handed of a result: words, or a file with its kind. Every runtime has a shape for both. */
export type ModelPiece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly mimeType: string; readonly data: string; readonly name: string | undefined }

/** A result in the pieces that a model can take, in their order. The structured content stands for itself where nothing else is there. */
export function modelPieces({ content, structuredContent }: ToolResult): ModelPiece[] {
  if (content.length > 0) return content.map(pieceOf)
  return structuredContent === undefined ? [] : [textPiece(JSON.stringify(structuredContent))]
}

/** The words of a result, for whoever takes nothing else. */
export function modelWords(result: ToolResult): string {
  const words = modelPieces(result).map(piece =>
    piece.kind === 'text' ? piece.text : `[${piece.mimeType}${piece.name === undefined ? '' : ` ${piece.name}`}]`,
  )
  return words.join('\n')
}

/** A kind that nobody here knows is shown as it came. */
function pieceOf(given: ContentBlock): ModelPiece {
  const { success, data: block } = ContentBlock.safeParse(given)
  if (!success) return textPiece(JSON.stringify(given))
  switch (block.type) {
    case 'text':
      return textPiece(block.text)
    case 'image':
    case 'audio':
      return { kind: 'file', mimeType: block.mimeType, data: block.data, name: undefined }
    case 'resource':
      return resourcePiece(block.resource)
    case 'resource_link':
      return textPiece(`[${block.name}: ${block.uri}]`)
  }
}

function resourcePiece({ uri, text, blob = '', mimeType = UNKNOWN_TYPE }: EmbeddedResource): ModelPiece {
  return text === undefined ? { kind: 'file', mimeType, data: blob, name: uri } : textPiece(text)
}

type EmbeddedResource = Extract<ContentBlock, { type: 'resource' }>['resource']

const UNKNOWN_TYPE = 'application/octet-stream'

function textPiece(text: string): ModelPiece {
  return { kind: 'text', text }
}
