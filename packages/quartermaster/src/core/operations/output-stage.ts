import { AppError, issueText, ToolResult } from '../../contracts/index.ts'
import { kindOf, type Tool } from '../catalogue/index.ts'
import { type FoundIssue, fewIssues } from '../kernel/index.ts'

/** Makes a result of whatever a handler returned, and checks structured content against the output schema. */
export async function toToolResult(tool: Tool, output: unknown): Promise<ToolResult> {
  if (kindOf(output) === 'result') return checkedResult(tool, output as ToolResult)
  if (tool.validateOutput) return structured(tool, await checkOutput(tool, output))
  if (typeof output === 'string') return { content: [{ type: 'text', text: output }] }
  if (output === undefined || output === null) return { content: [] }
  return { content: [{ type: 'text', text: toJson(tool, output) }] }
}

async function checkedResult(tool: Tool, output: ToolResult): Promise<ToolResult> {
  const parsed = ToolResult.safeParse(output)
  if (!parsed.success) throw outputInvalid(tool, parsed.error.issues)
  if (tool.validateOutput && !output.isError) await checkOutput(tool, output.structuredContent)
  // It will travel as JSON; better to find out here, where the tool can be named.
  toJson(tool, output)
  return output
}

async function checkOutput(tool: Tool, output: unknown): Promise<unknown> {
  const checked = await tool.validateOutput?.(output)
  if (checked?.ok === false) throw outputInvalid(tool, checked.issues)
  return checked?.value
}

/** Text beside the structure, for clients that only read text. */
function structured(tool: Tool, value: unknown): ToolResult {
  return { content: [{ type: 'text', text: toJson(tool, value) }], structuredContent: value }
}

function toJson(tool: Tool, output: unknown): string {
  try {
    return JSON.stringify(output) ?? ''
  } catch (error) {
    const message = `"${tool.name}" ran, but what it returned cannot be written as JSON.`
    throw new AppError('OUTPUT_INVALID', message, { cause: error })
  }
}

function outputInvalid(tool: Tool, issues: readonly FoundIssue[]): AppError {
  const lines = fewIssues(issues).map(issueText)
  const message = `"${tool.name}" ran, but its result is not what its definition promises. ${lines.join(' ')}`
  return new AppError('OUTPUT_INVALID', message, { details: { issues: lines } })
}
