import type { ToolResult } from '../../contracts/index.ts'

/**
 * A result without the mark that only the wire needs: clients of MCP refuse one without the structure that its tool promises, so a
 * call that waits is marked as an error there. It is none, and who reads a toolbox checks no structure.
 */
export function unmarked(result: ToolResult): ToolResult {
  if (!result.isError || result._meta?.['quartermaster/waiting'] === undefined) return result
  const { isError: _mark, ...rest } = result
  return rest
}
