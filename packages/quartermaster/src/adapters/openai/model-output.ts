import type { ToolResult } from '../../contracts/index.ts'
import { isSeenPicture, type ModelPiece, modelPieces, modelWords } from '../../core/kernel/index.ts'

/** What a model reads of a result, where an API takes texts alone. There is no mark for errors on these wires, so the words say it. */
export function toWords(result: ToolResult): string {
  return result.isError ? `Error: ${modelWords(result)}` : modelWords(result)
}

/** The same where an API takes files as well: a text where there is nothing else, parts otherwise. */
export function toOutput<Part>(result: ToolResult, toPart: (piece: ModelPiece) => Part): string | Part[] {
  const pieces = modelPieces(result, isTaken)
  if (pieces.every(piece => piece.kind === 'text')) return toWords(result)
  return (result.isError ? marked(pieces) : pieces).map(toPart)
}

/** What the Responses API takes (https://developers.openai.com/api/docs/guides/file-inputs): for anything else it refuses the request. */
function isTaken(mimeType: string): boolean {
  return isSeenPicture(mimeType) || TEXT.test(mimeType) || DOCUMENT.test(mimeType)
}

const TEXT = /^(text\/[\w.+-]+|application\/(json|xml|x-yaml|yaml|javascript|typescript|x-sh))$/
const DOCUMENT =
  /^application\/(pdf|rtf|msword|vnd\.ms-(excel|powerpoint)|vnd\.oasis\.opendocument\.text|vnd\.openxmlformats-officedocument\..+)$/

function marked([first, ...rest]: readonly ModelPiece[]): ModelPiece[] {
  if (first?.kind === 'text') return [{ kind: 'text', text: `Error: ${first.text}` }, ...rest]
  return [{ kind: 'text', text: 'Error:' }, ...(first ? [first] : []), ...rest]
}

/** What a model wrote as arguments, nothing for none. What is no JSON goes to the call path as it is, which refuses it and says so. */
export function readArguments(text: string): unknown {
  try {
    return text === '' ? {} : (JSON.parse(text) ?? {})
  } catch {
    return text
  }
}
