import { AppError, isAppError, messageOf, stackOf, type ToolResult, toAppError } from '../../../contracts/index.ts'
import { type CallContext, heldBackBy, type Tool } from '../../catalogue/index.ts'
import { blamedIn, type Health } from '../../health/index.ts'
import type { Log } from '../../kernel/index.ts'
import type { Deadline } from './deadline.ts'
import { toToolResult } from './output-stage.ts'

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
  const why = heldBackBy(context)
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
