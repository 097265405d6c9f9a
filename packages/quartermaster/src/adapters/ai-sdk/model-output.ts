import type { Tool } from 'ai'
import type { ToolResult } from '../../contracts/index.ts'
import { type ModelPiece, modelPieces, modelWords } from '../../core/kernel/index.ts'

type ModelOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>

/** What a model reads of a result. An error stays one, whatever it has beside its words. */
export function toModelOutput(result: ToolResult): ModelOutput {
  if (result.isError) return { type: 'error-text', value: modelWords(result) }
  const pieces = modelPieces(result)
  if (pieces.every(piece => piece.kind === 'text')) return { type: 'text', value: modelWords(result) }
  return { type: 'content', value: pieces.map(toPart) }
}

function toPart(piece: ModelPiece): Extract<ModelOutput, { type: 'content' }>['value'][number] {
  if (piece.kind === 'text') return { type: 'text', text: piece.text }
  const { mimeType: mediaType, data, name } = piece
  const filename = name === undefined ? {} : { filename: name }
  return { type: 'file', mediaType, data: { type: 'data', data }, ...filename }
}
