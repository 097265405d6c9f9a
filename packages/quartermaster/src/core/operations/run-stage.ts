import { AppError, isAppError, messageOf, type ToolResult } from '../../contracts/index.ts'
import type { CallContext, Tool } from '../catalogue/index.ts'
import type { Health } from '../health/index.ts'
import type { Log } from '../kernel/index.ts'
import type { Deadline } from './deadline.ts'
import { toToolResult } from './output-stage.ts'

export interface RunDeps {
  readonly health: Pick<Health, 'reportFailure'>
  readonly log: Log
}

/** Runs the handler, no longer than its deadline, and sorts out what its end means. */
export async function runTool(
  tool: Tool,
  input: unknown,
  context: CallContext,
  deadline: Deadline,
  deps: RunDeps,
): Promise<ToolResult> {
  let output: unknown
  try {
    output = await deadline.race(Promise.resolve(tool.handler(input, context)))
  } catch (error) {
    return failedRun(tool, error, deadline, deps)
  }
  return toToolResult(tool, output)
}

function failedRun(tool: Tool, error: unknown, deadline: Deadline, { health, log }: RunDeps): ToolResult {
  if (deadline.signal.aborted) throw interrupted(tool, deadline.signal.reason)
  if (!isAppError(error)) {
    // The tool's own failure is its answer: the agent reads it and decides. The stack is for whoever wrote the tool.
    log.warn('tool threw', {
      tool: tool.name,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    })
    return {
      content: [{ type: 'text', text: messageOf(error) || `"${tool.name}" failed without saying why.` }],
      isError: true,
    }
  }
  const dependency = error.details?.dependency
  if (error.code === 'DEPENDENCY_UNAVAILABLE' && typeof dependency === 'string' && tool.requires.includes(dependency)) {
    health.reportFailure(dependency, error.message)
  }
  throw error
}

/** A run that was cut short may have done its work. Of a tool that changes nothing that does not matter. */
function interrupted(tool: Tool, reason: unknown): AppError {
  const cause = isAppError(reason) ? reason : new AppError('CANCELLED', 'The call was cancelled.', { cause: reason })
  if (!tool.mutates) return cause
  const message = `${cause.message} "${tool.name}" had started, so it may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause, details: { tool: tool.name, because: cause.code } })
}
