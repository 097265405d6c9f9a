import type { ToolResult } from '../../contracts/index.ts'
import { isModelImage, type ModelPiece, modelPieces, textForModel } from '../../core/kernel/index.ts'

/** A result as text. These APIs have no error flag, so the text says it. */
export function toWords(result: ToolResult): string {
  return result.isError ? `Error: ${textForModel(result)}` : textForModel(result)
}

/** A result as text if it has only text, otherwise as parts. */
export function toOutput<Part>(result: ToolResult, toPart: (piece: ModelPiece) => Part): string | Part[] {
  const pieces = modelPieces(result, isTaken)
  if (pieces.every(piece => piece.kind === 'text')) return toWords(result)
  return (result.isError ? marked(pieces) : pieces).map(toPart)
}

/** The file types of the Responses API (https://developers.openai.com/api/docs/guides/file-inputs); it rejects all others. */
function isTaken(mimeType: string): boolean {
  return isModelImage(mimeType) || TEXT.test(mimeType) || DOCUMENT.test(mimeType)
}

const TEXT = /^(text\/[\w.+-]+|application\/(json|xml|x-yaml|yaml|javascript|typescript|x-sh))$/
const DOCUMENT =
  /^application\/(pdf|rtf|msword|vnd\.ms-(excel|powerpoint)|vnd\.oasis\.opendocument\.text|vnd\.openxmlformats-officedocument\..+)$/

function marked([first, ...rest]: readonly ModelPiece[]): ModelPiece[] {
  if (first?.kind === 'text') return [{ kind: 'text', text: `Error: ${first.text}` }, ...rest]
  return [{ kind: 'text', text: 'Error:' }, ...(first ? [first] : []), ...rest]
}

/** Parses the arguments of a model. Invalid JSON goes to the call path as it is, which rejects and explains it. */
export function readArguments(text: string): unknown {
  try {
    return text === '' ? {} : (JSON.parse(text) ?? {})
  } catch {
    return text
  }
}
