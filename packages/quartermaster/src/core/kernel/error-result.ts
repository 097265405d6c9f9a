import type { AppError, ToolResult } from '../../contracts/index.ts'
import { modelText } from './model-text.ts'

/**
 * An error as a result that the model can read and a program can recognise. `isBare` leaves the structure out: some clients
 * hold it against what the tool promises, even where it is an error, and then nobody sees either.
 */
export function errorResult(error: AppError, { isBare = false }: { isBare?: boolean } = {}): ToolResult {
  const facts = { ...error.toJSON() }
  return {
    content: [{ type: 'text', text: modelText(facts) }, ...saidBeside(error)],
    ...(isBare ? {} : { structuredContent: { error: facts } }),
    isError: true,
    _meta: { 'quartermaster/error': facts },
  }
}

/** What a tool said that ran, and whose result is an error for something else in it. */
function saidBeside({ code, details }: AppError): ToolResult['content'] {
  const isOfResult = code === 'OUTPUT_INVALID' || (code === 'OUTCOME_UNKNOWN' && details?.because === 'OUTPUT_INVALID')
  return isOfResult && Array.isArray(details?.content) ? details.content : []
}
