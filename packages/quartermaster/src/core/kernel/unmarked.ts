import { SUCCEEDED_META, type ToolResult } from '../../contracts/index.ts'

/**
 * A result without the mark that only the wire needs: clients of MCP refuse one without the structure that its tool promises, so a
 * call whose result was cut is marked as an error there. It is none, and who reads a toolbox checks no structure.
 */
export function unmarked(result: ToolResult): ToolResult {
  if (!result.isError) return unsaid(result)
  const { isError: _mark, ...rest } = result
  if (!isStripped(result)) return result
  // The first words say why it is marked.
  return unsaid({ ...rest, content: result.content.slice(1) })
}

/** Whether it has no structure because it is too large, where its tool promises one. */
export function isStripped({ _meta }: ToolResult): boolean {
  return _meta?.[SUCCEEDED_META] === true
}

/** Without what is said of a result that is marked, or has to be. The same where nothing is. */
export function unsaid(result: ToolResult): ToolResult {
  if (!isStripped(result)) return result
  const { _meta, ...rest } = result
  const { [SUCCEEDED_META]: _succeeded, ...own } = _meta ?? {}
  return Object.keys(own).length === 0 ? rest : { ...rest, _meta: own }
}
