import {
  AppError,
  isAppError,
  issueText,
  messageOf,
  stackOf,
  ToolResult,
  toAppError,
} from '../../../contracts/index.ts'
import { type CallContext, kindOf, type Tool, toolResult, waitReason, withoutReserved } from '../../catalogue/index.ts'
import { blamedIn, type Health } from '../../health/index.ts'
import { type FoundIssue, firstIssues, type Log } from '../../kernel/index.ts'
import type { Deadline } from './deadline.ts'

interface RunDeps {
  readonly health: Pick<Health, 'reportFailure'>
  readonly log: Log
}

/** A call that may run now. */
interface Run {
  readonly tool: Tool
  readonly input: unknown
  readonly context: CallContext
  readonly deadline: Deadline
}

/** Runs the handler, no longer than its deadline, and sorts out what its end means. */
export async function runTool(run: Run, deps: RunDeps): Promise<ToolResult> {
  const { tool, input, context, deadline } = run
  let output: unknown
  try {
    output = tool.handler(input, context)
    if (isThenable(output)) output = await deadline.race(Promise.resolve(output))
  } catch (error) {
    return failedRun(run, error, deps)
  }
  try {
    const result = toToolResult(tool, output)
    return result instanceof Promise ? await deadline.race(result) : result
  } catch (error) {
    // It has run. That looking at its result took too long, was cut off or found something wrong does not undo what it did.
    const reason = deadline.reason()
    throw reason ? interrupted(tool, reason) : unfit(tool, toAppError(error))
  }
}

/** As `await` sees it: also a promise of another library. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function failedRun({ tool, context, deadline }: Run, error: unknown, { health, log }: RunDeps): ToolResult {
  const reason = deadline.reason()
  if (reason) throw unbegun(context, reason) ?? interrupted(tool, reason)
  if (!isAppError(error)) {
    // The tool's own failure is its answer: the agent reads it and decides. The stack is for the author of the tool.
    log.warn('tool threw', {
      tool: tool.name,
      error: stackOf(error),
    })
    return {
      content: [{ type: 'text', text: messageOf(error) || `"${tool.name}" failed without saying why.` }],
      isError: true,
    }
  }
  const blamed = blamedIn(error, tool)
  if (blamed !== undefined) health.reportFailure(blamed, error.message)
  throw error
}

/** A run that was cut short while it waited to begin has done nothing. */
function unbegun(context: CallContext, cause: AppError): AppError | undefined {
  const why = waitReason(context)
  if (why === undefined) return undefined
  return new AppError(cause.code, `${cause.message} ${why}`, { cause, details: { ...cause.details } })
}

/** A run that was cut short may have done its work. Of a tool that changes nothing that does not matter. */
function interrupted(tool: Tool, cause: AppError): AppError {
  if (!tool.mutates) return cause
  const message = `${cause.message} "${tool.name}" had started, so it may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause, details: { tool: tool.name, because: cause.code } })
}

/** A completed run whose result is unusable. Reported as a failure, it would be done a second time. */
function unfit(tool: Tool, cause: AppError): AppError {
  if (!tool.mutates) return cause
  const message = `${cause.message} It may have done its work: look before you call it again.`
  const details = { ...cause.details, tool: tool.name, because: cause.code }
  return new AppError('OUTCOME_UNKNOWN', message, { cause, details })
}

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
  const lines = firstIssues(issues).map(issueText)
  const message = `"${tool.name}" ran, but its result is not what its definition promises. ${lines.join(' ')}`
  return new AppError('OUTPUT_INVALID', message, {
    details: { issues: lines, ...(content?.length ? { content: errorContent(content) } : {}) },
  })
}

type Block = ToolResult['content'][number]

/** It is sent and written down with the error, which is no place for megabytes. */
const MOST_CHARACTERS = 64 * 1024

/** What a tool said, as much as an error can carry. Half a text is better than none; half of anything else is nothing. */
export function errorContent(content: readonly Block[]): Block[] {
  const said: Block[] = []
  let room = MOST_CHARACTERS
  for (const block of content) {
    const fitting = fitted(block, room)
    if (!fitting) continue
    said.push(fitting)
    room -= JSON.stringify(fitting).length
  }
  const missing = content.length - said.length
  return missing === 0 ? said : [...said, { type: 'text', text: leftOut(missing, content.length) }]
}

function fitted(block: Block, room: number): Block | undefined {
  if (JSON.stringify(block).length <= room) return block
  if (block.type !== 'text' || typeof block.text !== 'string' || room <= 0) return undefined
  // Half a character at the end could be written nowhere.
  const beginning = block.text.slice(0, room).replace(/[\uD800-\uDBFF]$/, '')
  return { type: 'text', text: `${beginning} [Cut here: it is too long for an error.]` }
}

function leftOut(missing: number, all: number): string {
  return `[Left out of this: ${missing} of its ${all} pieces, because they are too large for an error.]`
}

// By hand, and not by a schema: every result of someone else's server comes by here, and a list may have many thousand pieces.

type Fields = Readonly<Record<string, unknown>>

/** What each kind of content has to have, as a text. MCP 2026-07-28, `ContentBlock`. */
const TEXTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['text', ['text']],
  ['image', ['data', 'mimeType']],
  ['audio', ['data', 'mimeType']],
  ['resource_link', ['uri', 'name']],
])

/**
 * What is wrong with a piece of content that a server of someone else gave. Clients refuse a whole answer for one piece that is
 * none, each in words of its own, so that it is said here. A kind that is not known here may be known to the client.
 */
export function contentFault(piece: unknown): FoundIssue | undefined {
  if (!isFields(piece) || typeof piece.type !== 'string') return { path: [], message: 'must be an object with a type.' }
  if (piece.type === 'resource') return within('resource', resourceFault(piece.resource))
  return textFault(piece, TEXTS.get(piece.type) ?? [])
}

/** The same of what was read at an address. */
export function resourceFault(resource: unknown): FoundIssue | undefined {
  if (!isFields(resource)) return { path: [], message: 'must be an object.' }
  if (typeof resource.uri !== 'string') return { path: ['uri'], message: 'must be a text.' }
  const isThere = typeof resource.text === 'string' || typeof resource.blob === 'string'
  return isThere ? undefined : { path: [], message: 'must have a text or a blob.' }
}

/** The same of a message of a prompt. */
export function messageFault(message: unknown): FoundIssue | undefined {
  if (!isFields(message)) return { path: [], message: 'must be an object.' }
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant') return { path: ['role'], message: 'must be "user" or "assistant".' }
  return within('content', contentFault(content))
}

/** What is wrong with the first of a list that is not as it has to be. */
export function listFault(
  list: readonly unknown[],
  faultOf: (item: unknown) => FoundIssue | undefined,
): FoundIssue | undefined {
  for (let at = 0; at < list.length; at++) {
    const fault = faultOf(list[at])
    if (fault) return within(at, fault)
  }
  return undefined
}

export function within(key: PropertyKey, fault: FoundIssue | undefined): FoundIssue | undefined {
  return fault && { path: [key, ...fault.path], message: fault.message }
}

function textFault(piece: Fields, names: readonly string[]): FoundIssue | undefined {
  for (const name of names) if (typeof piece[name] !== 'string') return { path: [name], message: 'must be a text.' }
  return undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
