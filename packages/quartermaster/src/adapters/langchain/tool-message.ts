import { type MessageContent, ToolMessage } from '@langchain/core/messages'
import type { ToolResult } from '../../contracts/index.ts'
import { isSeenPicture, type ModelPiece, modelPieces } from '../../core/kernel/index.ts'

/** What a model reads: a text where there is nothing else, blocks otherwise. */
export function toContent(result: ToolResult): MessageContent {
  const pieces = modelPieces(result, isConverted)
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

/** What LangChain's models make something of in the answer of a tool. Others drop the rest without a word, or fail. */
function isConverted(mimeType: string): boolean {
  return isSeenPicture(mimeType) || mimeType === 'application/pdf'
}

/**
 * Models read files in two ways: by `source_type` and `mime_type`, which is the one that is looked for in the answers of tools, or by
 * `mimeType`, which is to take its place. A block that says both is read by all of them.
 */
function toBlock(piece: ModelPiece) {
  if (piece.kind === 'text') return { type: 'text' as const, text: piece.text }
  const { mimeType, data, name } = piece
  const file = { source_type: 'base64' as const, mime_type: mimeType, mimeType, data }
  if (isSeenPicture(mimeType)) return { type: 'image' as const, ...file }
  // OpenAI's takes no file without a name.
  return { type: 'file' as const, ...file, metadata: { filename: name ?? 'file.pdf' } }
}
