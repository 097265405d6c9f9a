import { type MessageContent, ToolMessage } from '@langchain/core/messages'
import type { ToolResult } from '../../contracts/index.ts'
import { type ModelPiece, modelPieces } from '../../core/kernel/index.ts'

/** What a model reads: a text where there is nothing else, blocks otherwise. */
export function toContent(result: ToolResult): MessageContent {
  const pieces = modelPieces(result)
  const [only] = pieces
  if (pieces.length === 0) return ''
  return pieces.length === 1 && only?.kind === 'text' ? only.text : pieces.map(toBlock)
}

/** The answer to a model's call, marked as an error where it is one. The whole result is its artifact. */
export function toMessage(result: ToolResult, { name, toolCallId }: { name: string; toolCallId: string }) {
  return new ToolMessage({
    content: toContent(result),
    artifact: result,
    status: result.isError ? 'error' : 'success',
    name,
    tool_call_id: toolCallId,
  })
}

function toBlock(piece: ModelPiece) {
  if (piece.kind === 'text') return { type: 'text' as const, text: piece.text }
  const { mimeType, data, name } = piece
  const metadata = name === undefined ? {} : { metadata: { filename: name } }
  return { type: blockType(mimeType), mimeType, data, ...metadata }
}

function blockType(mimeType: string): 'image' | 'audio' | 'video' | 'file' {
  const kind = mimeType.split('/')[0]
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file'
}
