import { isAppError, type Toolbox, type ToolboxCallOptions, type ToolResult } from '../../contracts/index.ts'
import { errorResult } from './error-result.ts'

export interface ModelCall extends ToolboxCallOptions {
  readonly name: string
  readonly input: unknown
}

/**
 * A call that a model makes through tools which a framework was handed earlier. One that has gone since is an answer for the
 * model: thrown, it would end the whole run of the agent.
 */
export async function callForModel(toolbox: Toolbox, { name, input, ...options }: ModelCall): Promise<ToolResult> {
  try {
    return await toolbox.call(name, input, options)
  } catch (error) {
    if (isAppError(error) && error.code === 'TOOL_NOT_FOUND') return errorResult(error)
    throw error
  }
}
