import { AppError, issueText, ToolResult } from '../../../contracts/index.ts'
import { kindOf, type Tool, toolResult, withoutReserved } from '../../catalogue/index.ts'
import { type FoundIssue, fewIssues } from '../../kernel/index.ts'
import { contentFault, listFault, within } from './content-fault.ts'
import { errorContent } from './error-content.ts'

/**
 * Makes a result of whatever a handler returned, and checks structured content against the output schema. At once where
 * nothing has to be waited for: each turn of the event loop is felt.
 */
export function toToolResult(tool: Tool, output: unknown): ToolResult | Promise<ToolResult> {
  const kind = kindOf(output)
  if (kind === 'passed') return passed(tool, output as ToolResult)
  if (kind === 'result') return checkedResult(tool, output as ToolResult)
  if (tool.validateOutput) return whenDone(checkOutput(tool, output), value => structured(tool, value))
  if (typeof output === 'string') return { content: [{ type: 'text', text: output }] }
  if (output === undefined || output === null) return { content: [] }
  return { content: [{ type: 'text', text: toJson(tool, output) }] }
}

/** What came as JSON goes on as JSON; only what we ourselves read of it is looked at, and what clients refuse all of it for. */
function passed(tool: Tool, output: ToolResult): ToolResult | Promise<ToolResult> {
  const wrong = wrongWith(output)
  if (wrong) throw outputInvalid(tool, [wrong], readableIn(output.content))
  if (!tool.validateOutput || output.isError) return output
  return whenDone(checkOutput(tool, output.structuredContent, output.content), () => output)
}

function wrongWith({ content, isError, _meta }: { [K in keyof ToolResult]: unknown }): FoundIssue | undefined {
  if (!Array.isArray(content)) return { path: ['content'], message: 'must be a list.' }
  const odd = listFault(content, contentFault)
  if (odd) return within('content', odd)
  if (isError !== undefined && typeof isError !== 'boolean')
    return { path: ['isError'], message: 'must be true or false.' }
  const isMeta = _meta === undefined || (typeof _meta === 'object' && _meta !== null && !Array.isArray(_meta))
  return isMeta ? undefined : { path: ['_meta'], message: 'must be an object.' }
}

/** What of a result can be told all the same. */
function readableIn(content: unknown): ToolResult['content'] {
  return Array.isArray(content) ? content.filter(block => contentFault(block) === undefined) : []
}

function checkedResult(tool: Tool, output: ToolResult): ToolResult | Promise<ToolResult> {
  const parsed = ToolResult.safeParse(output)
  if (!parsed.success) throw outputInvalid(tool, parsed.error.issues)
  const checking =
    tool.validateOutput && !output.isError ? checkOutput(tool, output.structuredContent, output.content) : undefined
  return whenDone(checking, () => {
    // It will travel as JSON; better to find out here, where the tool can be named.
    toJson(tool, output)
    return tool.source === 'builtin' ? output : withOwnMeta(output)
  })
}

/** Without what only we say of a result. The same where nothing of that is in it, as nearly always. */
function withOwnMeta(output: ToolResult): ToolResult {
  const own = withoutReserved(output._meta)
  return own === output._meta ? output : toolResult({ ...output, _meta: own as ToolResult['_meta'] })
}

/** `content` is what the tool says beside what it promises, where it says that itself. */
function checkOutput(tool: Tool, output: unknown, content?: ToolResult['content']): unknown {
  return whenDone(tool.validateOutput?.(output), checked => {
    if (checked?.ok === false) throw outputInvalid(tool, checked.issues, content)
    return checked?.value
  })
}

function whenDone<T, R>(work: T | Promise<T>, finish: (value: T) => R): R | Promise<R> {
  return work instanceof Promise ? work.then(finish) : finish(work)
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

function outputInvalid(tool: Tool, issues: readonly FoundIssue[], content?: ToolResult['content']): AppError {
  const lines = fewIssues(issues).map(issueText)
  const message = `"${tool.name}" ran, but its result is not what its definition promises. ${lines.join(' ')}`
  return new AppError('OUTPUT_INVALID', message, {
    details: { issues: lines, ...(content?.length ? { content: errorContent(content) } : {}) },
  })
}
