import { SUCCEEDED_META, type ToolResult } from '../../contracts/index.ts'

/**
 * A result without the mark that only the wire needs: clients of MCP refuse one without the structure that its tool promises, so a
 * call that waits, and one whose result was cut, is marked as an error there. It is none, and who reads a toolbox checks no structure.
 */
export function unmarked(result: ToolResult): ToolResult {
  if (!result.isError) return result
  const { isError: _mark, ...rest } = result
  if (result._meta?.['quartermaster/waiting'] !== undefined) return rest
  if (result._meta?.[SUCCEEDED_META] !== true) return result
  const { [SUCCEEDED_META]: _succeeded, ..._meta } = result._meta
  // The first words say why it is marked.
  return { ...rest, content: result.content.slice(1), _meta }
}
